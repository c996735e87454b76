// What the pages of the board load of a large project: no more than they show.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { go } from './board.js';
import { launch, openPage } from './browser.js';
import { goBefore, ITEMS, largeProject, pages } from './large.js';
import { demoLoaded, startServer, until } from './server.js';

const WAIT_MS = 15_000;

let server;
let browser;
let id;

before(async () => {
  server = await startServer();
  await demoLoaded(server);
  id = await largeProject(server, ITEMS);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** How many rows an answer has. What is read of each row, such as the last effort of an item, is part of it. */
function rowsOf(value, name = '') {
  if (Array.isArray(value)) return ['nodes', 'efforts'].includes(name) ? value.length : value.reduce((sum, one) => sum + rowsOf(one), 0);
  if (value === null || typeof value !== 'object') return 0;
  return Object.entries(value).reduce((sum, [name, part]) => sum + rowsOf(part, name), 0);
}

test('each page asks for no more rows than it shows', async (t) => {
  const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}`);
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  const answers = [];
  const underway = new Set(); // of those that were sent from now on
  page.on('request', (request) => request.url().endsWith('/graphql') && underway.add(request));
  page.on('requestfailed', (request) => underway.delete(request));
  page.on('requestfinished', async (request) => {
    if (!underway.has(request)) return;
    const [, name = ''] = /(?:query|mutation) (\w+)/.exec(request.postDataJSON().query) ?? [];
    const response = await request.response();
    const answer = await response.json().catch(() => null); // the page was left
    if (answer) answers.push({ name, rows: rowsOf(answer.data) });
    underway.delete(request);
  });
  const quiet = () => until('all is answered', WAIT_MS, () => underway.size === 0);

  await t.test('when it is loaded', async () => {
    await quiet();
    answers.length = 0;
    await page.reload();
    await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
    await page.locator('.work .mine-none').waitFor({ timeout: WAIT_MS });
    await quiet();
    const lists = answers.filter(({ name }) => name === 'Lists');
    assert.ok(lists.length >= 1 && lists.length <= 2, `the cards are read once, and again with the first events: ${JSON.stringify(answers)}`);
    await go(page, 'b');
    await page.locator('.column .tile').first().waitFor({ timeout: WAIT_MS });
    assert.equal(await page.locator('.column .tile').count(), lists.at(-1).rows, 'the page Board shows all cards that were read');
  });

  for (const one of pages) {
    await t.test(one.name, async () => {
      await goBefore(page, one);
      await quiet();
      answers.length = 0;
      await one.open(page);
      await page.locator(one.there).first().waitFor({ timeout: WAIT_MS });
      await quiet();
      const own = answers.filter(({ name }) => !['Heartbeat', 'Online'].includes(name)); // these come by the clock
      assert.ok(own.length <= one.questions, `${one.questions} questions at most, but: ${JSON.stringify(own)}`);
      const rows = own.filter(({ name }) => name !== one.counted).reduce((sum, answer) => sum + answer.rows, 0);
      const shown = one.row ? await page.locator(one.row).count() : 0;
      assert.equal(rows, shown, `${rows} rows were read, and ${shown} are shown: ${JSON.stringify(own)}`);
    });
  }
  assert.deepEqual(complaints(), []);
  await context.close();
});
