import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { pictureProject } from './board.js';
import { launch, openPage } from './browser.js';
import { query, startServer, until } from './server.js';

const WAIT_MS = 15_000;
const manifest = new URL('out/manifest.json', import.meta.url);
const known = '{ viewer { id } }';

let server;
let browser;
let project;

before(async () => {
  const first = await startServer(); // carries out what prepares the test
  try {
    project = await pictureProject(first, 'Trusted');
  } finally {
    await first.stop({ keep: true });
  }
  await mkdir(new URL('.', manifest), { recursive: true });
  await writeFile(manifest, JSON.stringify({ known }));
  const variables = { TAGGIE_TRUSTED_DOCUMENTS: fileURLToPath(manifest), TAGGIE_TRUSTED_DOCUMENTS_MODE: 'enforce' };
  server = await startServer(variables, first.data);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('the board works where only trusted documents are carried out', async () => {
  assert.ok((await query(server.origin, known)).data.viewer.id);
  const refused = await query(server.origin, '{ viewer { name } }');
  assert.equal(refused.errors[0].extensions.code, 'FORBIDDEN');

  const policy = (await fetch(`${server.origin}/board`)).headers.get('content-security-policy');
  const pictures = /img-src ([^;]*)/.exec(policy)[1].split(' ');
  const { page, context, complaints } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(project.id)}`, { pictures });
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  const category = page.getByRole('combobox', { name: /^Category/ });
  await until('an item is claimed, when the queue is there again', 4 * WAIT_MS, async () => {
    await page.keyboard.press('n');
    return category.waitFor({ timeout: 1000 }).then(() => true, () => false);
  });
  const name = await page.locator('.picture-name strong').innerText();
  await page.keyboard.type('mus');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('log', { name: 'Messages' }).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(complaints(), []);
  await context.close();
});
