// The library on the page at /desk, as somebody uses it who knows neither GraphQL nor a shell.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from './board.js';
import { focused, live, messages, out, signIn, WAIT_MS, world } from './board-page.js';
import { openPage } from './browser.js';
import { axeFinds } from './axe.js';
import { png } from './png.js';

const bucket = /^(request to|failed:) http:\/\/127\.0\.0\.1:\d+\/taggie\//;
const picture = (name, i) => ({ name, mimeType: 'image/png', buffer: png([40 + i * 30, 120, 200 - i * 20], 90 + i * 10, 60) });

let users = 0;

/** A test on the library of somebody new, at whose end there must be nothing to complain of. */
function onLibrary(name, options, body) {
  test(name, async () => {
    const email = `library-${++users}@example.com`;
    const token = await world.server.token(email);
    await ask(world.server, 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }', { input: { name: email.split('@')[0], email } }, token);
    const opened = await openPage(world.browser, world.server.origin, '/desk', { expected: bucket, ...options });
    const { page, context, complaints } = opened;
    try {
      await signIn(page, token);
      await live(page);
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Library' }).press('Enter');
      await upload(page).waitFor({ timeout: WAIT_MS });
      await body({ ...opened, token });
      assert.deepEqual(complaints(), []);
    } catch (error) {
      error.message += `\n--- the page shows ---\n${await page.locator('body').ariaSnapshot({ timeout: WAIT_MS }).catch(String)}`;
      throw error;
    } finally {
      await context.close();
    }
  });
}

const upload = (page) => page.getByRole('region', { name: 'Upload' });
const files = (page) => page.getByRole('list', { name: 'Files' });
const tile = (page, name) => files(page).getByRole('link', { name });
const file = (page) => page.getByRole('article', { name: 'File' });
const names = (page) => files(page).locator('strong').allInnerTexts();

/** Waits until the list has exactly these files, in any order. */
async function lists(page, ...wanted) {
  const expected = JSON.stringify(wanted.sort());
  await page.waitForFunction((expected) => JSON.stringify([...document.querySelectorAll('[aria-label=Files] strong')].map((element) => element.textContent).sort()) === expected, expected, { timeout: WAIT_MS }).catch(async () => assert.deepEqual((await names(page)).sort(), wanted));
}

async function send(page, ...chosen) {
  await upload(page).getByLabel('Files', { exact: true }).setInputFiles(chosen);
  await upload(page).getByRole('button', { name: /^Upload \d+ files?$/ }).press('Enter', { timeout: WAIT_MS });
  await upload(page).getByRole('status').getByText(/in your library/).waitFor({ timeout: WAIT_MS });
}

onLibrary('files are uploaded, found as one types, tagged, renamed and deleted by keyboard', {}, async ({ page, token }) => {
  await page.getByText('You have no files yet: upload some.').waitFor({ timeout: WAIT_MS });
  const torn = { name: 'torn.png', mimeType: 'image/png', buffer: Buffer.from('these are no bytes of a picture') };
  await send(page, picture('harbour.png', 1), picture('lighthouse.png', 2), { name: 'survey.txt', mimeType: 'text/plain', buffer: Buffer.from('a survey') }, torn);
  await upload(page).getByText('3 files of 4 are in your library; the server did not take the others.').waitFor();
  await upload(page).getByRole('listitem').getByText('torn.png').waitFor();
  await lists(page, 'harbour.png', 'lighthouse.png', 'survey.txt');
  await page.getByText(/^3 files of yours, /).waitFor({ timeout: WAIT_MS });
  await upload(page).getByRole('button', { name: 'Other files' }).press('Enter');
  await focused(upload(page).getByRole('heading', { name: 'Upload files' }));

  await page.getByLabel('Name contains').fill('HOUSE');
  await lists(page, 'lighthouse.png');
  await tile(page, 'lighthouse.png').press('Enter');
  await focused(file(page).getByRole('heading', { name: 'lighthouse.png' }));
  await page.waitForFunction(() => document.querySelector('.file-picture')?.naturalWidth === 110, undefined, { timeout: WAIT_MS });
  await file(page).getByText(/image\/png · .* · 110 × 60 · /).waitFor();

  await file(page).getByLabel('Name').fill('old light.png');
  await file(page).getByLabel('Set').fill('Coast');
  await file(page).getByLabel('Set').press('Enter');
  await messages(page).getByText('Saved.').waitFor({ timeout: WAIT_MS });
  await file(page).getByRole('heading', { name: 'old light.png' }).waitFor({ timeout: WAIT_MS });
  await file(page).getByLabel('New tags').fill('tower, Sea');
  await file(page).getByLabel('New tags').press('Enter');
  await file(page).getByRole('button', { name: 'Remove the tag tower' }).waitFor({ timeout: WAIT_MS });
  await file(page).getByLabel('New tags').fill('TOWER, secret'); // one that is there already
  await file(page).getByLabel('Seen by').selectOption('you alone');
  await file(page).getByLabel('New tags').press('Enter');
  await file(page).getByText('secret private').waitFor({ timeout: WAIT_MS });
  await file(page).getByRole('button', { name: 'Remove the tag Sea' }).press('Enter');
  await file(page).getByRole('button', { name: 'Remove the tag Sea' }).waitFor({ state: 'detached', timeout: WAIT_MS });
  await file(page).getByRole('link', { name: 'Close' }).press('Enter');

  await page.getByLabel('Name contains').fill('');
  await lists(page, 'harbour.png', 'old light.png', 'survey.txt');
  await page.getByLabel('Set', { exact: true }).fill('coast');
  await lists(page, 'old light.png');
  await page.getByLabel('Set', { exact: true }).fill('');
  await page.getByLabel('Your tag begins with').fill('se');
  await lists(page, 'old light.png');
  await page.getByRole('list', { name: 'Your tags that begin so' }).getByRole('button', { name: 'secret 1' }).press('Enter', { timeout: WAIT_MS });
  assert.equal(await page.getByLabel('Your tag begins with').inputValue(), 'secret');
  await page.getByLabel('Your tag begins with').fill('no such tag');
  await page.getByText('None of your files is like that.').waitFor({ timeout: WAIT_MS });
  await page.getByLabel('Your tag begins with').fill('');

  await lists(page, 'harbour.png', 'old light.png', 'survey.txt');
  await tile(page, 'harbour.png').press('Enter');
  await file(page).getByRole('button', { name: 'Delete' }).press('Enter', { timeout: WAIT_MS });
  await lists(page, 'old light.png', 'survey.txt');
  await messages(page).getByRole('button', { name: 'Undo' }).press('Enter');
  await lists(page, 'harbour.png', 'old light.png', 'survey.txt');
  const count = async () => (await ask(world.server, '{ viewer { items(all: true, first: 10) { nodes { name } } } }', {}, token)).viewer.items.nodes.length;
  assert.equal(await count(), 3);
  await tile(page, 'survey.txt').press('Enter');
  const deleted = page.waitForResponse((response) => /\bmutation DeleteFile\b/.test(response.request().postData() ?? ''));
  await file(page).getByRole('button', { name: 'Delete' }).press('Enter', { timeout: WAIT_MS });
  await deleted;
  assert.equal(await count(), 2);
  await page.reload();
  await lists(page, 'harbour.png', 'old light.png');
});

