import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, giveBack, go, itemOf, member, work } from './board.js';
import { WAIT_MS, category, chosen, claim, focused, live, messages, onBoard, out, signIn, type, world } from './board-page.js';
import { openPage, pictureShown } from './browser.js';
import { until } from './server.js';

onBoard('an item is claimed, found out and finished by keyboard, and that is undone', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
  const stored = await itemOf(world.server, project.id, name);
  assert.equal(stored.status, 'FINISHED');
  assert.deepEqual([stored.category.name, stored.subcategory.name, stored.keywords], ['Music', 'Handwritten', ['bass clef', 'stai']]);

  // The next one came by itself.
  await page.locator('.picture-name').getByText(name).waitFor({ state: 'detached', timeout: WAIT_MS });
  await category(page).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('u');
  await messages(page).getByText(`“${name}” is yours again.`).waitFor({ timeout: WAIT_MS });
  await chosen(page, 'Music');
  assert.equal((await itemOf(world.server, project.id, name)).status, 'CLAIMED');

  await page.keyboard.press('Escape');
  await go(page, 'h');
  await page.getByRole('table').getByText('undone').waitFor({ timeout: WAIT_MS });
});

onBoard('a digit chooses a category, and one key gives the last answer again', {}, async ({ page, project }) => {
  const first = await claim(page);
  const name = await page.getByRole('listbox', { name: 'Category' }).getByRole('option').first().evaluate((option) => option.firstChild.textContent.trim());
  await page.keyboard.press('1'); // in the empty field
  await chosen(page, name);
  await focused(page.getByRole('combobox', { name: /^Subcategory/ }));
  await page.keyboard.press('Escape');
  const other = await page.getByRole('listbox', { name: 'Category' }).getByRole('option').nth(1).evaluate((option) => option.firstChild.textContent.trim());
  await page.keyboard.press('2'); // beside the field
  await chosen(page, other);
  await page.keyboard.press('1');
  await chosen(page, name);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${first}”: ${name}.`).waitFor({ timeout: WAIT_MS });
  await page.locator('.picture-name').getByText(first).waitFor({ state: 'detached', timeout: WAIT_MS });
  const second = await page.locator('.picture-name strong').innerText();
  await focused(category(page));
  await page.keyboard.press('.');
  await messages(page).getByText(`“${second}”: ${name}.`).waitFor({ timeout: WAIT_MS });
  for (const one of [first, second]) assert.equal((await itemOf(world.server, project.id, one)).category.name, name);
  await giveBack(world.server, project.id);
});

onBoard('a category that a manager adds is offered at once', {}, async ({ page, project }) => {
  await claim(page);
  await page.keyboard.type('zit');
  const input = { projectId: project.id, categories: ['Zither part'] };
  await ask(world.server, 'mutation ($input: AddProjectCategoriesInput!) { addProjectCategories(input: $input) { problem { ... on Problem { message } } } }', { input });
  await page.getByRole('option', { name: 'Zither part' }).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Enter');
  await chosen(page, 'Zither part');
});

onBoard('skip, release, and the help of keys', {}, async ({ page, project }) => {
  const first = await claim(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('s');
  await page.keyboard.press('x');
  await page.getByRole('dialog').getByText('nothing brings it back').waitFor();
  await page.keyboard.press('Enter'); // what cannot be undone is not what Enter does
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await itemOf(world.server, project.id, first)).status, 'CLAIMED');
  await page.keyboard.press('s');
  await page.keyboard.press('x');
  await page.getByRole('dialog').getByText('nothing brings it back').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await messages(page).getByText(`“${first}” is marked as one that cannot be labelled.`).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(world.server, project.id, first)).status, 'SKIPPED');

  await page.locator('.picture-name').getByText(first).waitFor({ state: 'detached', timeout: WAIT_MS });
  await category(page).waitFor();
  const second = await page.locator('.picture-name strong').innerText();
  await page.keyboard.press('Escape');
  await page.keyboard.press('e');
  await messages(page).getByText('The time for it begins again.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('r');
  await messages(page).getByText(`“${second}” is back in the queue.`).waitFor({ timeout: WAIT_MS });
  await page.getByText('Ready when you are').waitFor();

  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Finish, from any field').waitFor();
  await page.keyboard.press('Enter'); // no button is focused that it would press
  assert.ok(await page.getByRole('dialog').isVisible());
  await page.getByLabel('Single keys do something').uncheck();
  await page.keyboard.press('Escape');
  await go(page, 'b');
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
  await giveBack(world.server, project.id);
});

onBoard('what was typed outlives a reload and a lost claim', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await page.reload();
  await live(page);
  await chosen(page, 'Music');
  assert.equal(await page.getByRole('combobox', { name: /^Keywords/ }).inputValue(), 'stai');

  await giveBack(world.server, project.id);
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
  await giveBack(world.server, project.id);
  await messages(page).getByText('2 items went back to the queue: you had them too long.').waitFor({ timeout: WAIT_MS });
  await messages(page).getByRole('button', { name: 'Claim again' }).click();
  await mine.locator('.mine-name').nth(1).waitFor({ timeout: WAIT_MS });
  assert.equal(await messages(page).getByText(/went back/).count(), 0);
  await giveBack(world.server, project.id);
});

onBoard('what others do is shown as it happens', {}, async ({ page, project }) => {
  const colleague = await member(world.server, project.id, 'REVIEWER', 'grace@example.com');
  await go(page, 'b');
  const item = await work(world.server, project.id, colleague, { finish: false });
  await page.getByRole('region', { name: 'In hands' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
  await page.getByRole('region', { name: 'In hands' }).getByText('grace', { exact: false }).first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type(item.name);
  await page.getByRole('region', { name: 'Waiting' }).getByRole('button', { name: /page/ }).waitFor({ state: 'detached', timeout: WAIT_MS });
  await page.getByRole('region', { name: 'Waiting' }).getByText('No card that is shown here has such a name.').waitFor();
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
  await pictureShown(card.getByRole('img', { name: item.name }));
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
  await giveBack(world.server, project.id, colleague);
  await page.getByRole('region', { name: 'Waiting' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
  await page.getByRole('region', { name: 'What happens' }).getByText('released').waitFor();
});

onBoard('a paused project says so where one claims, until it is resumed', {}, async ({ page, project }) => {
  const manage = (name) =>
    ask(world.server, `mutation ($input: ${name[0].toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { project { id } } }`, { input: { projectId: project.id } });
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
  await giveBack(world.server, project.id);
});

onBoard('a reviewer finds a result incorrect, and its author is told', {}, async ({ page, project }) => {
  const reviewer = await member(world.server, project.id, 'REVIEWER', 'rev@example.com');
  const name = await claim(page);
  await type(page);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });

  const other = await openPage(world.browser, world.server.origin, `/board#project=${encodeURIComponent(project.id)}&page=review`, { pictures: [project.pictures] });
  await signIn(other.page, reviewer);
  await other.page.locator('.picture-name').getByText(name).waitFor({ timeout: WAIT_MS });
  await pictureShown(other.page.locator('.picture img'));
  await other.page.screenshot({ path: new URL('board-review.png', out).pathname });
  await other.page.keyboard.press('i');
  await other.page.keyboard.type('This is the title page.');
  await other.page.keyboard.press('Control+Enter');
  await messages(other.page).getByText(/incorrect, and back to its author/).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(world.server, project.id, name)).status, 'NEW');

  // It can be said otherwise, and again.
  await other.page.keyboard.press('u');
  await other.page.getByText('You found this incorrect.').waitFor();
  assert.equal(await other.page.getByLabel(/^What is wrong/).inputValue(), 'This is the title page.');
  await other.page.keyboard.press('a');
  await messages(other.page).getByText(`“${name}”: correct.`).waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(world.server, project.id, name)).status, 'FINISHED');
  assert.deepEqual(other.complaints(), []);
  await other.context.close();

  await messages(page).getByText(/was found incorrect, and is kept for you: This is the title page\./).waitFor({ timeout: WAIT_MS });
});

