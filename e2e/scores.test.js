// Scores on the page at /desk: found, opened, and paged through.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from './board.js';
import { focused, live, messages, out, WAIT_MS, world } from './board-page.js';
import { openPage } from './browser.js';
import { axeFinds } from './axe.js';

const bucket = /^(request to|failed:) http:\/\/127\.0\.0\.1:\d+\/taggie\//;

/** The score of the demo user that has most pages. */
async function longest() {
  const { viewer } = await ask(world.server, '{ viewer { scores(first: 25) { nodes { id title pageCount annotationCount pages { label name item { type width } } } } } }');
  return viewer.scores.nodes.sort((a, b) => b.pageCount - a.pageCount)[0];
}

async function openScores(options = {}) {
  const opened = await openPage(world.browser, world.server.origin, '/desk', { expected: bucket, ...options });
  await live(opened.page);
  await opened.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Scores' }).press('Enter');
  await list(opened.page).waitFor({ timeout: WAIT_MS });
  return opened;
}

const list = (page) => page.getByRole('region', { name: 'List of scores' });
const score = (page) => page.getByRole('article', { name: 'Score' });
const place = (page, text) => score(page).getByRole('status').getByText(text, { exact: true }).waitFor({ timeout: WAIT_MS });

/** Waits until the picture of a page of the score is there. */
const seen = (page) =>
  page.waitForFunction(
    () => {
      const leaf = document.querySelector('.leaf');
      return leaf && leaf.complete && leaf.naturalWidth > 0;
    },
    undefined,
    { timeout: WAIT_MS },
  );

test('a score is opened and paged through by keyboard, and stays where it is over a reload', async () => {
  const { title, pageCount, pages } = await longest();
  assert.ok(pageCount > 1, `${pageCount} pages`);
  const { page, context, complaints } = await openScores();
  await list(page).getByRole('link', { name: title }).first().press('Enter', { timeout: WAIT_MS });
  await focused(score(page).getByRole('heading', { name: title }));
  await place(page, `1 of ${pageCount}`);
  await seen(page);
  const first = await page.locator('.leaf').getAttribute('src');
  await page.keyboard.press('ArrowRight');
  await place(page, `2 of ${pageCount}`);
  await seen(page);
  assert.notEqual(await page.locator('.leaf').getAttribute('src'), first);
  await page.reload();
  await place(page, `2 of ${pageCount}`);
  await score(page).getByRole('button', { name: 'Previous' }).press('Enter');
  await place(page, `1 of ${pageCount}`);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('End');
  await place(page, `${pageCount} of ${pageCount}`);
  const next = score(page).getByRole('button', { name: 'Next' });
  assert.equal(await next.getAttribute('aria-disabled'), 'true');
  await page.keyboard.press('Home');
  await place(page, `1 of ${pageCount}`);
  await score(page).getByLabel('Page', { exact: true }).selectOption(String(pageCount - 1));
  await place(page, `${pageCount} of ${pageCount}`);
  await seen(page);
  const { label, name } = pages[pageCount - 1];
  assert.equal(await page.locator('.leaf').getAttribute('alt'), `${title}, page ${[label || String(pageCount), name].filter(Boolean).join(': ')}`);
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('a page whose link is no longer valid is asked for again', async () => {
  const { title } = await longest();
  const { page, context } = await openScores({ expected: /./ });
  let refused = 0;
  await page.route(/\/taggie\/items\//, (route) => (route.request().resourceType() === 'image' && refused++ === 0 ? route.fulfill({ status: 403 }) : route.continue()));
  await list(page).getByRole('link', { name: title }).first().press('Enter', { timeout: WAIT_MS });
  await seen(page);
  assert.ok(refused > 0, 'a picture was refused');
  await context.close();
});

test('a public score of somebody else is found as one types, kept, and kept no longer', async () => {
  const token = await world.server.token('composer@example.com');
  await ask(world.server, 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }', { input: { name: 'Composer', email: 'composer@example.com' } }, token);
  const input = { title: 'Zither waltz', description: 'Slow.', access: 'PUBLIC', annotations: ['Mind the repeat.'] };
  await ask(world.server, 'mutation ($input: CreateScoreInput!) { createScore(input: $input) { score { id } } }', { input }, token);

  const { page, context, complaints } = await openScores();
  await list(page).getByLabel('Show').selectOption('Scores that I keep');
  await list(page).getByText(/^You keep no scores of others\./).waitFor({ timeout: WAIT_MS });
  await list(page).getByLabel('Show').selectOption('Public scores');
  await list(page).getByLabel('Title begins with').fill('no such title');
  await list(page).getByText('No public score begins so.').waitFor({ timeout: WAIT_MS });
  await list(page).getByLabel('Title begins with').fill('zither');
  await list(page).getByRole('link', { name: /Zither waltz.*Composer/ }).press('Enter', { timeout: WAIT_MS });
  await score(page).getByText('Slow.').waitFor({ timeout: WAIT_MS });
  await score(page).getByText('1 annotation').press('Enter');
  await score(page).getByText('Mind the repeat.').waitFor({ timeout: WAIT_MS });
  await score(page).getByRole('button', { name: 'Keep it' }).press('Enter');
  await messages(page).getByText('It is among the scores that you keep.').waitFor({ timeout: WAIT_MS });
  await list(page).getByLabel('Show').selectOption('Scores that I keep');
  await list(page).getByRole('link', { name: /Zither waltz/ }).waitFor({ timeout: WAIT_MS });
  await score(page).getByRole('button', { name: 'Keep it no longer' }).press('Enter');
  await list(page).getByText(/^You keep no scores of others\./).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 320]) {
    test(`scores, ${colorScheme} and ${width} wide`, async () => {
      const { title } = await longest();
      const { page, context, complaints } = await openScores({ colorScheme, viewport: { width, height: 860 } });
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [...document.querySelectorAll('html, .page, .note')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        assert.deepEqual(await axeFinds(page), [], what);
        await page.screenshot({ path: new URL(`scores-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      await list(page).getByRole('link', { name: title }).first().waitFor({ timeout: WAIT_MS });
      await shoot('list');
      await list(page).getByRole('link', { name: title }).first().press('Enter');
      await seen(page);
      await shoot('score');
      assert.deepEqual(complaints(), []);
      await context.close();
    });
  }
}
