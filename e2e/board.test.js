import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { launch, openPage } from './browser.js';
import { ask, giveBack, itemOf, member, pictureProject, work } from './board.js';
import { startProxy } from './proxy.js';
import { startServer, until } from './server.js';

const WAIT_MS = 15_000;
const out = new URL('out/', import.meta.url);

let server;
let browser;
let network; // to the server, which can be cut

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer();
  network = await startProxy(server.origin);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  network?.stop();
  await server?.stop();
});

/** A test on the board of a new project, at whose end there must be nothing to complain of. */
function onBoard(name, options, body) {
  test(name, async (t) => {
    const project = await pictureProject(server, name);
    const opened = await openPage(browser, options.origin?.() ?? server.origin, `/board#project=${encodeURIComponent(project.id)}`, {
      pictures: [project.pictures],
      expected: /\/graphql: net::ERR_ABORTED/, // what a page asked when it was left
      ...options,
    });
    try {
      await live(opened.page);
      await body({ ...opened, project, t });
      assert.deepEqual(opened.complaints(), []);
    } finally {
      await opened.context.close();
    }
  });
}

const live = (page) => page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
const category = (page) => page.getByRole('combobox', { name: /^Category/ });
const messages = (page) => page.getByRole('log', { name: 'Messages' });

/** Waits until the form says so. */
const chosen = (page, name) => category(page).and(page.locator(`[placeholder="${name}"]`)).waitFor({ timeout: WAIT_MS });

/** Claims by keyboard; resolves to the name of the item, when its picture is there. */
async function claim(page) {
  await page.keyboard.press('n');
  await category(page).waitFor({ timeout: WAIT_MS });
  await page.locator('.picture img').evaluate((image) => image.decode());
  await focused(category(page)); // single keys would do something else
  return page.locator('.picture-name strong').innerText();
}

/** Waits until the cursor is in a field. */
const focused = (field) => field.and(field.page().locator(':focus')).waitFor({ timeout: WAIT_MS });

/** Types what the item is: the cursor is in the category when it is claimed. */
async function type(page) {
  await page.keyboard.type('mus');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('combobox', { name: /^Subcategory/ }));
  await page.keyboard.type('hand');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('combobox', { name: /^Keywords/ }));
  await page.keyboard.type('bass clef');
  await page.keyboard.press('Enter');
  await page.keyboard.type('stai');
}

onBoard('an item is claimed, found out and finished by keyboard, and that is undone', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
  const stored = await itemOf(server, project.id, name);
  assert.equal(stored.status, 'FINISHED');
  assert.deepEqual([stored.category.name, stored.subcategory.name, stored.keywords], ['Music', 'Handwritten', ['bass clef', 'stai']]);

  // The next one came by itself.
  await page.locator('.picture-name').getByText(name).waitFor({ state: 'detached', timeout: WAIT_MS });
  await category(page).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('u');
  await messages(page).getByText(`“${name}” is yours again.`).waitFor({ timeout: WAIT_MS });
  await chosen(page, 'Music');
  assert.equal((await itemOf(server, project.id, name)).status, 'CLAIMED');

  await page.keyboard.press('Escape');
  await page.keyboard.press('5');
  await page.getByRole('table').getByText('undone').waitFor({ timeout: WAIT_MS });
});

onBoard('skip, release, and the help of keys', {}, async ({ page, project }) => {
  const first = await claim(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('s');
  await page.keyboard.press('x');
  await page.getByRole('dialog').getByText('nothing brings it back').waitFor();
  await page.keyboard.press('Enter'); // what cannot be undone is not what Enter does
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await itemOf(server, project.id, first)).status, 'CLAIMED');
  await page.keyboard.press('s');
  await page.keyboard.press('x');
  await page.getByRole('dialog').getByText('nothing brings it back').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await messages(page).getByText(`“${first}” is marked as one that cannot be labelled.`).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(server, project.id, first)).status, 'SKIPPED');

  await page.locator('.picture-name').getByText(first).waitFor({ state: 'detached', timeout: WAIT_MS });
  await category(page).waitFor();
  const second = await page.locator('.picture-name strong').innerText();
  await page.keyboard.press('Escape');
  await page.keyboard.press('e');
  await messages(page).getByText('You have another 15 minutes for it.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('r');
  await messages(page).getByText(`“${second}” is back in the queue.`).waitFor({ timeout: WAIT_MS });
  await page.getByText('Ready when you are').waitFor();

  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Finish, from any field').waitFor();
  await page.keyboard.press('Enter'); // no button is focused that it would press
  assert.ok(await page.getByRole('dialog').isVisible());
  await page.getByLabel('Single keys do something').uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('2');
  await page.getByRole('button', { name: /^Work/ }).and(page.locator('[aria-current=page]')).waitFor();
});

