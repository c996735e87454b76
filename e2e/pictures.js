// Makes the pictures of the documentation, from a fresh server with the demo set: npm run pictures

import { mkdir, readFile, stat } from 'node:fs/promises';
import { ask, go } from './board.js';
import { focusEditor, launch, openConsole, openPage, pictureShown, run, settled } from './browser.js';
import { demoLoaded, startServer } from './server.js';

const folder = new URL('../docs/pictures/', import.meta.url);
const MOST_BYTES = 100_000;
const viewport = { width: 880, height: 560 };

async function picture(page, name) {
  const file = new URL(name, folder);
  await page.screenshot({ path: file.pathname, animations: 'disabled' });
  const { size } = await stat(file);
  if (size > MOST_BYTES) throw new Error(`${name} has ${size} bytes, of at most ${MOST_BYTES}`);
  console.log(name, size);
}

async function graphiql(browser, server) {
  const [, firstQuery] = /^```graphql\n([\s\S]*?)^```/m.exec(await readFile(new URL('../README.md', import.meta.url), 'utf8'));
  const { page, context } = await openConsole(browser, server.origin, { viewport, permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByText(/^Signed in as .+ \(demo\)$/).waitFor();
  await focusEditor(page);
  await page.keyboard.press('Control+A');
  await page.evaluate((text) => navigator.clipboard.writeText(text), firstQuery);
  await page.keyboard.press('Control+V');
  await settled(page, firstQuery.trim());
  const { answer } = await run(page);
  await page.locator('.graphiql-response').getByText(answer.data.viewer.notes.nodes[0].title.split(' ')[0]).first().waitFor();
  await picture(page, 'graphiql.png');
  await context.close();
}

/** Opens a demo project on the board. */
async function board(browser, server, name) {
  const { viewer } = await ask(server, '{ viewer { projects(first: 9) { nodes { id name } } } }');
  const { id } = viewer.projects.nodes.find((project) => project.name === name);
  const opened = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}`, { viewport });
  await opened.page.getByRole('status').getByText('Live', { exact: true }).waitFor();
  return opened;
}

async function boardAtWork(browser, server) {
  const { page, context } = await board(browser, server, 'Postcards');
  await page.keyboard.press('n');
  await page.getByRole('combobox', { name: /^Category/ }).waitFor();
  await pictureShown(page.locator('.picture img'));
  await picture(page, 'board-work.png');
  await context.close();
}

async function boardStatistics(browser, server) {
  const { page, context } = await board(browser, server, 'Town archive');
  await go(page, 's');
  await page.locator('.bars-value').first().waitFor();
  await picture(page, 'board-statistics.png');
  await context.close();
}

const server = await startServer();
const browser = await launch();
try {
  await mkdir(folder, { recursive: true });
  await demoLoaded(server);
  await graphiql(browser, server);
  await boardAtWork(browser, server);
  await boardStatistics(browser, server);
} finally {
  await browser.close();
  await server.stop();
}
