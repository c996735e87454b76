// The page for whoever comes first, and the documentation to which it leads.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { axeFinds } from './axe.js';
import { launch, openPage } from './browser.js';
import { demoLoaded, startServer, until } from './server.js';

const WAIT_MS = 15_000;
const out = new URL('out/', import.meta.url);

const live = (page) => page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });

let server;
let browser;

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer({ TAGGIE_PATH_PREFIX: '/apps/taggie' });
  await demoLoaded(server);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('the server prints the address of a page that leads everywhere, as somebody of the demo team', async () => {
  await until('the address is printed', WAIT_MS, () => server.log().includes(`url=${server.origin}/start`));
  const { page, context, complaints } = await openPage(browser, server.origin, '/start');
  await page.getByText('In this window, you are Ada').waitFor({ timeout: WAIT_MS });
  const people = page.getByRole('region', { name: 'Who you are' }).getByRole('button');
  assert.ok((await people.count()) > 1);
  const other = people.nth(1);
  await other.press('Enter');
  await other.and(page.locator('[aria-pressed=true]')).waitFor();
  const name = /^In this window, you are (.+)\.$/.exec(await page.locator('#who').innerText())[1];

  await page.getByRole('link', { name: /^Keep notes/ }).press('Enter');
  await live(page);
  await page.getByText(`Signed in as ${name} (demo)`).waitFor({ timeout: WAIT_MS });
  await page.goBack();
  await page.getByText(`In this window, you are ${name}.`).waitFor({ timeout: WAIT_MS });
  await page.getByRole('link', { name: /^Read the documentation/ }).press('Enter');
  await page.getByRole('heading', { name: 'Taggie', level: 1 }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('link', { name: 'the board', exact: true }).click();
  await page.getByRole('heading', { name: 'The board' }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('link', { name: 'Start' }).click();
  await page.getByRole('link', { name: /^Ask the API/ }).press('Enter');
  await page.getByText(`Signed in as ${name} (demo)`).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('every link of the documentation leads somewhere', async () => {
  const pages = new Map(); // address to text, null for what is no page
  const wrong = [];
  const load = async (address) => {
    if (pages.has(address)) return pages.get(address);
    const response = await fetch(address);
    const text = response.headers.get('content-type')?.startsWith('text/html') ? await response.text() : '';
    pages.set(address, response.ok ? text : null);
    return pages.get(address);
  };
  const queue = [`${server.origin}/docs/index.html`];
  for (const seen = new Set(queue); queue.length > 0; ) {
    const from = queue.pop();
    const text = await load(from);
    for (const [, link] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const target = new URL(link, from);
      const { hash } = target;
      target.hash = '';
      if (!target.href.startsWith(server.origin)) continue; // such as the pages of projects that we use
      const found = await load(target.href);
      const isThere = found !== null && (!hash || !target.pathname.includes('/docs/') || found.includes(` id="${decodeURIComponent(hash.slice(1))}"`));
      if (!isThere) wrong.push(`${from}: ${link}`);
      if (found && target.pathname.includes('/docs/') && !seen.has(target.href)) {
        seen.add(target.href);
        queue.push(target.href);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(pages.size > 20, `${pages.size} pages`);
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 320]) {
    test(`the first page and the documentation, ${colorScheme} and ${width} wide`, async () => {
      const { page, context, complaints } = await openPage(browser, server.origin, '/start', { colorScheme, viewport: { width, height: 860 } });
      await page.getByText('In this window, you are Ada').waitFor({ timeout: WAIT_MS });
      for (const [what, path] of [['start', '/start'], ['documentation', '/docs/index.html'], ['tour', '/docs/tour/notes.html'], ['limits', '/docs/limits.html']]) {
        if (what !== 'start') await page.goto(`${server.origin}${path}`);
        await page.getByRole('main').waitFor();
        assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)), `${what}: no horizontal scrolling`);
        assert.deepEqual(await axeFinds(page), [], what);
        await page.screenshot({ path: new URL(`${what}-${colorScheme}-${width}.png`, out).pathname });
      }
      assert.deepEqual(complaints(), []);
      await context.close();
    });
  }
}