onBoard('single keys go through the list, and to the form when they are asked to', {}, async ({ page, project }) => {
  const kept = page.getByRole('complementary', { name: 'Your items' });
  const current = kept.locator('[aria-current=true]');
  await page.keyboard.press('n');
  await category(page).and(page.locator(':focus')).waitFor({ timeout: WAIT_MS });
  await page.getByText('Esc for single keys').first().waitFor();
  await page.keyboard.press('Escape');
  for (const held of [1, 2]) {
    await page.keyboard.press('n');
    await kept.locator('.mine-name').nth(held).waitFor({ timeout: WAIT_MS });
  }
  const names = await kept.locator('.mine-name').allInnerTexts();
  for (const [key, at] of [['j', 1], ['j', 2], ['k', 1], ['ArrowDown', 2], ['ArrowUp', 1]]) {
    await page.keyboard.press(key);
    await current.and(page.locator(':focus')).getByText(names[at]).waitFor({ timeout: WAIT_MS });
  }
  await page.keyboard.press('Enter');
  await category(page).and(page.locator(':focus')).waitFor();
  await page.keyboard.type('mus');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('k');
  await page.keyboard.press('c');
  await category(page).and(page.locator(':focus')).waitFor();

  // Who opens the page anew has typed nothing yet: the keys are not the form's.
  await page.reload();
  await live(page);
  await category(page).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await giveBack(server, project.id);
});

onBoard('what was typed outlives a reload and a lost claim', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await page.reload();
  await live(page);
  await chosen(page, 'Music');
  assert.equal(await page.getByRole('combobox', { name: /^Keywords/ }).inputValue(), 'stai');

  await giveBack(server, project.id);
  const kept = page.getByRole('complementary', { name: 'Your items' });
  await kept.getByText('Kept drafts').waitFor({ timeout: WAIT_MS });
  await kept.getByText('Music · Handwritten · bass clef · stai').waitFor();

  // It is handed out again sooner or later, and the form is as it was.
  await page.keyboard.press('N');
  await kept.getByRole('button', { name: new RegExp(`^${name}`) }).click({ timeout: WAIT_MS });
  await chosen(page, 'Music');
  assert.equal(await kept.getByText('Kept drafts').count(), 0);
});

onBoard('one message tells which claims ran out, and claims as many again', {}, async ({ page, project }) => {
  // Nobody waits fifteen minutes here: what is released is told as if it had run out.
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const ours = socket.connectToServer();
    ours.onMessage((message) => socket.send(String(message).replaceAll('"type":"RELEASED"', '"type":"EXPIRED"')));
  });
  await page.reload();
  await live(page);
  await page.keyboard.press('n');
  await category(page).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape');
  const mine = page.getByRole('complementary', { name: 'Your items' });
  await page.keyboard.press('n');
  await mine.locator('.mine-name').nth(1).waitFor({ timeout: WAIT_MS });
  await giveBack(server, project.id);
  await messages(page).getByText('2 items went back to the queue: you had them too long.').waitFor({ timeout: WAIT_MS });
  await messages(page).getByRole('button', { name: 'Claim again' }).click();
  await mine.locator('.mine-name').nth(1).waitFor({ timeout: WAIT_MS });
  assert.equal(await messages(page).getByText(/went back/).count(), 0);
  await giveBack(server, project.id);
});

