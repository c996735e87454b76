import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, go, member, pictureProject } from './board.js';
import { claim, live, messages, onBoard, out, signIn, WAIT_MS, world } from './board-page.js';
import { openPage } from './browser.js';
import { until } from './server.js';

const elsewhere = 'https://elsewhere.example.com/owl.png'; // a request to it would be complained of
const text = `# Staves\n\nLook at the **clef**: see [the manual](https://example.com/clefs). <b onclick="x">Not bold</b>\n\n![an owl](${elsewhere})\n\n| Clef | Lines |\n|---|--:|\n| treble | 5 |\n`;

const update = `mutation ($input: UpdateGuidelinesInput!) { updateGuidelines(input: $input) { guidelines { version } problem { ... on Problem { message } } } }`;
const write = (projectId, text, token) => ask(world.server, update, { input: { projectId, text } }, token);
const read = async (id) => (await ask(world.server, 'query ($id: ID!) { project(id: $id) { guidelines { text } } }', { id })).project.guidelines?.text;

/** The manager's form. */
async function form(page) {
  await page.goto(page.url().replace(/(&page=.*)?$/, '&page=manage&section=guidelines'));
  await live(page);
  const guidelines = page.getByRole('main').getByRole('region', { name: 'Guidelines' });
  await guidelines.getByLabel(/^(Text|Your text)$/).waitFor({ timeout: WAIT_MS });
  return guidelines;
}

onBoard('a manager writes guidelines, and sees what others wrote meanwhile', {}, async ({ page, project }) => {
  let guidelines = await form(page);
  await guidelines.getByLabel('Text').fill(text);
  const preview = guidelines.getByRole('region', { name: 'Preview' });
  await preview.getByRole('heading', { name: 'Staves', level: 3 }).waitFor({ timeout: WAIT_MS });
  const link = preview.getByRole('link', { name: 'the manual' });
  assert.deepEqual([await link.getAttribute('target'), await link.getAttribute('rel')], ['_blank', 'noopener noreferrer']);
  await preview.getByText('<b onclick="x">Not bold</b>').waitFor();
  assert.equal(await preview.locator('img, b').count(), 0);
  await preview.getByText('an owl').waitFor();

  await page.reload();
  guidelines = await form(page);
  assert.equal(await guidelines.getByLabel('Text').inputValue(), text, 'what was typed is kept');

  // What is typed while a save is under way stays.
  const isSave = (request) => /\bmutation UpdateGuidelines\b/.test(request.postData() ?? '');
  let goOn;
  const held = new Promise((resolve) => (goOn = resolve));
  await page.route('**/graphql', async (route) => {
    if (isSave(route.request())) await held;
    await route.continue();
  });
  const asked = page.waitForRequest(isSave, { timeout: WAIT_MS });
  await guidelines.getByRole('button', { name: 'Save' }).press('Enter');
  await asked;
  await guidelines.getByLabel('Text').fill(`${text}\nMore.`);
  goOn();
  await messages(page).getByText('Saved. The members are told.').waitFor({ timeout: WAIT_MS });
  await page.unroute('**/graphql');
  assert.equal(await read(project.id), text);
  assert.equal(await guidelines.getByLabel('Text').inputValue(), `${text}\nMore.`);
  await page.reload();
  guidelines = await form(page);
  assert.equal(await guidelines.getByLabel('Text').inputValue(), `${text}\nMore.`, 'it is kept, too');

  const discard = page.getByRole('dialog', { name: 'Discard your changes?' });
  await guidelines.getByRole('button', { name: 'Discard changes' }).press('Enter');
  await discard.getByRole('button', { name: 'Cancel' }).press('Enter');
  await discard.waitFor({ state: 'hidden', timeout: WAIT_MS });
  assert.equal(await guidelines.getByLabel('Text').inputValue(), `${text}\nMore.`);
  await guidelines.getByRole('button', { name: 'Discard changes' }).press('Enter');
  await discard.getByRole('button', { name: 'Discard them' }).press('Enter');
  await discard.waitFor({ state: 'hidden', timeout: WAIT_MS });
  assert.equal(await guidelines.getByLabel('Text').inputValue(), text);

  await guidelines.getByLabel('Text').fill('Mine.');
  await write(project.id, 'Theirs.');
  await guidelines.getByRole('alert').waitFor({ timeout: WAIT_MS });
  assert.equal(await guidelines.getByLabel('Their text').inputValue(), 'Theirs.');
  assert.equal(await guidelines.getByLabel('Your text').inputValue(), 'Mine.');
  await guidelines.getByRole('button', { name: 'Go on with mine' }).press('Enter');
  await guidelines.getByRole('button', { name: 'Save' }).press('Enter');
  await preview.getByText('Mine.').waitFor({ timeout: WAIT_MS });
  await until('it is saved', WAIT_MS, async () => (await read(project.id)) === 'Mine.');
  await guidelines.getByRole('button', { name: 'Discard changes', disabled: true }).waitFor({ timeout: WAIT_MS }); // the answer is there, too

  await guidelines.getByLabel('Text').fill('Mine again.');
  await write(project.id, 'Theirs again.');
  await guidelines.getByRole('button', { name: 'Take theirs' }).click({ timeout: WAIT_MS });
  assert.equal(await guidelines.getByLabel('Your text').inputValue(), 'Mine again.');
  const take = page.getByRole('dialog', { name: 'Take their text?' });
  await take.getByRole('button', { name: 'Take theirs' }).press('Enter');
  await take.waitFor({ state: 'hidden', timeout: WAIT_MS });
  assert.equal(await guidelines.getByLabel('Text').inputValue(), 'Theirs again.');
});