onBoard('Review shows results while others go on finishing', {}, async ({ page, project }) => {
  const labeller = await member(world.server, project.id, 'TAGGIE', 'busy@example.com');
  const finish = async (n) => {
    await work(world.server, project.id, labeller);
    await page.locator('.legend li').filter({ hasText: new RegExp(`^Finished ${n}\\b`) }).waitFor({ timeout: WAIT_MS });
  };
  await finish(1);
  await go(page, 'r');
  const result = page.getByRole('form', { name: /^Review/ });
  let shown = false;
  for (let n = 2; n <= project.count && !shown; n++) {
    await finish(n);
    shown = await result.isVisible();
  }
  assert.ok(shown, 'each finish puts the look off');
});

onBoard('the queue is rebuilt, and the board begins anew without losing anything', {}, async ({ page, project }) => {
  const name = await claim(page);
  await type(page);
  await ask(world.server, 'mutation ($input: RebuildProjectQueueInput!) { rebuildProjectQueue(input: $input) { project { id } } }', { input: { projectId: project.id } });
  await messages(page).getByText('Some events were missed; everything is being read anew.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
  await page.locator('.picture-name').getByText(name).waitFor({ state: 'detached', timeout: WAIT_MS });
  const other = await work(world.server, project.id);
  await page.keyboard.press('Escape');
  await go(page, 'b');
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
    const token = await member(world.server, project.id, 'TAGGIE', 'late@example.com');
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
    await page.evaluate(() => {
      const { fetch } = window;
      window.fetch = async (input, init) => {
        if (/\bmutation Finish\b/.test(init?.body ?? '')) await new Promise((go) => (window.go = go));
        return fetch(input, init);
      };
    });
    await page.keyboard.press('Control+Enter');
    await until('the finish is on its way', WAIT_MS, () => page.evaluate(() => Boolean(window.go)));
    await leave(page, project);
    await live(page);
    await page.evaluate(() => window.go());
    await until('its draft is gone', WAIT_MS, () => page.evaluate(() => !Object.keys(localStorage).some((key) => key.startsWith('taggie:draft:'))));
    assert.equal((await itemOf(world.server, project.id, name)).status, 'FINISHED');
    assert.equal(await page.getByText(name).count(), 0);
  });
}