onBoard('what others do is shown as it happens', {}, async ({ page, project }) => {
  const colleague = await member(server, project.id, 'REVIEWER', 'grace@example.com');
  await page.keyboard.press('2');
  const item = await work(server, project.id, colleague, { finish: false });
  await page.getByRole('region', { name: 'In hands' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
  await page.getByRole('region', { name: 'In hands' }).getByText('grace', { exact: false }).first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type(item.name);
  await page.getByRole('region', { name: 'Waiting' }).getByRole('button', { name: /page/ }).waitFor({ state: 'detached', timeout: WAIT_MS });
  await page.getByRole('region', { name: 'Waiting' }).getByText('No card here is called so.').waitFor();
  assert.equal(await page.getByText('nothing in hands').count(), 0);
  await page.keyboard.press('ArrowDown');
  await page.getByRole('button', { name: item.name }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: item.name }).and(page.locator(':focus')).waitFor();
  assert.ok(await page.getByRole('dialog').isHidden());
  await page.keyboard.press('Enter');
  const card = page.getByRole('dialog', { name: item.name });
  await card.getByText('In the hands of grace').waitFor({ timeout: WAIT_MS });
  await card.getByRole('img', { name: item.name }).evaluate((image) => image.decode());
  await page.screenshot({ path: new URL('board-card.png', out).pathname });
  await page.keyboard.press('Escape');
  await card.waitFor({ state: 'detached' });
  const address = page.url();
  await page.getByRole('button', { name: item.name }).click();
  await card.waitFor();
  await page.goBack();
  await card.waitFor({ state: 'detached' });
  assert.equal(page.url(), address);
  await page.getByRole('region', { name: 'In hands' }).waitFor();
  await page.getByLabel('Find a card by its name').fill('');
  await giveBack(server, project.id, colleague);
  await page.getByRole('region', { name: 'Waiting' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
  await page.getByRole('region', { name: 'What happens' }).getByText('released').waitFor();
});

onBoard('a paused project says so where one claims, until it is resumed', {}, async ({ page, project }) => {
  const manage = (name) =>
    ask(server, `mutation ($input: ${name[0].toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { project { id } } }`, { input: { projectId: project.id } });
  const told = page.getByRole('complementary', { name: 'Your items' }).getByText('Paused: nothing is handed out.');
  await claim(page);
  await manage('pauseProject');
  await told.waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape');
  await page.keyboard.press('n');
  await messages(page).getByText('The project is paused.').waitFor({ timeout: WAIT_MS });
  await page.screenshot({ path: new URL('board-paused.png', out).pathname });
  await manage('resumeProject');
  await told.waitFor({ state: 'detached', timeout: WAIT_MS });
  assert.equal(await messages(page).getByText('The project is paused.').count(), 0);
  await giveBack(server, project.id);
});

onBoard('a reviewer finds a result incorrect, and its author is told', {}, async ({ page, project }) => {
  const reviewer = await member(server, project.id, 'REVIEWER', 'rev@example.com');
  const name = await claim(page);
  await type(page);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });

  const other = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}&page=review`, { pictures: [project.pictures] });
  await other.page.getByRole('button', { name: 'Use own token' }).click();
  await other.page.getByLabel('JSON Web Token').fill(reviewer);
  await other.page.keyboard.press('Enter');
  await other.page.getByText(/^Signed in as .+ \(own token\)$/).waitFor();
  await other.page.locator('.picture-name').getByText(name).waitFor({ timeout: WAIT_MS });
  await other.page.locator('.picture img').evaluate((image) => image.decode());
  await other.page.screenshot({ path: new URL('board-review.png', out).pathname });
  await other.page.keyboard.press('i');
  await other.page.keyboard.type('This is the title page.');
  await other.page.keyboard.press('Control+Enter');
  await messages(other.page).getByText(/incorrect, and back to its author/).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(server, project.id, name)).status, 'NEW');

  // It can be said otherwise, and again.
  await other.page.keyboard.press('u');
  await other.page.getByText('You found this incorrect.').waitFor();
  assert.equal(await other.page.getByLabel(/^What is wrong/).inputValue(), 'This is the title page.');
  await other.page.keyboard.press('a');
  await messages(other.page).getByText(`“${name}”: correct.`).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(server, project.id, name)).status, 'FINISHED');
  assert.deepEqual(other.complaints(), []);
  await other.context.close();

  await messages(page).getByText(/was found incorrect, and is kept for you: This is the title page\./).waitFor({ timeout: WAIT_MS });
});

onBoard(
  'the network is cut for ten seconds, and the board catches up',
  // What fails while the network is cut is what the test is about.
  { origin: () => network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    const token = await member(server, project.id, 'TAGGIE', 'lin@example.com');
    const sent = [];
    const told = [];
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(payload)));
      socket.on('framereceived', ({ payload }) => told.push(JSON.parse(payload)));
    });
    // The sockets that were opened before are not listened to: begin with a new one.
    await page.reload();
    await live(page);
    await claim(page);
    await type(page);
    const typed = await page.locator('.picture-name strong').innerText();
    await until('its event is there', WAIT_MS, () => told.some(({ payload }) => payload?.data?.projectEvents?.type === 'CLAIMED'));
    const before = cursors(told).at(-1);

    network.cut();
    const since = Date.now();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: WAIT_MS });
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet: The server cannot be reached\. It is kept here, and sent by itself\./).waitFor({ timeout: WAIT_MS });
    const item = await work(server, project.id, token);
    await page.screenshot({ path: new URL('board-cut.png', out).pathname });
    await until('ten seconds are over', 20_000, () => Date.now() - since >= 10_000);
    const mark = told.length;
    network.mend();

    await live(page);
    await page.getByText(/^Live again: \d+ events? caught up$/).waitFor({ timeout: WAIT_MS });
    const again = sent.filter((message) => message.type === 'subscribe').at(-1);
    assert.equal(again.payload.variables.after, before, 'it goes on behind the last cursor');
    const kinds = told.slice(mark).map(({ payload }) => payload?.data?.projectEvents?.__typename).filter(Boolean);
    assert.ok(kinds.length >= 2 && kinds.every((kind) => kind === 'ProjectEvent'), `no gap, no snapshot: ${kinds}`);
    await messages(page).getByText(`“${typed}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.equal((await itemOf(server, project.id, typed)).status, 'FINISHED');
    await page.keyboard.press('Escape');
    await page.keyboard.press('2');
    await page.getByRole('region', { name: 'Finished' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
    await page.screenshot({ path: new URL('board-caught-up.png', out).pathname });

    // A network that loses everything, and closes nothing.
    network.freeze();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: 40_000 });
    network.mend();
    await live(page);
  },
);

