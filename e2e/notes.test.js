// Notes at /desk, as somebody writes them: by keyboard, while others change them, and while answers are lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from './board.js';
import { focused, live, messages, out, signIn, WAIT_MS, world } from './board-page.js';
import { openPage } from './browser.js';
import { axeFinds } from './axe.js';

/** Signs somebody up; resolves to a token. */
async function newUser(email) {
  const token = await world.server.token(email);
  await ask(world.server, 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }', { input: { name: email.split('@')[0], email } }, token);
  return token;
}

const write = (token, input) => ask(world.server, 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id version } } }', { input }, token).then(({ createNote }) => createNote.note);
const update = (token, input) => ask(world.server, 'mutation ($input: UpdateNoteInput!) { updateNote(input: $input) { note { version } problem { ... on Problem { message } } } }', { input }, token);
const share = (token, input) => ask(world.server, 'mutation ($input: ShareNoteInput!) { shareNote(input: $input) { problem { ... on Problem { message } } } }', { input }, token);
const read = async (token, id) => (await ask(world.server, 'query ($id: ID!) { note(id: $id) { title content version deadline tags { value } } }', { id }, token)).note;

/** Calls it the first time only. */
function once(act) {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    await act();
  };
}

let users = 0;

/** A test on the notes of somebody new, at whose end there must be nothing to complain of. */
function onNotes(name, options, body) {
  test(name, async () => {
    const email = `notes-${++users}@example.com`;
    const token = await newUser(email);
    const opened = await openPage(world.browser, options.origin?.() ?? world.server.origin, '/desk', options);
    const { page, context, complaints } = opened;
    try {
      await signIn(page, token);
      await live(page);
      await body({ ...opened, token, email });
      assert.deepEqual(complaints(), []);
    } catch (error) {
      error.message += `\n--- the page shows ---\n${await page.locator('body').ariaSnapshot({ timeout: WAIT_MS }).catch(String)}`;
      throw error;
    } finally {
      await context.close();
    }
  });
}

const list = (page) => page.getByRole('region', { name: 'List of notes' });
const row = (page, title) => list(page).getByRole('link', { name: title });
const note = (page) => page.getByRole('article');
const text = (page) => note(page).getByLabel('Text', { exact: true });

async function open(page, title) {
  await row(page, title).press('Enter', { timeout: WAIT_MS });
  await focused(note(page).getByRole('heading', { level: 2 }).first());
  await text(page).waitFor({ timeout: WAIT_MS });
}