/** Signs in on a page with a token. */
onBoard('somebody signs up, is taken into a project, sees it at once, and that it has no items', {}, async ({ page }) => {
  const token = await world.server.token('new@example.com');
  await signIn(page, token);
  await page.getByRole('heading', { name: 'Welcome' }).waitFor({ timeout: WAIT_MS });
  assert.equal(await page.getByLabel('E-mail address').inputValue(), 'new@example.com', 'the token says it');
  await page.getByLabel('Name').fill('New');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No project yet' }).waitFor({ timeout: WAIT_MS });
  const { createProject } = await ask(world.server, 'mutation { createProject(input: { name: "Begins", categories: ["Music"] }) { project { id } } }');
  const { createTeam } = await ask(world.server, 'mutation ($id: ID!) { createTeam(input: { projectId: $id, name: "All", type: TAGGIE }) { team { id } } }', { id: createProject.project.id });
  await ask(world.server, 'mutation ($team: ID!) { putProjectMember(input: { teamId: $team, email: "new@example.com" }) { problem { ... on Problem { message } } } }', { team: createTeam.team.id });
  await page.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name: 'Begins' }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('heading', { name: 'No items yet' }).waitFor({ timeout: WAIT_MS });
  assert.equal(await page.getByRole('button', { name: 'Claim the next item' }).count(), 0);
});

onBoard('after a project is chosen, the cursor is at its name', {}, async ({ page }) => {
  await page.keyboard.press('p');
  await page.getByRole('dialog').getByRole('option', { name: 'Postcards' }).click();
  await focused(page.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name: 'Postcards' }));
});

onBoard('a token that has ended is told apart from a lost connection', { expected: /401|4403/ }, async ({ page, project }) => {
  await member(world.server, project.id, 'TAGGIE', 'short@example.com');
  await signIn(page, await world.server.token('short@example.com', '--ttl', '4s'));
  await page.getByRole('status').getByText(/^Your session has ended: sign in again above\./).waitFor({ timeout: WAIT_MS });
});

onBoard("the browser's Back leads to the page before, and to the project before", {}, async ({ page, project }) => {
  const heading = (name) => page.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name });
  const shown = (name) => page.getByRole('button', { name: new RegExp(`^${name}`) }).and(page.locator('[aria-current=page]')).waitFor({ timeout: WAIT_MS });
  await go(page, 'b');
  await go(page, 's');
  await go(page, 's');
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
  const shown = (tab) => tab.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name: project.name }).waitFor({ timeout: WAIT_MS });
  const tab = await context.newPage();
  await tab.goto(`${world.server.origin}/board`);
  await shown(tab);
  const projects = async () => (await ask(world.server, '{ viewer { projects(first: 100) { nodes { id } } } }')).viewer.projects.nodes;
  let all = await projects();
  while (all[0].id === project.id) { // which would be shown without a reason; ids are random, and lists in their order
    await ask(world.server, 'mutation { createProject(input: { name: "Before", categories: ["Music"] }) { project { id } } }');
    all = await projects();
  }
  for (const { id } of all) await giveBack(world.server, id);
  await claim(page);
  const other = await openPage(world.browser, world.server.origin, '/board', { pictures: [project.pictures] });
  await shown(other.page);
  await other.context.close();
  await giveBack(world.server, project.id);
});

onBoard('signed out, the board says so', {}, async ({ page }) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Not signed in' }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('button', { name: 'Use demo user' }).click();
  await live(page);
  await page.getByRole('button', { name: 'signed out, the board says so' }).waitFor({ timeout: WAIT_MS });
});
