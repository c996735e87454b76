import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { ask, go, member, work } from './board.js';
import { launch, openPage } from './browser.js';
import { demoLoaded, startServer } from './server.js';

const WAIT_MS = 30_000;
const out = new URL('out/', import.meta.url);
const sections = ['Items', 'Results', 'People', 'Rules'];
// The bucket has an origin of its own: files go there, and come from there.
const bucket = /^(request to|failed:) http:\/\/127\.0\.0\.1:\d+\/taggie\//;

const csv = `externalId,name,type,url,year
fern-1,Bracken,image/png,https://herbarium.example.com/1.png,1871
fern-2,,image/png,https://herbarium.example.com/2.png,1872
moss-1,"Peat moss, dried",image/png,https://herbarium.example.com/3.png,1873
`;

let server;
let browser;

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer();
  await demoLoaded(server); // or its users come while a test adds one
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const openBoard = (options) => openPage(browser, server.origin, '/board', { expected: bucket, ...options });
const live = (page) => page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
const part = (page, name) => page.getByRole('region', { name, exact: true });
const messages = (page) => page.getByRole('log', { name: 'Messages' });
const section = (page, name) => page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true });

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

/** Makes a project by keyboard. */
async function makeProject(page, name) {
  await live(page);
  await page.keyboard.press('p');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'New project' }).press('Enter');
  await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Fern\nMoss');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Pressed');
  await dialog.getByLabel('Minutes for an item').fill('20');
  await dialog.getByLabel('Minutes for an item').press('Enter');
  await part(page, 'Bring items').waitFor({ timeout: WAIT_MS });
  await live(page);
}

/** Drops a file where it is to be dropped. */
async function drop(page, name, text) {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], name, { type: 'text/csv' }));
      return transfer;
    },
    [name, text],
  );
  for (const type of ['dragover', 'drop']) await part(page, 'Bring items').locator('.drop').dispatchEvent(type, { dataTransfer: data });
}

test('a manager makes a project, brings items, takes somebody in, and gets the results', async () => {
  const { page, context, complaints } = await openBoard();
  await makeProject(page, 'Herbarium sheets');

  await drop(page, 'sheets.csv', csv);
  const rows = page.getByRole('region', { name: 'The first rows of the file' });
  await told(page, rows, 'Peat moss, dried');
  await told(page, rows.getByRole('columnheader', { name: /^year/ }), 'metadata');
  await page.keyboard.press('Enter'); // the cursor is on "Import"
  const imports = part(page, 'Imports');
  await told(page, imports, /^2 imported, 1 with a mistake/);
  await told(page, imports, 'Line 3');

  await section(page, 'People').click();
  const members = part(page, 'Members');
  const teams = part(page, 'Teams');
  await teams.getByLabel('New team').fill('Readers');
  await teams.getByLabel('Its members may').selectOption('label and review');
  await teams.getByRole('button', { name: 'Create' }).click();
  await told(page, teams, 'Readers');
  const email = members.getByLabel('E-mail address');
  await email.fill('nobody@example.com');
  await email.press('Enter');
  await told(page, members.getByRole('alert'), /sign up with this address first/);
  await email.and(page.locator(':focus')).waitFor();
  await email.fill('jose@example.com');
  await members.getByLabel('Into the team').selectOption('Readers (may label and review)');
  await email.press('Enter');
  const hers = members.getByLabel(/^Team of José/);
  await hers.waitFor({ timeout: WAIT_MS });
  await hers.selectOption('Managers');
  await members.getByRole('button', { name: /^Move José/ }).click(); // choosing moves nobody
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await teams.getByRole('button', { name: 'Rename Readers' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(' of labels');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape'); // loses nothing
  await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Readers of labels');
  await dialog.getByLabel('Name').fill('Readers');
  await page.keyboard.press('Escape'); // there is nothing to lose
  await dialog.waitFor({ state: 'hidden' });
  await teams.getByRole('button', { name: 'Delete Readers' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the team' }).click();
  await told(page, page.getByRole('dialog').getByRole('alert'), 'Choose what becomes of its members.');
  await page.keyboard.press('Escape');
  await hers.focus();

  await page.keyboard.press('Escape');
  await go(page, 'w');
  await page.keyboard.press('n');
  const category = page.getByRole('combobox', { name: /^Category/ });
  await category.and(page.locator(':focus')).waitFor({ timeout: WAIT_MS });
  const name = await page.locator('.picture-name strong').innerText();
  await page.keyboard.type('mos');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+Enter');
  await told(page, messages(page), `“${name}”: Moss.`);

  await page.keyboard.press('Escape');
  await go(page, 'm');
  await section(page, 'Results').click();
  const results = part(page, 'Results');
  await results.getByLabel('Status').selectOption('Finished');
  const row = results.getByRole('row', { name: new RegExp(name) });
  await told(page, row, 'Moss');
  await row.getByRole('button', { name }).press('Enter');
  await told(page, page.getByRole('dialog'), 'What was found');
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name }).and(page.locator(':focus')).waitFor();

  const exports = part(page, 'Exports');
  await exports.getByRole('button', { name: 'Export' }).click();
  await told(page, exports, /1 item,/);
  // A file on its way does not make the browser ask whether to leave the page: it is not left.
  await page.route(/\/taggie\/imports\//, () => {}); // never answered
  await section(page, 'Items').click();
  await drop(page, 'more.csv', csv);
  await page.getByRole('button', { name: 'Import more.csv' }).click();
  await page.getByRole('progressbar', { name: 'more.csv is being sent' }).waitFor({ timeout: WAIT_MS });
  await section(page, 'Results').click();
  const asked = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.accept();
  });
  const download = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('nothing is downloaded')), WAIT_MS);
    const take = (file) => (clearTimeout(timer), resolve(file));
    page.once('download', take);
    context.once('page', (tab) => tab.once('download', take));
    exports.getByRole('button', { name: 'Download' }).click().catch(reject);
  });
  assert.deepEqual(asked, []);
  const [head, line, end] = (await readFile(await download.path(), 'utf8')).split(/\r?\n/);
  assert.match(head, /^externalId,name,.*category/);
  assert.ok(line.includes('Moss') && line.includes(name.split(',')[0]), line);
  assert.equal(end, '');

  assert.deepEqual(complaints(), []);
  await context.close();
});

