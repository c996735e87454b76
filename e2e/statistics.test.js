// What Statistics says in charts is there as tables and files, too.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { axeFinds } from './axe.js';
import { ask, go, member, work } from './board.js';
import { onBoard, out, WAIT_MS, world } from './board-page.js';
import { until } from './server.js';

const titles = ['Where the items are', 'Finished per minute', 'Who finished how many', 'Teams', 'Categories used most', 'Keywords used most'];
const region = (page, title) => page.getByRole('region', { name: `${title}, as a table` });
const open = (page, title) => page.locator('summary').getByText(`Table of “${title}”`).click({ timeout: WAIT_MS });
const rowsOf = (table) => table.getByRole('row').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

/** Presses the button below a table; resolves to the name and the text of the file. */
async function download(page, title) {
  const [file] = await Promise.all([page.waitForEvent('download', { timeout: WAIT_MS }), page.getByRole('button', { name: `Download as CSV of “${title}”` }).press('Enter')]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

onBoard('each chart has a table that follows what happens, and a file', {}, async ({ page, project }) => {
  const ada = await member(world.server, project.id, 'TAGGIE', '=ada@example.com'); // a name that a spreadsheet would calculate
  await work(world.server, project.id, ada);
  await go(page, 's');
  await open(page, 'Who finished how many');
  const people = region(page, 'Who finished how many');
  await people.getByRole('cell', { name: '=ada', exact: true }).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(await rowsOf(people), [['Name', 'Team', 'Finished', 'Incorrect', 'Share incorrect'], ['=ada', 'Team of =ada@example.com', '1', '0', '0 %']]);

  const { id } = await work(world.server, project.id, ada);
  await people.getByRole('cell', { name: '2', exact: true }).waitFor({ timeout: WAIT_MS });
  const { name, text } = await download(page, 'Who finished how many');
  assert.equal(name, 'Who finished how many.csv');
  assert.equal(text, "Name,Team,Finished,Incorrect,Share incorrect\n'=ada,Team of =ada@example.com,2,0,0 %\n");

  await open(page, 'Finished per minute');
  const [head, ...minutes] = (await download(page, 'Finished per minute')).text.trimEnd().split('\n');
  assert.equal(head, 'Minute that ends at,Finished');
  assert.ok(minutes.length < 30, 'nothing is told of the time before the page was opened');
  for (const minute of minutes) assert.match(minute, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,\d+$/);
  const counted = async () => (await rowsOf(region(page, 'Finished per minute'))).slice(1).reduce((sum, [, finished]) => sum + Number(finished), 0);
  assert.equal(await counted(), 2);

  const { node } = await ask(world.server, 'query ($id: ID!) { node(id: $id) { ... on ProjectItem { efforts(first: 1) { nodes { id } } } } }', { id }, ada);
  const input = { effortId: node.efforts.nodes[0].id };
  await ask(world.server, 'mutation ($input: UndoFinishInput!) { undoFinish(input: $input) { problem { ... on Problem { message } } } }', { input }, ada);
  await until('what was taken back is not counted', WAIT_MS, async () => (await counted()) === 1);
});

for (const [colorScheme, width] of [['light', 1400], ['dark', 320]]) {
  onBoard(`open tables, ${colorScheme} and ${width} wide`, { colorScheme, viewport: { width, height: 860 } }, async ({ page, project }) => {
    const grace = await member(world.server, project.id, 'TAGGIE', `grace-${width}@example.com`);
    await work(world.server, project.id, grace);
    await go(page, 's');
    await page.locator('.bars-value').first().waitFor({ timeout: WAIT_MS });
    for (const title of titles) await open(page, title);
    await region(page, titles.at(-1)).waitFor({ timeout: WAIT_MS });
    assert.deepEqual(await axeFinds(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no horizontal scrolling');
    await page.screenshot({ path: new URL(`statistics-tables-${colorScheme}-${width}.png`, out).pathname });
    await page.locator('.statistics').evaluate((node) => node.parentElement.scrollTo(0, 900));
    await page.screenshot({ path: new URL(`statistics-tables-below-${colorScheme}-${width}.png`, out).pathname });
  });
}