onNotes('a note is written, found, changed, brought back, deleted and undone by keyboard', {}, async ({ page, token }) => {
  await list(page).getByRole('link', { name: 'New note' }).press('Enter');
  await focused(page.getByRole('heading', { name: 'New note' }));
  await page.keyboard.press('Tab'); // Close
  await page.keyboard.press('Tab');
  await page.keyboard.type('Lighthouse');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Paint it.\nLook at the lamp.');
  await page.reload();
  await live(page);
  assert.equal(await text(page).inputValue(), 'Paint it.\nLook at the lamp.', 'what was typed is kept');
  assert.equal(await note(page).getByLabel('Title').inputValue(), 'Lighthouse');
  await note(page).getByLabel('Deadline').fill('2031-05-04T10:30');
  await note(page).getByLabel('Tags').fill('Coast, summer');
  await note(page).getByLabel('Tags').press('Enter');
  await messages(page).getByText('“Lighthouse” is saved.').waitFor({ timeout: WAIT_MS });
  await row(page, /Lighthouse.*due.*2031/).waitFor({ timeout: WAIT_MS });
  await text(page).waitFor();

  await list(page).getByLabel('Tag').fill('no such tag');
  await list(page).getByLabel('Tag').press('Enter');
  await list(page).getByText('No note of yours has the tag “no such tag”.').waitFor({ timeout: WAIT_MS });
  await list(page).getByLabel('Tag').fill('coast');
  await list(page).getByLabel('Tag').press('Enter');
  await row(page, 'Lighthouse').waitFor({ timeout: WAIT_MS });
  await list(page).getByRole('button', { name: 'All' }).press('Enter');

  await text(page).fill('Paint it white.');
  await row(page, /Lighthouse.*not saved/).waitFor({ timeout: WAIT_MS });
  await note(page).getByRole('button', { name: 'Discard changes' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Discard them' }).press('Enter');
  assert.equal(await text(page).inputValue(), 'Paint it.\nLook at the lamp.');
  await text(page).fill('Paint it white.');
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText('Saved.').waitFor({ timeout: WAIT_MS });
  await note(page).getByText(/^Version 2, /).waitFor({ timeout: WAIT_MS });

  await note(page).getByRole('button', { name: 'Remove the tag summer' }).press('Enter');
  await note(page).getByRole('button', { name: 'Remove the tag summer' }).waitFor({ state: 'detached', timeout: WAIT_MS });
  await note(page).getByLabel('New tags').fill('winter');
  await note(page).getByLabel('New tags').press('Enter');
  await note(page).getByRole('button', { name: 'Remove the tag winter' }).waitFor({ timeout: WAIT_MS });
  await note(page).getByRole('button', { name: 'No deadline' }).press('Enter');
  await row(page, /Lighthouse.*no deadline/).waitFor({ timeout: WAIT_MS });

  await note(page).getByText('Earlier versions').press('Enter');
  await note(page).getByRole('button', { name: 'Read version 1' }).press('Enter', { timeout: WAIT_MS });
  const dialog = page.getByRole('dialog', { name: 'Version 1: Lighthouse' });
  await dialog.getByText('Look at the lamp.').waitFor({ timeout: WAIT_MS });
  await dialog.getByRole('button', { name: 'Bring it back' }).press('Enter');
  await dialog.waitFor({ state: 'detached', timeout: WAIT_MS });
  assert.equal(await text(page).inputValue(), 'Paint it.\nLook at the lamp.');

  await note(page).getByRole('button', { name: 'Delete…' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).press('Enter');
  await list(page).getByText('You have no notes yet.').waitFor({ timeout: WAIT_MS });
  await messages(page).getByRole('button', { name: 'Undo' }).press('Enter');
  await row(page, 'Lighthouse').waitFor({ timeout: WAIT_MS });
  await open(page, 'Lighthouse');
  const id = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('note');
  const stored = await read(token, id);
  assert.deepEqual([stored.content, stored.deadline, stored.tags.map(({ value }) => value)], ['Paint it.\nLook at the lamp.', null, ['Coast', 'summer']], 'tags come back with the text, the deadline does not');
});

onNotes('two people change one note: both texts are shown, and nothing is lost', {}, async ({ page, token }) => {
  const { id } = await write(token, { title: 'Harbour', content: 'one\ntwo\nthree\nfour' });
  await row(page, 'Harbour').waitFor({ timeout: WAIT_MS }); // without a reload
  await open(page, 'Harbour');
  await text(page).fill('one\ntwo\nthree\nfour, mine');
  await ask(world.server, 'mutation ($input: AddNoteTagsInput!) { addNoteTags(input: $input) { note { version } } }', { input: { noteId: id, tags: ['sea'] } }, token);
  await note(page).getByRole('button', { name: 'Remove the tag sea' }).waitFor({ timeout: WAIT_MS });
  assert.equal(await note(page).getByRole('alert').count(), 0, 'a tag is no conflict');
  await update(token, { noteId: id, title: 'Harbours', content: 'one, theirs\ntwo\nthree\nfour' });
  await note(page).getByRole('alert').getByText(/changed this note while you typed/).waitFor({ timeout: WAIT_MS });
  await page.reload();
  await live(page);
  await note(page).getByLabel('Their text').waitFor({ timeout: WAIT_MS });
  assert.equal(await note(page).getByLabel('Their text').inputValue(), 'one, theirs\ntwo\nthree\nfour');
  assert.equal(await text(page).inputValue(), 'one\ntwo\nthree\nfour, mine');
  await text(page).press('Control+Enter'); // decides nothing
  await note(page).getByRole('button', { name: 'Put both together' }).press('Enter');
  assert.equal(await text(page).inputValue(), 'one, theirs\ntwo\nthree\nfour, mine');
  await text(page).press('Control+Enter');
  await messages(page).getByText('Saved.').waitFor({ timeout: WAIT_MS });
  const both = await read(token, id);
  assert.deepEqual([both.title, both.content], ['Harbours', 'one, theirs\ntwo\nthree\nfour, mine']);

  // The save itself meets the other change, which was not told yet.
  let hold;
  const held = new Promise((resolve) => (hold = resolve));
  await page.route('**/graphql', async (route) => {
    if (/\bmutation UpdateNote\b/.test(route.request().postData() ?? '')) {
      await update(token, { noteId: id, content: 'theirs again' });
      hold();
    }
    await route.continue();
  });
  await text(page).fill('mine again');
  await text(page).press('Control+Enter');
  await held;
  await page.unroute('**/graphql');
  await note(page).getByRole('button', { name: 'Take theirs' }).press('Enter', { timeout: WAIT_MS });
  await page.getByRole('dialog').getByRole('button', { name: 'Take theirs' }).press('Enter');
  assert.equal(await text(page).inputValue(), 'theirs again');
});

/** Holds the mutation of that name, after `meanwhile`, until what it resolves to is called. */
async function delay(page, name, meanwhile = () => {}) {
  let go;
  const gone = new Promise((resolve) => (go = resolve));
  await page.route('**/graphql', async (route) => {
    if (!new RegExp(`\\bmutation ${name}\\b`).test(route.request().postData() ?? '')) return route.continue();
    await meanwhile();
    await gone;
    await route.continue();
  });
  return go;
}

onNotes('what others change besides the text does not keep a save from its place', {}, async ({ page, token }) => {
  const { id } = await write(token, { title: 'Quay', content: 'old' });
  await row(page, 'Quay').waitFor({ timeout: WAIT_MS });
  await open(page, 'Quay');
  const send = await delay(page, 'UpdateNote', once(() => ask(world.server, 'mutation ($input: AddNoteTagsInput!) { addNoteTags(input: $input) { note { version } } }', { input: { noteId: id, tags: ['sea'] } }, token)));
  await text(page).fill('new');
  await text(page).press('Control+Enter');
  send();
  await messages(page).getByText('Saved.').waitFor({ timeout: WAIT_MS });
  assert.equal((await read(token, id)).content, 'new');
});

onNotes('a version that is read stays open while the note changes, and says why it was not brought back', {}, async ({ page, token }) => {
  const { id } = await write(token, { title: 'Pier', content: 'first' });
  await update(token, { noteId: id, content: 'second' });
  await row(page, 'Pier').waitFor({ timeout: WAIT_MS });
  await open(page, 'Pier');
  await note(page).getByText('Earlier versions').press('Enter');
  await note(page).getByRole('button', { name: 'Read version 1' }).press('Enter', { timeout: WAIT_MS });
  const dialog = page.getByRole('dialog', { name: 'Version 1: Pier' });
  const send = await delay(page, 'RestoreVersion', once(() => update(token, { noteId: id, content: 'third' })));
  await dialog.getByRole('button', { name: 'Bring it back' }).press('Enter', { timeout: WAIT_MS });
  send();
  await dialog.locator('.problem').waitFor({ timeout: WAIT_MS });
  await dialog.getByRole('button', { name: 'Bring it back' }).press('Enter');
  await dialog.waitFor({ state: 'detached', timeout: WAIT_MS });
  assert.equal((await read(token, id)).content, 'first');
});

onNotes('two tabs keep what was typed in one of them, and say when both have something', {}, async ({ page, context, token }) => {
  const { id } = await write(token, { title: 'Mole', content: 'v1' });
  await row(page, 'Mole').waitFor({ timeout: WAIT_MS });
  await open(page, 'Mole');
  const other = await context.newPage();
  await other.goto(page.url());
  await signIn(other, token);
  await text(other).waitFor({ timeout: WAIT_MS });
  await text(page).fill('an hour of typing');
  await other.waitForFunction(() => document.querySelector('textarea')?.value === 'an hour of typing');
  await ask(world.server, 'mutation ($input: AddNoteTagsInput!) { addNoteTags(input: $input) { note { version } } }', { input: { noteId: id, tags: ['sea'] } }, token);
  await note(other).getByRole('button', { name: 'Remove the tag sea' }).waitFor({ timeout: WAIT_MS });
  await page.reload();
  await text(page).waitFor({ timeout: WAIT_MS });
  assert.equal(await text(page).inputValue(), 'an hour of typing');
  await text(page).fill('here');
  await other.waitForFunction(() => document.querySelector('textarea')?.value === 'here');
  await text(other).fill('there');
  await text(page).fill('here, too');
  await note(other).getByText('You type here in another tab, too.').waitFor({ timeout: WAIT_MS });
  await text(page).press('Control+Enter');
  await messages(page).getByText('Saved.').waitFor({ timeout: WAIT_MS });
  await note(other).getByText('changed this note while you typed').waitFor({ timeout: WAIT_MS });
  assert.equal(await text(other).inputValue(), 'there');
});

onNotes('what was typed in a note that may not be changed any more becomes a note of one’s own', {}, async ({ page, email }) => {
  const token = await newUser(`owner-of-${email}`);
  const { id } = await write(token, { title: 'Buoy', content: 'theirs' });
  await share(token, { noteId: id, email, permission: 'EDIT' });
  await list(page).getByLabel('Show').selectOption('Shared with me');
  await row(page, 'Buoy').waitFor({ timeout: WAIT_MS });
  await open(page, 'Buoy');
  await text(page).fill('mine, not saved');
  await share(token, { noteId: id, email, permission: 'VIEW' });
  const typed = note(page).getByRole('region', { name: 'Text that you typed' });
  await typed.getByText('mine, not saved').waitFor({ timeout: WAIT_MS });
  await note(page).getByRole('button', { name: 'Make it a note of my own' }).press('Enter');
  await messages(page).getByText('“Buoy” is a note of yours now.').waitFor({ timeout: WAIT_MS });
  await text(page).waitFor({ timeout: WAIT_MS });
  assert.equal(await text(page).inputValue(), 'mine, not saved');
});

onNotes('a save whose answer is lost has one effect, also after a reload', { expected: /ERR_FAILED|net::/ }, async ({ page, token }) => {
  await list(page).getByRole('link', { name: 'New note' }).press('Enter');
  await note(page).getByLabel('Title').fill('Once');
  await text(page).fill('Only once.');
  await page.route('**/graphql', async (route) => {
    if (!/\bmutation CreateNote\b/.test(route.request().postData() ?? '')) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await note(page).getByRole('button', { name: 'Save' }).press('Enter');
  await note(page).getByText('The server cannot be reached. Check your connection, then try again.').waitFor({ timeout: WAIT_MS });
  await page.unroute('**/graphql');
  await page.reload();
  await live(page);
  await note(page).getByRole('button', { name: 'Save' }).press('Enter');
  await messages(page).getByText('“Once” is saved.').waitFor({ timeout: WAIT_MS });
  const { viewer } = await ask(world.server, '{ viewer { notes(first: 5) { nodes { title } } } }', {}, token);
  assert.deepEqual(viewer.notes.nodes.map(({ title }) => title), ['Once']);
});

onNotes('a note is shared, seen at once, and the share ends', {}, async ({ page, email }) => {
  const owner = await newUser(`owner-${email}`);
  const { id } = await write(owner, { title: 'Read me', content: 'Together.' });
  await list(page).getByLabel('Show').selectOption('Shared with me');
  await list(page).getByText('Nobody shares a note with you.').waitFor({ timeout: WAIT_MS });

  // The owner shares it on the page, too.
  const other = await openPage(world.browser, world.server.origin, `/desk#note=${encodeURIComponent(id)}`);
  await signIn(other.page, owner);
  await note(other.page).getByText('Shared with').click({ timeout: WAIT_MS });
  await note(other.page).getByLabel('E-mail address').fill('nobody@example.com');
  await note(other.page).getByRole('button', { name: 'Share', exact: true }).press('Enter');
  await note(other.page).getByRole('alert').waitFor({ timeout: WAIT_MS });
  await note(other.page).getByLabel('E-mail address').fill(email);
  await note(other.page).getByRole('button', { name: 'Share', exact: true }).press('Enter');
  const { 0: name } = email.split('@');
  await note(other.page).getByText(`${name} may read it`).waitFor({ timeout: WAIT_MS });

  await row(page, 'Read me').press('Enter', { timeout: WAIT_MS });
  await note(page).getByText('Together.').waitFor({ timeout: WAIT_MS });
  assert.equal(await note(page).getByRole('button', { name: 'Save' }).count(), 0, 'it can only be read');
  await share(owner, { noteId: id, email, permission: 'EDIT' });
  await text(page).waitFor({ timeout: WAIT_MS });
  await text(page).fill('Together, really.');
  await text(page).press('Control+Enter');
  await other.page.waitForFunction(() => document.querySelector('article textarea')?.value === 'Together, really.', undefined, { timeout: WAIT_MS });

  await note(other.page).getByRole('button', { name: `End the share with ${name}` }).press('Enter');
  await other.page.getByRole('dialog').getByRole('button', { name: 'End it' }).press('Enter');
  await note(page).getByText('This note is gone').waitFor({ timeout: WAIT_MS });
  await list(page).getByText('Nobody shares a note with you.').waitFor({ timeout: WAIT_MS });
  assert.deepEqual(other.complaints(), []);
  await other.context.close();
});

onNotes('what changed while the network was cut is shown when it is back', { origin: () => world.network.origin, expected: /ERR_|WebSocket connection|^socket: / }, async ({ page, token }) => {
  const { id } = await write(token, { title: 'Before', content: 'x' });
  await open(page, 'Before');
  world.network.cut();
  await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: WAIT_MS });
  await text(page).fill('typed meanwhile');
  await text(page).press('Control+Enter');
  await note(page).getByText('The server cannot be reached. Check your connection, then try again.').waitFor({ timeout: WAIT_MS });
  await update(token, { noteId: id, title: 'After' });
  await write(token, { title: 'New one', content: 'y' });
  world.network.mend();
  await live(page);
  await row(page, 'New one').waitFor({ timeout: WAIT_MS });
  await row(page, 'After').waitFor({ timeout: WAIT_MS });
  assert.equal(await text(page).inputValue(), 'typed meanwhile');
});

onNotes('a list loads no more than it shows, and goes on', {}, async ({ page, token }) => {
  for (let i = 0; i < 30; i += 1) await write(token, { title: `Note ${String(i).padStart(2, '0')}`, content: 'x', deadline: `2031-01-${String(i + 1).padStart(2, '0')}T12:00:00Z` });
  const pages = [];
  page.on('request', (request) => /\bquery MyNotes\b/.test(request.postData() ?? '') && pages.push(JSON.parse(request.postData()).variables.first));
  await page.reload();
  await live(page);
  await row(page, 'Note 24').waitFor({ timeout: WAIT_MS });
  assert.equal(await row(page, 'Note 25').count(), 0);
  await list(page).getByRole('button', { name: 'More' }).press('Enter');
  await row(page, 'Note 29').waitFor({ timeout: WAIT_MS });
  assert.deepEqual(pages, [25, 25]);
  const { id } = await write(token, { title: 'Soon', content: 'x', deadline: '2031-01-02T13:00:00Z' });
  await row(page, 'Soon').waitFor({ timeout: WAIT_MS });
  const titles = await list(page).getByRole('listitem').locator('strong').allInnerTexts();
  assert.deepEqual(titles.slice(0, 4), ['Note 00', 'Note 01', 'Soon', 'Note 02']);
  await ask(world.server, 'mutation ($input: DeleteNoteInput!) { deleteNote(input: $input) { deletedNote { noteId } } }', { input: { noteId: id } }, token);
  await row(page, 'Soon').waitFor({ state: 'detached', timeout: WAIT_MS });
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 320]) {
    onNotes(`notes, ${colorScheme} and ${width} wide`, { colorScheme, viewport: { width, height: 860 } }, async ({ page, token, email }) => {
      const found = [];
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [...document.querySelectorAll('html, .page, .note')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        found.push(...(await axeFinds(page)).map((violation) => `${what}: ${violation}`));
        await page.screenshot({ path: new URL(`notes-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      const first = await write(token, { title: 'Plan the survey of the old lighthouse', content: 'Bring the ladder.\nAsk for the key.\nTake pictures of the lamp.', deadline: '2031-04-01T09:00:00Z', tags: ['coast', 'survey'] });
      await write(token, { title: 'Call the harbour master', content: 'About the key.', tags: ['coast'] });
      await update(token, { noteId: first.id, content: 'Bring the ladder.\nAsk for the key.\nTake pictures of the lamp and the stairs.' });
      const other = await newUser(`other-${email}`);
      await share(token, { noteId: first.id, email: `other-${email}`, permission: 'EDIT' });
      await row(page, /Call the harbour/).waitFor({ timeout: WAIT_MS });
      await shoot('list');
      await list(page).getByRole('link', { name: 'New note' }).press('Enter');
      await note(page).getByLabel('Title').waitFor({ timeout: WAIT_MS });
      await shoot('new');
      await note(page).getByRole('link', { name: 'Close' }).press('Enter');
      await open(page, /Plan the survey/);
      await shoot('note');
      await note(page).getByText('Shared with').click();
      await note(page).getByText(/ may read and change it/).waitFor({ timeout: WAIT_MS });
      await note(page).getByText('Earlier versions').click();
      await note(page).getByRole('button', { name: 'Read version 1' }).waitFor({ timeout: WAIT_MS });
      await note(page).getByRole('button', { name: 'Delete…' }).scrollIntoViewIfNeeded();
      await shoot('details');
      await note(page).getByRole('button', { name: 'Read version 1' }).press('Enter');
      await page.getByRole('dialog').getByText('Bring the ladder.').waitFor({ timeout: WAIT_MS });
      await shoot('version');
      await page.keyboard.press('Escape');
      await text(page).fill('Bring the long ladder.\nAsk for the key.\nTake pictures of the lamp and the stairs.');
      await update(other, { noteId: first.id, content: 'Bring the ladder.\nAsk for the key.\nDraw the lamp and the stairs.' });
      await note(page).getByRole('alert').waitFor({ timeout: WAIT_MS });
      await note(page).getByRole('alert').scrollIntoViewIfNeeded();
      await shoot('conflict');
      assert.deepEqual(found, []);
    });
  }
}