const cursors = (told) => told.map(({ payload }) => payload?.data?.projectEvents?.cursor).filter(Boolean);

onBoard(
  'a finish that was not sent is sent by the page that is opened next',
  { origin: () => network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, context, project }) => {
    const name = await claim(page);
    await type(page);
    network.cut();
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet/).waitFor({ timeout: WAIT_MS });
    const address = page.url();
    await page.close();
    network.mend();
    const next = await context.newPage();
    await next.goto(address);
    await messages(next).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.deepEqual((await itemOf(server, project.id, name)).keywords, ['bass clef', 'stai']);
  },
);

onBoard(
  'a finish that waits is taken back into the form',
  { origin: () => network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    const name = await claim(page);
    await type(page);
    network.cut();
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet/).waitFor({ timeout: WAIT_MS });
    await page.keyboard.press('Escape');
    await page.keyboard.press('u');
    await messages(page).getByText(`“${name}” is in the form again, and is not sent.`).waitFor({ timeout: WAIT_MS });
    assert.equal(await messages(page).getByText(/is not sent yet/).count(), 0);
    await chosen(page, 'Music');
    network.mend();
    await live(page);
    assert.equal((await itemOf(server, project.id, name)).status, 'CLAIMED');
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.deepEqual((await itemOf(server, project.id, name)).keywords, ['bass clef', 'stai']);
  },
);

onBoard(
  'a picture that did not load is tried again, by itself and by hand',
  { origin: () => network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    let refused = 0;
    const refuse = (route) => {
      refused += 1;
      return route.abort();
    };
    const mended = async () => {
      await page.unroute(`${project.pictures}/**`);
      return page.locator('.picture img');
    };
    const broken = async () => {
      refused = 0;
      await page.route(`${project.pictures}/**`, refuse);
      await page.reload();
      await page.getByText('The picture did not load.').waitFor({ timeout: WAIT_MS });
    };
    await page.clock.install();
    await claim(page);

    await broken();
    assert.equal(await page.getByText('TAGGIE_PICTURE_ORIGINS').count(), 0);
    await page.screenshot({ path: new URL('board-picture-failed.png', out).pathname });
    let picture = await mended();
    await page.clock.runFor(5_000);
    await picture.evaluate((image) => image.decode());

    await broken();
    await live(page);
    network.cut();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: WAIT_MS });
    await page.clock.runFor(5_000);
    await until('it is not tried any more', WAIT_MS, () => refused >= 2);
    picture = await mended();
    network.mend();
    await page.clock.runFor(5_000);
    await live(page);
    await picture.evaluate((image) => image.decode());

    await broken();
    await live(page);
    await page.clock.runFor(5_000);
    await until('it is not tried any more', WAIT_MS, () => refused >= 2);
    await page.getByText('The picture did not load.').waitFor({ timeout: WAIT_MS });
    picture = await mended();
    await page.getByRole('button', { name: 'Retry' }).click();
    await picture.evaluate((image) => image.decode());
    await giveBack(server, project.id);
  },
);

