// Pictures come into a project from a folder or from the library, by the page alone.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ask } from './board.js';
import { launch, openPage } from './browser.js';
import { png } from './png.js';
import { demoLoaded, startServer } from './server.js';

const WAIT_MS = 30_000;
const COUNT = 24;
const out = new URL('out/', import.meta.url);
const bucket = /^(request to|failed:) http:\/\/127\.0\.0\.1:\d+\/taggie\//;
const uploads = /\/taggie\/uploads\//;

let server;
let browser;
let folder;

before(async () => {
  await mkdir(out, { recursive: true });
  folder = path.join(await mkdtemp(path.join(tmpdir(), 'taggie-e2e-pictures-')), 'herbarium');
  await mkdir(path.join(folder, '1871'), { recursive: true });
  for (let i = 0; i < COUNT; i += 1) await writeFile(path.join(folder, i % 2 ? '1871' : '.', `sheet ${i + 1}.png`), png([40 + i * 8, 120, 200 - i * 8], 60 + i, 40));
  await writeFile(path.join(folder, 'notes.pdf'), '%PDF');
  await writeFile(path.join(folder, 'nothing.png'), '');
  await writeFile(path.join(folder, 'torn.png'), 'these are no bytes of a picture');
  server = await startServer();
  await demoLoaded(server);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) await rm(path.dirname(folder), { recursive: true, force: true });
});

const panel = (page) => page.getByRole('region', { name: 'Bring pictures', exact: true });
const files = (page) => page.getByRole('region', { name: 'The files of the folder' });

/** Somebody new, with a budget and a library of their own; resolves to a token. */
async function newUser(name) {
  const email = `${name}@example.com`;
  const token = await server.token(email);
  await ask(server, 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }', { input: { name, email } }, token);
  return token;
}

async function makeProject(token, name) {
  const { createProject } = await ask(server, 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }', { input: { name, categories: ['Fern', 'Moss'] } }, token);
  return createProject.project.id;
}

const itemsOf = async (token, id) =>
  (await ask(server, 'query ($id: ID!) { project(id: $id) { items(first: 100) { nodes { name item { id setName thumbnailUrl } } } } }', { id }, token)).project.items.nodes;
const library = async (token) => (await ask(server, '{ viewer { itemUsage { itemCount } } }', {}, token)).viewer.itemUsage.itemCount;