onLibrary('what a score uses is not deleted, and what was cut short goes on after a reload', {}, async ({ page, token }) => {
  await send(page, picture('page.png', 1));
  await lists(page, 'page.png');
  const { viewer } = await ask(world.server, '{ viewer { items(first: 10) { nodes { id } } } }', {}, token);
  await tile(page, 'page.png').press('Enter');
  await file(page).getByRole('button', { name: 'Delete' }).waitFor({ timeout: WAIT_MS });
  // A score takes the file after the page has looked.
  await ask(world.server, 'mutation ($input: CreateScoreInput!) { createScore(input: $input) { score { id } } }', { input: { title: 'Waltz', pages: [{ itemId: viewer.items.nodes[0].id }] } }, token);
  await file(page).getByRole('button', { name: 'Delete' }).press('Enter');
  await messages(page).getByText(/“page.png” was not deleted\./).waitFor({ timeout: WAIT_MS });
  await lists(page, 'page.png');
  await tile(page, 'page.png').press('Enter');
  await file(page).getByText(/uses? it: it cannot be deleted/).waitFor({ timeout: WAIT_MS });
  await file(page).getByRole('link', { name: 'Close' }).press('Enter');

  // The bucket answers to nobody; then the page is left.
  await page.route(/\/taggie\/uploads\//, () => {});
  await upload(page).getByRole('button', { name: 'Other files' }).press('Enter');
  const chosen = [picture('one.png', 1), picture('two.png', 2)];
  await upload(page).getByLabel('Files', { exact: true }).setInputFiles(chosen);
  await upload(page).getByRole('button', { name: 'Upload 2 files' }).press('Enter', { timeout: WAIT_MS });
  await upload(page).getByRole('button', { name: 'Stop' }).press('Enter', { timeout: WAIT_MS });
  await page.unroute(/\/taggie\/uploads\//);
  await page.reload();
  await upload(page).getByText('“2 files” was not uploaded to its end.').waitFor({ timeout: WAIT_MS });
  await send(page, ...chosen);
  await lists(page, 'one.png', 'page.png', 'two.png');
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 320]) {
    onLibrary(`the library, ${colorScheme} and ${width} wide`, { colorScheme, viewport: { width, height: 860 } }, async ({ page }) => {
      const found = [];
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [...document.querySelectorAll('html, .page, .note')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        found.push(...(await axeFinds(page)).map((violation) => `${what}: ${violation}`));
        await page.screenshot({ path: new URL(`library-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      await page.getByText('You have no files yet: upload some.').waitFor({ timeout: WAIT_MS });
      await shoot('empty');
      const chosen = ['harbour.png', 'lighthouse.png', 'old map of the coast with a long name.png', 'survey.png'].map(picture);
      await upload(page).getByLabel('Files', { exact: true }).setInputFiles(chosen);
      await upload(page).locator('canvas[data-drawn]').first().waitFor({ timeout: WAIT_MS });
      await shoot('chosen');
      await upload(page).getByRole('button', { name: 'Upload 4 files' }).press('Enter');
      await upload(page).getByText('All 4 files are in your library.').waitFor({ timeout: WAIT_MS });
      await tile(page, 'lighthouse.png').waitFor({ timeout: WAIT_MS });
      await shoot('list');
      await tile(page, 'lighthouse.png').press('Enter');
      await file(page).getByLabel('New tags').fill('coast, tower');
      await file(page).getByLabel('New tags').press('Enter');
      await file(page).getByRole('button', { name: 'Remove the tag tower' }).waitFor({ timeout: WAIT_MS });
      await shoot('file');
      assert.deepEqual(found, []);
    });
  }
}