onBoard('the queue is rebuilt, and the board begins anew without losing anything', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await ask(server, 'mutation ($input: RebuildProjectQueueInput!) { rebuildProjectQueue(input: $input) { project { id } } }', { input: { projectId: project.id } });
  await messages(page).getByText('Some events were missed; everything is being read anew.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
  await page.locator('.picture-name').getByText(name).waitFor({ state: 'detached', timeout: WAIT_MS });
  const other = await work(server, project.id);
  await page.keyboard.press('Escape');
  await page.keyboard.press('2');
  await page.getByRole('region', { name: 'Finished' }).getByText(other.name).waitFor({ timeout: WAIT_MS });
});

const leaving = {
  'in another project': async (page) => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('p');
    await page.getByRole('dialog').getByRole('option', { name: 'Postcards' }).click();
    await page.getByRole('button', { name: 'Postcards' }).waitFor({ timeout: WAIT_MS });
  },
  'to another user': async (page, project) => {
    const token = await member(server, project.id, 'TAGGIE', 'late@example.com');
    await page.getByRole('button', { name: 'Use own token' }).click();
    await page.getByLabel('JSON Web Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText(/^Signed in as .+ \(own token\)$/).waitFor();
  },
};
for (const [where, leave] of Object.entries(leaving)) {
  onBoard(`a finish that is answered late counts, and shows nothing ${where}`, {}, async ({ page, project }) => {
    const name = await claim(page);
    await type(page);
    const isFinish = (request) => /\bmutation Finish\b/.test(request.postData() ?? '');
    let go;
    await page.route('**/graphql', (route) => {
      if (!isFinish(route.request())) return route.continue();
      go = () => route.continue();
    });
    await page.keyboard.press('Control+Enter');
    await until('the finish is on its way', WAIT_MS, () => go);
    await leave(page, project);
    await live(page);
    go();
    await until('its draft is gone', WAIT_MS, () => page.evaluate(() => !Object.keys(localStorage).some((key) => key.startsWith('taggie:draft:'))));
    assert.equal((await itemOf(server, project.id, name)).status, 'FINISHED');
    assert.equal(await page.getByText(name).count(), 0);
  });
}

onBoard("the browser's Back leads to the page before, and to the project before", {}, async ({ page, project }) => {
  const heading = (name) => page.getByRole('banner', { name: 'Project' }).getByRole('button', { name });
  const shown = (name) => page.getByRole('button', { name: new RegExp(`^${name}`) }).and(page.locator('[aria-current=page]')).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('2');
  await page.keyboard.press('3');
  await page.keyboard.press('3');
  await shown('Statistics');
  const address = page.url();
  await page.keyboard.press('p');
  await page.keyboard.type('town');
  await page.getByRole('option', { name: 'Town archive' }).and(page.locator('.is-active')).waitFor();
  await page.keyboard.press('Enter');
  await heading('Town archive').waitFor({ timeout: WAIT_MS });
  await page.goBack();
  await heading(project.name).waitFor({ timeout: WAIT_MS });
  assert.equal(page.url(), address);
  await page.goBack();
  await shown('Board');
  await page.goBack();
  await shown('Work');
  await page.goForward();
  await shown('Board');
});

onBoard('a new tab shows the project that was shown last, and in a new browser the one with items in hands', {}, async ({ page, context, project }) => {
  const shown = (tab) => tab.getByRole('banner', { name: 'Project' }).getByRole('button', { name: project.name }).waitFor({ timeout: WAIT_MS });
  const tab = await context.newPage();
  await tab.goto(`${server.origin}/board`);
  await shown(tab);
  const projects = async () => (await ask(server, '{ viewer { projects(first: 20) { nodes { id } } } }')).viewer.projects.nodes;
  let all = await projects();
  while (all[0].id === project.id) { // which would be shown without a reason; ids are random, and lists in their order
    await ask(server, 'mutation { createProject(input: { name: "Before" }) { project { id } } }');
    all = await projects();
  }
  for (const { id } of all) await giveBack(server, id);
  await claim(page);
  const other = await openPage(browser, server.origin, '/board', { pictures: [project.pictures] });
  await shown(other.page);
  await other.context.close();
  await giveBack(server, project.id);
});

onBoard('signed out, the board says so', {}, async ({ page }) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Not signed in' }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('button', { name: 'Use demo user' }).click();
  await live(page);
  await page.getByRole('button', { name: 'signed out, the board says so' }).waitFor({ timeout: WAIT_MS });
});
