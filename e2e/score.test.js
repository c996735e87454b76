import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { launch } from './browser.js';
import { startServer, until } from './server.js';

const WAIT_MS = 30_000;
const out = new URL('out/', import.meta.url);

let pages; // another web server: the one of somebody's app
let app;
let server;
let browser;
let image;

before(async () => {
  await mkdir(out, { recursive: true });
  const html = await readFile(new URL('pages/score.html', import.meta.url));
  pages = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(html)).listen(0, '127.0.0.1');
  await once(pages, 'listening');
  app = `http://127.0.0.1:${pages.address().port}`;
  server = await startServer({ TAGGIE_ALLOWED_ORIGINS: app });
  browser = await launch();
  image = await demoPage();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  pages?.close();
});

async function token() {
  return (await (await fetch(`${server.origin}/session`)).json()).token;
}

/** A page of the demo scores, as a file on a disk would be. */
async function demoPage() {
  const query = '{ viewer { scores(first: 1) { nodes { pageCount pages { item { url name } } } } } }';
  const found = await until('the demo user has a score with pages', 60_000, async () => {
    const response = await fetch(`${server.origin}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${await token()}` },
      body: JSON.stringify({ query }),
    });
    return (await response.json()).data?.viewer?.scores?.nodes[0]?.pages[0];
  });
  const response = await fetch(found.item.url);
  assert.equal(response.headers.get('content-disposition'), `inline; filename="${found.item.name}"`);
  return Buffer.from(await response.arrayBuffer());
}

/** Chooses files on the app's page. */
async function choose(options, way, files) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
  const page = await context.newPage();
  await page.goto(`${app}/#${new URLSearchParams({ origin: server.origin, token: await token(), way })}`);
  await page.locator('#files').setInputFiles(files);
  await page.locator('#status:text("Done."), #problem:not(:empty)').first().waitFor({ timeout: WAIT_MS });
  return { context, page, problem: await page.locator('#problem').textContent() };
}

for (const [way, options] of [
  ['put', { colorScheme: 'light' }],
  ['form', { colorScheme: 'dark', viewport: { width: 420, height: 860 } }],
]) {
  test(`an image on disk becomes a page of a score, by ${way}`, async () => {
    const files = ['one.png', 'two.png'].map((name) => ({ name, mimeType: 'image/png', buffer: image }));
    const { context, page, problem } = await choose(options, way, files);
    assert.equal(problem, '');
    assert.equal(await page.locator('#title').textContent(), 'From the disk');
    const shown = await page.locator('#pages img').evaluateAll((images) =>
      Promise.all(images.map(async (i) => (await i.decode(), [i.naturalWidth, i.naturalHeight]))),
    );
    assert.deepEqual(shown, [[226, 320], [226, 320]]);
    assert.equal(await page.locator('#pages a').first().innerText().then((text) => text.trim()), '1: 992 × 1403');
    await page.screenshot({ path: new URL(`score-${way}.png`, out).pathname });
    await context.close();
  });
}

test('a text that says it is an image is refused, and the page says why', async () => {
  const { context, problem } = await choose({}, 'put', [{ name: 'lie.png', mimeType: 'image/png', buffer: Buffer.from('This is no image.') }]);
  assert.match(problem, /not of the type image\/png/);
  await context.close();
});
