import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { giveBack, member, pictureProject, work } from './board.js';
import { launch, openPage } from './browser.js';
import { startServer } from './server.js';

const WAIT_MS = 15_000;
const out = new URL('out/', import.meta.url);
const widths = { wide: { width: 1400, height: 900 }, medium: { width: 1000, height: 800 }, narrow: { width: 420, height: 860 } };
const pages = ['work', 'board', 'statistics', 'review', 'history'];

let server;
let browser;
let project;

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer();
  browser = await launch();
  project = await pictureProject(server, 'Pages of the choir');
  const grace = await member(server, project.id, 'REVIEWER', 'grace@example.com');
  await work(server, project.id, grace);
  await work(server, project.id);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries(widths)) {
    test(`the board, ${colorScheme} and ${name}`, async () => {
      const address = `/board#project=${encodeURIComponent(project.id)}`;
      const { page, context, complaints } = await openPage(browser, server.origin, address, {
        colorScheme,
        viewport,
        pictures: [project.pictures],
        expected: /\/graphql: net::ERR_ABORTED/, // what a page asked when the next one was opened
      });
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor({ timeout: WAIT_MS });
      const shoot = async (what) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${what}: no horizontal scrolling`);
        await page.screenshot({ path: new URL(`board-${what}-${colorScheme}-${name}.png`, out).pathname });
      };
      await page.keyboard.press('n');
      await page.getByRole('combobox', { name: /^Category/ }).waitFor({ timeout: WAIT_MS });
      await page.locator('.picture img').evaluate((image) => image.decode());
      await page.keyboard.type('m');
      await shoot('typing');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      for (const [i, what] of pages.entries()) {
        await page.keyboard.press(String(i + 1));
        await page.locator('.picture img, .board .tile, .bars-value, .history tbody tr').first().waitFor({ timeout: WAIT_MS });
        await shoot(what);
      }
      await page.keyboard.press('1');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      await shoot('keys');

      const { text, ground } = await page.evaluate(() => {
        const sum = (colour) => colour.match(/[\d.]+/g).slice(0, 3).reduce((total, part) => total + Number(part), 0);
        const { color, backgroundColor } = getComputedStyle(document.body);
        return { text: sum(color), ground: sum(backgroundColor) };
      });
      assert.ok(colorScheme === 'light' ? ground > 600 && text < 200 : ground < 200 && text > 600, `${colorScheme}: ${text} on ${ground}`);
      await giveBack(server, project.id);
      assert.deepEqual(complaints(), []);
      await context.close();
    });
  }
}
