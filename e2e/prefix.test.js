import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pictureProject } from './board.js';
import { focusEditor, launch, openConsole, openPage, openTab, pictureShown, run } from './browser.js';
import { demoLoaded, startServer } from './server.js';

const WAIT_MS = 15_000;

let server;
let browser;

before(async () => {
  server = await startServer({ TAGGIE_PATH_PREFIX: '/apps/taggie' });
  await demoLoaded(server); // which is loaded through the path, too
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const live = (page) => page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });

// Everything that is not below server.origin, which ends with the path, is complained of.
test('GraphiQL works below a path, and leads to the board and back', async () => {
  const { page, context, complaints } = await openConsole(browser, server.origin);
  await page.getByText(/^Signed in as .+ \(demo\)$/).waitFor({ timeout: WAIT_MS });
  await focusEditor(page);
  const { status, answer } = await run(page);
  assert.deepEqual([status, answer.errors], [200, undefined]);
  await openTab(page, 'ProjectEvents');
  await page.keyboard.press('Control+Enter');
  await page.locator('.graphiql-response').getByText('projectEvents').first().waitFor({ timeout: WAIT_MS });
  await page.getByRole('link', { name: 'Board' }).click();
  await live(page);
  assert.equal(new URL(page.url()).pathname, '/apps/taggie/board');
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  await page.getByText(/^Signed in as .+ \(demo\)$/).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('the board works below a path', async () => {
  const project = await pictureProject(server, 'Below a path');
  const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}`, { pictures: [project.pictures] });
  await live(page);
  await page.keyboard.press('n');
  await page.getByRole('combobox', { name: /^Category/ }).waitFor({ timeout: WAIT_MS });
  await pictureShown(page.locator('.picture img'));
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('notes work below a path', async () => {
  const { page, context, complaints } = await openPage(browser, server.origin, '/desk');
  await live(page);
  await page.getByRole('region', { name: 'List of notes' }).getByRole('listitem').first().waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});

test('without the path there are only probes', async () => {
  const { origin } = new URL(server.origin);
  for (const [path, status] of [['/', 404], ['/graphql', 404], ['/board', 404], ['/session', 404], ['/healthz', 200], ['/readyz', 200], ['/metrics', 200]]) {
    assert.equal((await fetch(`${origin}${path}`)).status, status, path);
  }
});