test('a labeller reads the guidelines beside the item, and is told when they change', async () => {
  const project = await pictureProject(world.server, 'Guided');
  const token = await member(world.server, project.id, 'TAGGIE', 'guided@example.com');
  await write(project.id, text);
  const { page, context, complaints } = await openPage(world.browser, world.server.origin, `/board#project=${encodeURIComponent(project.id)}`, { pictures: [project.pictures] });
  await signIn(page, token);
  const button = page.getByRole('button', { name: /^Guidelines/ });
  await button.getByText('new').waitFor({ timeout: WAIT_MS });
  await live(page);
  await claim(page);
  await page.keyboard.press('Escape');
  await go(page, 'g');
  const panel = page.getByRole('complementary', { name: 'Guidelines' });
  await panel.and(page.locator(':focus')).waitFor({ timeout: WAIT_MS });
  await panel.getByRole('heading', { name: 'Staves' }).waitFor({ timeout: WAIT_MS });
  await page.locator('.picture img').waitFor(); // beside it
  await button.getByText('new').waitFor({ state: 'hidden', timeout: WAIT_MS });

  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'hidden' });
  await write(project.id, 'Look at the **stamp**, too.');
  await messages(page).getByText('The guidelines have changed').waitFor({ timeout: WAIT_MS });
  await button.getByText('changed').waitFor({ timeout: WAIT_MS });
  await go(page, 'g');
  await panel.getByText(/^Changed since you last read them: /).waitFor({ timeout: WAIT_MS });
  await panel.getByText('stamp').waitFor({ timeout: WAIT_MS });
  await write(project.id, 'Look at the *edges*.');
  await panel.getByText('edges').waitFor({ timeout: WAIT_MS }); // while it is open
  await go(page, 'g');
  await panel.waitFor({ state: 'hidden' });
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Guidelines: open or close them').waitFor();
  assert.deepEqual(complaints(), []);
  await context.close();
});

onBoard('guidelines written between the reading of a project and its first event are shown', {}, async ({ page, project }) => {
  let reads = 0;
  page.on('response', (response) => (reads += /\bquery Project\b/.test(response.request().postData() ?? '') ? 1 : 0));
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const ours = socket.connectToServer();
    socket.onMessage(async (message) => {
      if (JSON.parse(message).type === 'subscribe') {
        await until('the project is read', WAIT_MS, () => reads > 0);
        await write(project.id, text);
      }
      ours.send(message);
    });
  });
  await page.reload();
  await page.getByRole('button', { name: /^Guidelines/ }).waitFor({ timeout: WAIT_MS });
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 1000, 320]) {
    onBoard(`guidelines, ${colorScheme} and ${width} wide`, { colorScheme, viewport: { width, height: 860 } }, async ({ page, project }) => {
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [...document.querySelectorAll('html, .page, .guidelines')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        await page.screenshot({ path: new URL(`guidelines-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      await write(project.id, text);
      await page.getByRole('button', { name: /^Guidelines/ }).waitFor({ timeout: WAIT_MS });
      await claim(page);
      await page.keyboard.press('Escape');
      await go(page, 'g');
      const panel = page.getByRole('complementary', { name: 'Guidelines' });
      await panel.getByRole('heading', { name: 'Staves' }).waitFor({ timeout: WAIT_MS });
      await shoot('panel');
      await go(page, 'g');
      const guidelines = await form(page);
      await guidelines.getByRole('heading', { name: 'Staves' }).waitFor({ timeout: WAIT_MS });
      await shoot('form');
      await guidelines.getByLabel('Text').fill('Mine.');
      await write(project.id, 'Theirs.');
      await guidelines.getByRole('alert').waitFor({ timeout: WAIT_MS });
      await shoot('conflict');
    });
  }
}
