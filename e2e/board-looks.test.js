import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { ask, giveBack, go, member, pictureProject, work } from './board.js';
import { launch, openPage, pictureShown } from './browser.js';
import { startServer } from './server.js';

const WAIT_MS = 15_000;
const out = new URL('out/', import.meta.url);
const widths = { wide: { width: 1400, height: 900 }, medium: { width: 1000, height: 800 }, narrow: { width: 420, height: 860 } };
const pages = { work: 'w', board: 'b', statistics: 's', review: 'r', history: 'h' };

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
      });
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor({ timeout: WAIT_MS });
      const shoot = async (what) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${what}: no horizontal scrolling`);
        await page.screenshot({ path: new URL(`board-${what}-${colorScheme}-${name}.png`, out).pathname });
      };
      await page.keyboard.press('n');
      await page.getByRole('combobox', { name: /^Category/ }).waitFor({ timeout: WAIT_MS });
      await pictureShown(page.locator('.picture img'));
      await page.keyboard.type('m');
      await shoot('typing');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      for (const [what, key] of Object.entries(pages)) {
        await go(page, key);
        await page.locator('[aria-current=page]').getByText(new RegExp(what, 'i')).waitFor({ timeout: WAIT_MS });
        await page.locator('.picture img, .board .tile, .bars-value, .history tbody tr').first().waitFor({ timeout: WAIT_MS });
        await shoot(what);
      }
      await go(page, 'w');
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

/** Opens a page of the project whose items have no picture, with items in hands. */
async function openArchive(viewport, what = 'work') {
  const { viewer } = await ask(server, '{ viewer { projects(first: 20) { nodes { id name } } } }');
  const { id } = viewer.projects.nodes.find(({ name }) => name === 'Town archive');
  await giveBack(server, id);
  await ask(server, 'mutation ($input: ClaimProjectItemsInput!) { claimProjectItems(input: $input) { items { id } } }', { input: { projectId: id, count: 11 } });
  const opened = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}&page=${what}`, {
    viewport,
  });
  await opened.page.locator('.unseen').waitFor({ timeout: WAIT_MS });
  return opened;
}

const box = (page, selector) => page.locator(selector).first().boundingBox();

test('what one decides with is in sight on a small laptop', async () => {
  const { page, context, complaints } = await openArchive({ width: 1280, height: 800 });
  for (const name of [/^Finish/, /^Skip/, /^Release/, /^Extend/]) {
    const { y, height } = await page.getByRole('button', { name }).boundingBox();
    assert.ok(y + height <= 800, `${name} ends at ${y + height}`);
  }
  // There is nothing to zoom.
  const before = await box(page, '.unseen');
  await page.keyboard.press('z');
  assert.deepEqual(await box(page, '.unseen'), before);
  assert.deepEqual(complaints(), []);
  await context.close();
});

for (const width of [390, 320]) {
  test(`a phone ${width} wide shows the active tab, some of many items, and the whole placeholder`, async () => {
    const { page, context, complaints } = await openArchive({ width, height: 640 });
    const mine = await box(page, '.mine');
    assert.ok(mine.height <= 150, `the list is ${mine.height} high`);
    for (const name of ['History', 'Review']) {
      await page.getByRole('button', { name, exact: true }).click();
      const tab = await box(page, '[aria-current=page]');
      assert.ok(tab.x >= 0 && tab.x + tab.width <= width, `${name} from ${tab.x} to ${tab.x + tab.width}`);
    }
    await page.locator('.unseen').waitFor({ timeout: WAIT_MS });
    const frame = await box(page, '.picture-frame');
    const icon = await box(page, '.unseen svg');
    assert.ok(icon.y >= frame.y, `the icon begins at ${icon.y}, its frame at ${frame.y}`);
    assert.deepEqual(complaints(), []);
    await context.close();
  });
}
