// What the board shows when it is told what it cannot show, or nothing any more.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { ask, giveBack, go, member, pictureProject, work } from './board.js';
import { launch, openPage } from './browser.js';
import { startServer, until } from './server.js';

const WAIT_MS = 15_000;
const out = new URL('out/', import.meta.url);

let server;
let browser;
let project;

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer();
  browser = await launch();
  project = await pictureProject(server, 'Broken pages');
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens the board with an item in hands, of which it is told something else than the truth. */
async function openBoard(change, options) {
  await giveBack(server, project.id);
  const { name } = await work(server, project.id, undefined, { finish: false });
  const opened = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}`, {
    pictures: [project.pictures],
    ...options,
  });
  const { page } = opened;
  await page.route('**/graphql', async (route) => {
    if (!/\bquery Claims\b/.test(route.request().postData() ?? '')) return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    answer.data.project.viewerClaims.forEach(change);
    await route.fulfill({ response, json: answer });
  });
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor({ timeout: WAIT_MS });
  await page.reload();
  return { ...opened, name };
}

test('an address that no browser can read is told in the place of the picture', async () => {
  const url = 'https://pics.example:99999/a.jpg';
  const { page, context, complaints } = await openBoard((item) => Object.assign(item, { item: null, url, type: 'image/jpeg' }));
  await page.getByText(`no browser can read the address that the import told, “${url}”.`).waitFor({ timeout: WAIT_MS });
  await page.getByRole('combobox', { name: /^Category/ }).waitFor();
  assert.equal(await page.getByRole('link', { name: /^Original/ }).count(), 0);
  await page.keyboard.press('Escape');
  await page.keyboard.press('o'); // opens nothing, and breaks nothing
  await page.screenshot({ path: new URL('board-unreadable.png', out).pathname });
  assert.deepEqual(complaints(), []);
  await page.unrouteAll({ behavior: 'wait' });
  await context.close();
});

const looks = {
  'light-wide': { colorScheme: 'light' },
  'dark-narrow': { colorScheme: 'dark', viewport: { width: 420, height: 860 } },
};

for (const [look, options] of Object.entries(looks)) {
  test(`a page that cannot be shown says so, and the others go on (${look})`, async () => {
    const { page, context, complaints, name } = await openBoard((item) => Object.assign(item, { efforts: {} }), {
      expected: /^console error: TypeError/,
      ...options,
    });
    await page.getByRole('heading', { name: 'This cannot be shown' }).waitFor({ timeout: WAIT_MS });
    await page.screenshot({ path: new URL(`board-broken-${look}.png`, out).pathname });
    await go(page, 'b');
    await page.getByRole('region', { name: 'In hands' }).getByText(name).waitFor({ timeout: WAIT_MS });
    await go(page, 'w');
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Load the board anew' }).click();
    await page.locator('.picture-name').getByText(name).waitFor({ timeout: WAIT_MS });
    assert.deepEqual(complaints(), []);
    await context.close();
  });
}

for (const [look, options] of Object.entries(looks)) {
  test(`a member who was taken out of the project is told, and the board asks no more (${look})`, async () => {
    const token = await member(server, project.id, 'TAGGIE', `${look}@example.com`);
    const { viewer } = await ask(server, '{ viewer { id } }', {}, token);
    const own = `Own project of ${look}`;
    await ask(server, 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }', { input: { name: own, categories: ['One'] } }, token);
    const { page, context, operations, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}`, {
      pictures: [project.pictures],
      ...options,
    });
    await page.clock.install();
    await page.reload();
    await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS }); // a browser complains of a socket that is closed before it is open
    const asked = [];
    page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => asked.push(JSON.parse(payload).type)));
    await page.getByRole('button', { name: 'Use own token' }).click();
    await page.getByLabel('JSON Web Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText(/^Signed in as .+ \(own token\)$/).waitFor();
    await page.getByRole('button', { name: 'Broken pages' }).waitFor({ timeout: WAIT_MS });
    await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });

    await ask(server, 'mutation ($input: RemoveProjectMemberInput!) { removeProjectMember(input: $input) { problem { ... on Problem { message } } } }', {
      input: { projectId: project.id, userId: viewer.id },
    });
    await page.getByRole('heading', { name: 'You are no longer a member of this project' }).waitFor({ timeout: WAIT_MS });
    await page.screenshot({ path: new URL(`board-left-${look}.png`, out).pathname });
    const before = [operations.length, asked.filter((type) => type === 'subscribe').length];
    await page.clock.runFor(60_000);
    assert.deepEqual([operations.length, asked.filter((type) => type === 'subscribe').length], before, 'it asks no more');

    await page.getByRole('main').getByRole('option', { name: own }).click();
    await page.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name: own }).waitFor({ timeout: WAIT_MS });
    assert.deepEqual(complaints(), []);
    await context.close();
  });
}

for (const [look, options] of Object.entries(looks)) {
  test(`a queue that is being rebuilt says how far it is (${look})`, async () => {
    const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}&page=board`, options);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor({ timeout: WAIT_MS });
    const rebuilt = ask(server, 'mutation($input: RebuildProjectQueueInput!) { rebuildProjectQueue(input: $input) { project { id } } }', { input: { projectId: project.id } });
    await until('the queue is being rebuilt', WAIT_MS, async () => {
      const { project: asked } = await ask(server, 'query($id: ID!) { project(id: $id) { queueRebuild { itemsTotal } } }', { id: project.id });
      return asked.queueRebuild;
    });
    await go(page, 's'); // statistics, which are not there meanwhile
    const told = page.getByRole('status').filter({ hasText: 'The queue is being rebuilt.' });
    await told.getByText(/^\d+ of \d+ items read$/).waitFor({ timeout: WAIT_MS });
    await page.screenshot({ path: new URL(`board-rebuild-${look}.png`, out).pathname });
    await told.waitFor({ state: 'detached', timeout: WAIT_MS });
    await rebuilt;
    assert.deepEqual(complaints(), []);
    await context.close();
  });
}
