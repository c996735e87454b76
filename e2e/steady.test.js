// Twelve labellers finish an item each three seconds: the pages of a reviewer and of a manager keep up, and ask little.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { finishItem, go, member, work } from './board.js';
import { launch, openPage } from './browser.js';
import { FINISHED, largeProject } from './large.js';
import { demoLoaded, startServer, until } from './server.js';

const LABELLERS = 12;
const EACH_MS = 3_000; // the labellers' own pace
const WAIT_MS = 15_000;
const BEHIND_MS = 2_000;
const LOOK_MS = 100;

let server;
let browser;
let id;
let isOver = false;
let labelling;
const finishes = []; // when each was answered

before(async () => {
  server = await startServer();
  await demoLoaded(server);
  id = await largeProject(server, 600);
  const tokens = [];
  for (let n = 0; n < LABELLERS; n += 1) tokens.push(await member(server, id, 'TAGGIE', `labeller-${n}@example.com`));
  browser = await launch();
  labelling = Promise.all(tokens.map((token, n) => label(token, (n * EACH_MS) / LABELLERS)));
});

after(async () => {
  isOver = true;
  await labelling;
  await browser?.close();
  await server?.stop();
});

/** Labels until it is over, in a steady pace. */
async function label(token, offset) {
  await pause(offset);
  while (!isOver) {
    const item = await work(server, id, token, { finish: false });
    await pause(EACH_MS);
    await finishItem(server, item, token);
    finishes.push(Date.now());
  }
}

/** What shows how far a page is: the number in the head, which the events tell, and those that are asked for. */
const inHead = (page) => page.locator('.head .legend strong').first();
const finished = (page) => inHead(page).innerText().then(Number);
const numbersOf = {
  Statistics: (page) =>
    page
      .locator('.chart', { hasText: 'Who finished how many' })
      .locator('.bars-value')
      .evaluateAll((values) => values.reduce((sum, value) => sum + Number.parseInt(value.textContent, 10), 0)),
  Review: (page) => page.locator('.reviews-bar .count').innerText().then(Number),
};

/** Looks at a page again and again; resolves to how far it was behind at most at nine of ten looks, and in all, and to what it has asked meanwhile. */
async function watch(page, name, seconds, extra) {
  const read = numbersOf[name] ?? finished;
  const behind = [];
  const asked = [];
  const hear = (request) => request.url().endsWith('/graphql') && asked.push(/(?:query|mutation) (\w+)/.exec(request.postDataJSON().query)?.[1]);
  page.on('request', hear);
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    const now = Date.now();
    const missing = finishes[(await read(page)) - extra]; // the first finish that it does not show
    behind.push(missing === undefined ? 0 : Math.max(now - missing, 0));
    await pause(LOOK_MS);
  }
  page.off('request', hear);
  behind.sort((a, b) => a - b);
  return { asked, mostly: behind[Math.floor(behind.length * 0.9)], most: behind.at(-1) };
}

/** Opens one page after the other, and watches each. */
async function watchAll(t, who, token, pages) {
  const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}`, { token });
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  await inHead(page).waitFor({ timeout: WAIT_MS });
  for (const [name, key, seconds, extra] of pages) {
    await go(page, key);
    await until(`${name} shows what was finished`, WAIT_MS, async () => (await (numbersOf[name] ?? finished)(page).catch(() => 0)) >= extra);
    await pause(1_000); // what it asks when it is opened is counted in large.test.js
    const { asked, mostly, most } = await watch(page, name, seconds, extra);
    t.diagnostic(`${who}, ${name}: ${asked.length} requests in ${seconds} s (${asked}), mostly less than ${mostly} ms behind, at most ${most} ms`);
    assert.ok(asked.length <= seconds, `${who}, ${name}: ${asked.length} requests in ${seconds} s: ${asked}`);
    assert.ok(mostly <= BEHIND_MS, `${who}, ${name}: ${mostly} ms behind`); // the machine may have been busy for a moment
  }
  assert.deepEqual(complaints(), []);
  await context.close();
}

test('the pages of a manager and of a reviewer are at most two seconds behind, and ask at most once a second', async (t) => {
  const all = FINISHED + 1; // those that were finished before; one of them by the manager
  const reviewer = await member(server, id, 'REVIEWER', 'looks@example.com');
  await Promise.all([
    watchAll(t, 'manager', undefined, [['Board', 'b', 4, all], ['Statistics', 's', 12, all], ['Review', 'r', 12, FINISHED]]),
    watchAll(t, 'reviewer', reviewer, [['Review', 'r', 12, all], ['Statistics', 's', 12, all], ['Board', 'b', 4, all]]),
  ]);
});

test('an opened card shows what is found as soon as it is', async () => {
  const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}`);
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  await go(page, 'b');
  for (let n = 0; n < 2; n += 1) {
    await page.locator('.column', { hasText: 'In hands' }).locator('.tile-name').first().press('Enter');
    const found = page.getByRole('dialog').locator('.opened li');
    await found.getByText('elsewhere').waitFor({ timeout: WAIT_MS });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached', timeout: WAIT_MS });
  }
  assert.deepEqual(complaints(), []);
  await context.close();
});