async function openItems(token, id, options) {
  const opened = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}&page=manage&section=items`, { expected: bucket, token, ...options });
  await panel(opened.page).waitFor({ timeout: WAIT_MS });
  return opened;
}

/** Waits for the text, or says what the page shows instead. */
async function told(page, place, text) {
  await place
    .getByText(text)
    .first()
    .waitFor({ timeout: WAIT_MS })
    .catch(async (error) => {
      error.message += `\n--- the page shows ---\n${await page.locator('body').ariaSnapshot()}`;
      throw error;
    });
}

const choose = (page) => page.getByLabel('A folder').setInputFiles(folder);

test('a folder of pictures is looked at, brought, stopped, left, and brought to its end: nothing twice', async () => {
  const token = await newUser('herbarium');
  const id = await makeProject(token, 'Herbarium in pictures');
  const before = await library(token);
  const { page, context, complaints } = await openItems(token, id);
  await choose(page);
  await told(page, panel(page), `herbarium: ${COUNT + 1} pictures`);
  await told(page, panel(page), '2 files cannot be brought: they come first below.');
  const [first, second] = await files(page).getByRole('listitem').allInnerTexts();
  assert.match(first, /notes\.pdf\s+No picture/);
  assert.match(second, /nothing\.png\s+The file is empty/);
  await files(page).locator('canvas[data-drawn]').first().waitFor({ timeout: WAIT_MS });

  // Some go up; the others are held until the page is left.
  let passed = 0;
  let under = 0;
  let most = 0;
  let isHeld = true;
  await context.route(uploads, async (route) => {
    under += 1;
    most = Math.max(most, under);
    passed += 1;
    if (isHeld && passed > 8) return; // never answered
    await route.continue();
    under -= 1;
  });
  await page.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await told(page, panel(page), `8 of ${COUNT + 1} up`);
  assert.ok(most <= 4, `${most} at a time`);
  await page.getByRole('button', { name: 'Stop' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await told(page, panel(page), 'What is up stays');
  await page.getByRole('button', { name: 'Go on' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();

  page.on('dialog', (dialog) => void dialog.accept()); // whether to leave
  await page.reload();
  await told(page, panel(page), '“herbarium” was not brought to its end.');
  isHeld = false;
  const gone = passed;
  passed = 0;
  await choose(page);
  await page.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).click({ timeout: WAIT_MS });
  await told(page, panel(page), `${COUNT} pictures of ${COUNT + 1} are brought; the server did not take the others.`);
  await told(page, panel(page), 'torn.png');
  assert.ok(passed <= COUNT + 1 - 8, `${passed} went up after the reload, ${gone} before`);
  await told(page, page.getByRole('region', { name: 'Imports', exact: true }), `${COUNT} imported`);

  const items = await itemsOf(token, id);
  assert.deepEqual(items.map(({ name }) => name).sort(), Array.from({ length: COUNT }, (_, i) => `sheet ${i + 1}.png`).sort());
  assert.ok(items.every(({ item }) => item.thumbnailUrl));
  assert.deepEqual([...new Set(items.map(({ item }) => item.setName))].sort(), ['herbarium', 'herbarium/1871']);
  assert.equal(await library(token), before + COUNT);

  // The same folder once more brings nothing but what was not taken.
  await page.getByRole('button', { name: 'Another folder' }).click();
  await choose(page);
  await told(page, panel(page), `${COUNT} of them are in the project already.`);
  await page.getByRole('button', { name: 'Bring 1 picture', exact: true }).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('the same folder in two tabs is brought once', async () => {
  const token = await newUser('two-tabs');
  const id = await makeProject(token, 'Pictures in two tabs');
  const before = await library(token);
  const { page, context, complaints } = await openItems(token, id);
  await choose(page);
  await page.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).waitFor({ timeout: WAIT_MS });
  const other = await context.newPage();
  await other.goto(page.url());
  await panel(other).waitFor({ timeout: WAIT_MS });
  await choose(other);
  await other.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).waitFor({ timeout: WAIT_MS });
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await context.route(uploads, async (route) => {
    await released;
    await route.continue();
  });
  await page.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).click();
  await page.waitForRequest(uploads);
  await other.getByRole('button', { name: `Bring ${COUNT + 1} pictures` }).click();
  await told(other, panel(other), 'Another tab of this browser brings pictures into this project.');
  release();
  await told(page, panel(page), `${COUNT} pictures of ${COUNT + 1} are brought`);
  await other.getByRole('button', { name: 'Go on' }).click();
  await told(other, panel(other), `${COUNT} pictures of ${COUNT + 1} are brought`);
  assert.equal(await library(token), before + COUNT);
  assert.equal((await itemsOf(token, id)).length, COUNT);
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('the cursor stays where the user is when the pictures are brought', async () => {
  const token = await newUser('beside');
  const id = await makeProject(token, 'Pictures beside other work');
  const { page, context, complaints } = await openItems(token, id);
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await context.route(uploads, async (route) => {
    await released;
    await route.continue();
  });
  await page.getByLabel('Single pictures').setInputFiles(['Fern', 'Moss'].map((name, i) => ({ name: `${name}.png`, mimeType: 'image/png', buffer: png([i, 90, 90]) })));
  await page.getByRole('button', { name: 'Bring 2 pictures' }).press('Enter');
  await page.getByRole('button', { name: 'Stop' }).and(page.locator(':focus')).waitFor();
  const other = page.getByRole('button', { name: 'Choose among your files…' });
  await other.focus();
  release();
  await told(page, panel(page), 'All 2 pictures are brought.');
  await other.and(page.locator(':focus')).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('ten thousand pictures are shown a few at a time', async () => {
  const token = await newUser('many');
  const id = await makeProject(token, 'Very many pictures');
  const { page, context, complaints } = await openItems(token, id);
  const transfer = await page.evaluateHandle((bytes) => {
    const transfer = new DataTransfer();
    for (let i = 0; i < 10_000; i += 1) transfer.items.add(new File([new Uint8Array(bytes)], `sheet ${i + 1}.png`, { type: 'image/png', lastModified: i }));
    return transfer;
  }, [...png([90, 120, 60])]);
  for (const type of ['dragover', 'drop']) await panel(page).locator('.drop').dispatchEvent(type, { dataTransfer: transfer });
  await page.getByRole('button', { name: 'Bring 10,000 pictures' }).waitFor({ timeout: WAIT_MS });
  const shown = () => files(page).getByRole('listitem').count();
  assert.ok((await shown()) < 100, `${await shown()} are shown`);
  await files(page).focus();
  await page.keyboard.press('End');
  await files(page).getByText('sheet 10000.png').waitFor({ timeout: WAIT_MS });
  await files(page).locator('canvas[data-drawn]').first().waitFor({ timeout: WAIT_MS });
  assert.ok((await shown()) < 100, `${await shown()} are shown at the end`);
  assert.equal(await files(page).getByRole('listitem').last().getAttribute('aria-posinset'), '10000');
  assert.equal(await page.locator('[src^="data:image"], [src^="blob:"]').count(), 0);
  assert.deepEqual(complaints(), []);
  await context.close();
});

/** The dialog with the files of the user's library, opened by keyboard. */
async function openLibrary(page) {
  await page.getByRole('button', { name: 'Choose among your files…' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Your files' });
  await dialog.getByLabel('Name contains').and(page.locator(':focus')).waitFor();
  await dialog.locator('.shot').first().waitFor({ timeout: WAIT_MS });
  return dialog;
}

test('files of the library are found by name and by tag, chosen, and become items', async () => {
  const token = await newUser('librarian');
  const from = await makeProject(token, 'Where the files come from');
  const { page, context, complaints } = await openItems(token, from);
  const name = (word) => ({ name: `${word} by the wall.png`, mimeType: 'image/png', buffer: png([word.length * 20, 90, 90]) });
  await page.getByLabel('Single pictures').setInputFiles([name('Spleenwort'), name('Rustyback'), name('Stonecrop')]);
  await page.getByRole('button', { name: 'Bring 3 pictures' }).click({ timeout: WAIT_MS });
  await told(page, panel(page), 'All 3 pictures are brought.');
  await told(page, page.getByRole('region', { name: 'Imports', exact: true }), '3 imported');
  const items = await itemsOf(token, from);
  const stonecrop = items.find(({ name }) => name.startsWith('Stonecrop'));
  await ask(server, 'mutation ($input: SetItemTagsInput!) { setItemTags(input: $input) { item { id } } }', { input: { itemId: stonecrop.item.id, tags: [{ value: 'succulent', visibility: 'PRIVATE' }] } }, token);

  const id = await makeProject(token, 'Where the files go');
  await page.goto(`${server.origin}/board#project=${encodeURIComponent(id)}&page=manage&section=items`);
  await page.reload();
  await panel(page).waitFor({ timeout: WAIT_MS });
  const dialog = await openLibrary(page);
  await page.keyboard.type('BY THE WALL');
  await told(page, dialog, '3 shown, 0 chosen');
  await dialog.getByRole('button', { name: /^Rustyback/ }).press('Space');
  await told(page, dialog, '3 shown, 1 chosen');
  await dialog.getByLabel('Name contains').fill('');
  await dialog.getByLabel('One of your tags begins with').fill('succ');
  await told(page, dialog, '1 shown, 1 chosen');
  await dialog.getByRole('button', { name: /^Stonecrop/ }).click();
  await told(page, dialog, '1 shown, 2 chosen');
  await dialog.getByLabel('One of your tags begins with').fill('no such tag');
  await told(page, dialog, 'None of your files is like that.');
  await dialog.getByRole('button', { name: 'Bring 2 files' }).press('Enter');
  await dialog.waitFor({ state: 'detached', timeout: WAIT_MS });
  await page.getByRole('button', { name: 'Choose among your files…' }).and(page.locator(':focus')).waitFor();
  await told(page, page.getByRole('region', { name: 'Imports', exact: true }), '2 imported');
  assert.deepEqual((await itemsOf(token, id)).map(({ name }) => name.split(' ')[0]).sort(), ['Rustyback', 'Stonecrop']);

  // A file that is deleted meanwhile is named and left out, and the others are brought.
  const late = await openLibrary(page);
  await page.keyboard.type('by the wall');
  await told(page, late, '3 shown, 0 chosen');
  await late.getByRole('button', { name: 'Choose all of these' }).click();
  const spleenwort = items.find(({ name }) => name.startsWith('Spleenwort'));
  const unknown = { data: { importItems: { __typename: 'ImportItemsPayload', import: null, problem: { __typename: 'UnknownItem', message: 'there is no such item', itemId: spleenwort.item.id } } } };
  let isGone = true;
  await page.route(/\/graphql$/, async (route) => {
    if (!isGone || !route.request().postData()?.includes('"itemIds"')) return route.fallback();
    isGone = false;
    await route.fulfill({ json: unknown });
  });
  await late.getByRole('button', { name: 'Bring 3 files' }).click();
  await told(page, late, '“Spleenwort by the wall.png” is no longer in your library, and no longer chosen.');
  await told(page, late, '2 shown, 2 chosen');
  await late.getByRole('button', { name: 'Bring 2 files' }).click();
  await late.waitFor({ state: 'detached', timeout: WAIT_MS });

  // Arrow keys go from one file to the next.
  const again = await openLibrary(page);
  await page.keyboard.type('by the wall');
  await told(page, again, '3 shown, 0 chosen');
  await again.locator('.shot').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  assert.deepEqual(await again.locator('.shot').evaluateAll((tiles) => tiles.map((tile) => tile.getAttribute('aria-pressed'))), ['false', 'true', 'false']);
  assert.deepEqual(complaints(), []);
  await context.close();
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 320]) {
    test(`how items are brought, ${colorScheme} and ${width} wide`, async () => {
      const token = await newUser(`bring-${colorScheme}-${width}`);
      const id = await makeProject(token, `Pictures ${colorScheme} ${width}`);
      const { page, context, complaints } = await openItems(token, id, { colorScheme, viewport: { width, height: 900 } });
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [document.documentElement, document.querySelector('.page')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        await page.screenshot({ path: new URL(`bring-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      await panel(page).scrollIntoViewIfNeeded();
      await shoot('empty');
      await choose(page);
      await files(page).locator('canvas[data-drawn]').first().waitFor({ timeout: WAIT_MS });
      await panel(page).evaluate((element) => element.scrollIntoView());
      await shoot('preview');
      await page.getByRole('button', { name: /^Bring/ }).press('Enter');
      await told(page, panel(page), 'the server did not take the others');
      await panel(page).evaluate((element) => element.scrollIntoView());
      await shoot('done');
      const dialog = await openLibrary(page);
      await dialog.locator('.shot').nth(1).click();
      await shoot('library');
      assert.deepEqual(complaints(), []);
      await context.close();
    });
  }
}