test('what a manager removes comes back: items, and a project', async () => {
  const { page, context, complaints } = await openBoard();
  await makeProject(page, 'Lichens');
  await page.getByLabel(/^A CSV or JSON Lines file/).setInputFiles({ name: 'lichens.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from('{"externalId":"l1","name":"On bark"}\n{"externalId":"l2","name":"On stone"}\n') });
  await page.getByRole('button', { name: 'Import lichens.jsonl' }).click();
  await told(page, part(page, 'Imports'), /^2 imported/);

  await section(page, 'Results').click();
  const results = part(page, 'Results');
  await results.getByLabel('External id').fill('l2');
  await results.getByLabel('External id').press('Enter');
  await results.getByRole('button', { name: 'Show all again' }).waitFor({ timeout: WAIT_MS });
  await results.getByLabel('Choose On stone').check();
  await results.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
  await results.getByLabel('Choose On bark').waitFor({ timeout: WAIT_MS });
  await results.locator(':focus').waitFor(); // the button that had the cursor has nothing to remove any more
  assert.equal(await results.getByLabel('Choose On stone').count(), 0);
  const removed = part(page, 'Removed items');
  await removed.getByRole('button', { name: 'Bring them back' }).click({ timeout: WAIT_MS });
  await told(page, removed, 'brought back');
  await results.getByLabel('Choose On stone').waitFor({ timeout: WAIT_MS });

  // What somebody else has finished goes back into the queue.
  const { viewer } = await ask(server, '{ viewer { projects(first: 50) { nodes { id name } } } }');
  const { id } = viewer.projects.nodes.find((project) => project.name === 'Lichens');
  const labeller = await member(server, id, 'TAGGIE', 'lichens@example.com');
  const { name } = await work(server, id, labeller);
  await results.getByLabel('Status').selectOption('Finished');
  const choice = results.getByLabel(`Choose ${name}`);
  await choice.waitFor({ timeout: WAIT_MS }).catch(() => results.getByRole('button', { name: /^Read again/ }).click());
  await choice.check({ timeout: WAIT_MS });
  await results.getByRole('button', { name: 'Put back into the queue 1' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Put 1 item back into the queue?' });
  await dialog.getByLabel('Why').and(page.locator(':focus')).waitFor();
  await page.keyboard.type('It is a fern.');
  await page.keyboard.press('Escape'); // loses nothing
  await dialog.getByRole('button', { name: 'Put back' }).press('Enter');
  await told(page, messages(page), '1 item is back in the queue');
  const { project } = await ask(server, 'query ($id: ID!) { project(id: $id) { items(status: NEW, first: 5) { nodes { name efforts(first: 1) { nodes { review { verdict comment } } } } } } }', { id });
  assert.deepEqual(project.items.nodes.find((item) => item.name === name).efforts.nodes[0].review, { verdict: 'INCORRECT', comment: 'It is a fern.' });

  // Who cancels while items are put back, one after another, stops it before the next one.
  await work(server, id, labeller);
  await work(server, id, labeller);
  await results.getByRole('button', { name: /^Read again/ }).click();
  for (const name of ['On bark', 'On stone']) await results.getByLabel(`Choose ${name}`).check({ timeout: WAIT_MS });
  await results.getByRole('button', { name: 'Put back into the queue 2' }).press('Enter', { timeout: WAIT_MS });
  const isReview = (request) => /\bmutation Review\b/.test(request.postData() ?? '');
  let goOn;
  const held = new Promise((resolve) => (goOn = resolve));
  await page.route('**/graphql', async (route) => {
    if (isReview(route.request())) await held;
    await route.continue();
  });
  const asked = page.waitForRequest(isReview, { timeout: WAIT_MS });
  const both = page.getByRole('dialog', { name: 'Put 2 items back into the queue?' });
  await both.getByRole('button', { name: 'Put back' }).press('Enter');
  await asked;
  await both.getByRole('button', { name: 'Cancel' }).press('Enter');
  goOn();
  await told(page, messages(page), '1 item is back in the queue, before others. You cancelled the rest.');
  await page.unroute('**/graphql');
  const left = await ask(server, 'query ($id: ID!) { project(id: $id) { items(status: FINISHED, first: 5) { nodes { name } } } }', { id });
  assert.equal(left.project.items.nodes.length, 1);

  // What is removed can be deleted for good at once.
  await results.getByLabel('Status').selectOption('All');
  await results.getByLabel('Choose On stone').check({ timeout: WAIT_MS });
  await results.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
  await removed.getByRole('button', { name: 'Delete for good: chosen items, 1 item' }).press('Enter', { timeout: WAIT_MS });
  const sure = page.getByRole('dialog', { name: 'Delete 1 item for good?' });
  await sure.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  await sure.getByRole('button', { name: 'Delete for good' }).press('Enter');
  await told(page, removed, 'gone for good');

  await section(page, 'Rules').click();
  const rules = part(page, 'Rules');
  await rules.getByLabel('Minutes for an item').fill('2000'); // the browser refuses it
  await rules.getByLabel('Name', { exact: true }).fill('Lichens of the coast');
  await rules.getByLabel('Minutes for an item').fill('30');
  await rules.getByRole('button', { name: 'Save' }).click();
  await told(page, messages(page), 'Saved.');
  await rules.getByRole('button', { name: 'Save' }).and(page.locator(':focus')).waitFor();
  await page.getByRole('button', { name: /^Lichens of the coast/ }).waitFor({ timeout: WAIT_MS });

  // Pausing makes another version of the project; what is typed stays, and is saved.
  await rules.getByLabel('Description').fill('On bark and stone');
  await page.getByRole('button', { name: 'Pause handing out' }).click();
  await page.getByRole('button', { name: 'Resume handing out' }).waitFor({ timeout: WAIT_MS });
  await rules.getByRole('button', { name: 'Save' }).click();
  const saved = rules.locator('button[aria-disabled=true]').getByText('Discard changes'); // nothing differs any more
  await saved.or(rules.getByText('so nothing was saved')).first().waitFor({ timeout: WAIT_MS });
  if (!(await saved.count())) await rules.getByRole('button', { name: 'Save' }).click(); // the page had not read it again yet
  await saved.waitFor({ timeout: WAIT_MS });
  assert.equal(await rules.getByLabel('Description').inputValue(), 'On bark and stone');

  const categories = part(page, 'Categories');
  await categories.getByLabel('More categories').fill('fern');
  await categories.getByRole('button', { name: 'Add' }).click();
  await categories.getByRole('alert').waitFor({ timeout: WAIT_MS });
  await categories.getByLabel('More categories').and(page.locator(':focus')).waitFor();
  await categories.getByRole('button', { name: 'Retire Fern' }).click();
  await told(page, categories, 'retired');

  await page.getByRole('button', { name: 'Delete this project…' }).click();
  await page.keyboard.type('Lichens of the coast');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'The project is deleted' }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('button', { name: 'Bring back' }).first().click({ timeout: WAIT_MS });
  await page.getByRole('button', { name: /^Lichens of the coast/ }).waitFor({ timeout: WAIT_MS });
  await live(page);
  assert.deepEqual(complaints(), []);
  await context.close();
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 320]) {
    test(`the pages of managers, ${colorScheme} and ${width} wide`, async () => {
      const { page, context, complaints } = await openBoard({ colorScheme, viewport: { width, height: 900 } });
      await makeProject(page, `Looks ${colorScheme} ${width}`);
      await drop(page, 'sheets.csv', csv);
      const shoot = async (what) => {
        const broad = await page.evaluate(() => [document.documentElement, document.querySelector('.page')].some((element) => element.scrollWidth > element.clientWidth));
        assert.ok(!broad, `${what}: no horizontal scrolling`);
        await page.screenshot({ path: new URL(`manage-${what}-${colorScheme}-${width}.png`, out).pathname });
      };
      await page.getByRole('region', { name: 'The first rows of the file' }).waitFor();
      await shoot('preview');
      await page.keyboard.press('Enter');
      await told(page, part(page, 'Imports'), 'Line 3');
      for (const name of sections) {
        await section(page, name).click();
        await page.locator('.entry, .results tbody tr').first().waitFor({ timeout: WAIT_MS });
        await shoot(name.toLowerCase());
        await page.locator('.page').evaluate((element) => element.scrollTo(0, element.scrollHeight));
        await shoot(`${name.toLowerCase()}-end`);
      }
      await page.keyboard.press('p');
      await page.getByRole('dialog').getByRole('button', { name: 'New project' }).press('Enter');
      await shoot('new');
      assert.deepEqual(complaints(), []);
      await context.close();
    });
  }
}
