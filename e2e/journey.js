// The way of a labelling project from the address of a server to the exported file, by keyboard and mouse alone. Each step is what somebody does
// on the board; `send` does what sends something, so that a test can make that difficult.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { until } from './server.js';

const WAIT_MS = 30_000;

const csv = `externalId,name,year
fern-1,Bracken,1871
fern-2,Hart's tongue,1872
fern-3,,1873
moss-1,"Peat moss, dried",1874
moss-2,Star moss,1875
lichen-1,Oak moss,1876
`;
const bad = 'Line 4'; // it has no name
const imported = 5;

/**
 * The steps, in their order. Each gets `world`: `manager`, who is on the board; `labellers`, two who are as well; `files`, a directory to write
 * to, `downloads`, where the manager's browser saves; and `send(person, act)`. What one step finds out for the next it adds.
 */
export const steps = [
  ['the manager signs in', signIn],
  ['the manager creates a project', createProject],
  ['the manager says how to label', writeGuidelines],
  ['the manager suggests keywords', suggestKeywords],
  ['the manager brings items with a CSV that has a faulty line', bringItems],
  ['the manager invites two people by a link', invite],
  ['both join by the link', join],
  ['both label at once', label],
  ['the manager reviews, corrects one, and finds one incorrect', review],
  ['its author labels it again', labelAgain],
  ['the manager removes an item, and brings it back', bringBack],
  ['the manager exports, and downloads', exportResults],
];

/** Goes to a page of the board by its two keys, which single keys are: the cursor must be in no field. */
async function go(person, key) {
  await person.press('Escape', 'g', key);
}

async function section(person, name) {
  await person.click('link', name, 'Sections');
}

async function signIn({ manager }) {
  await manager.sees('Signed in as Ada Example', 'Session');
  await manager.click('button', 'Sign out');
  await manager.sees('Not signed in');
  await manager.click('button', 'Use demo user');
  await manager.sees('Signed in as Ada Example', 'Session');
  await manager.sees('Live');
}

async function createProject({ manager, send, name }) {
  await manager.press('p');
  await manager.click('button', 'New project');
  await manager.isIn('field', 'Name');
  await manager.type(name);
  await manager.press('Tab');
  await manager.type('What grows without seeds');
  await manager.press('Tab');
  await manager.type('Fern\nMoss\nLichen');
  await manager.press('Tab');
  await manager.type('Pressed');
  await send(manager, () => manager.click('button', 'Create the project'));
  await manager.sees('Bring items from a file');
  await manager.sees(name, 'Project');
  await manager.sees('Live');
}

async function writeGuidelines({ manager, send }) {
  await section(manager, 'Guidelines');
  await manager.fill('Text', '## Ferns\n\nLook at the **fronds**.', 'Guidelines');
  await manager.sees('Look at the fronds.', 'Preview');
  await send(manager, () => manager.click('button', 'Save'));
  await manager.sees('Ada Example, ', 'Guidelines');
}

async function suggestKeywords({ manager, send }) {
  await section(manager, 'Rules');
  await manager.fill('Suggested keywords', 'frond\nspores', 'Rules');
  await send(manager, () => manager.click('button', 'Save', 'Rules'));
  await manager.sees('Saved.', 'Messages');
}

async function bringItems({ manager, send, file }) {
  await section(manager, 'Items');
  await manager.chooseFiles('A CSV or JSON Lines file', [await file('plants.csv', csv)]);
  await manager.sees('Peat moss, dried', 'The first rows of the file');
  await manager.isIn('button', 'Import plants.csv');
  await send(manager, () => manager.press('Enter'));
  await manager.sees(`${imported} imported, 1 with a mistake`, 'Imports');
  await manager.sees(bad, 'Imports');
}

async function invite(world) {
  const { manager, send } = world;
  await section(manager, 'People');
  await manager.fill('New team', 'Volunteers', 'Teams');
  await manager.choose('Its members may', 'label', 'Teams');
  await send(manager, () => manager.click('button', 'Create', 'Teams'));
  await manager.sees('Volunteers', 'Teams');
  await manager.choose('Into the team', 'Volunteers (may label)', 'Invitations');
  await manager.fill('For how many people', '2', 'Invitations');
  await send(manager, () => manager.press('Enter'));
  world.link = await manager.value('Link into Volunteers', 'Invitations');
  assert.match(world.link, /\/board#invitation=[\w-]{70,}$/);
}

async function join({ manager, labellers, names, link, send, name }) {
  for (const [i, labeller] of labellers.entries()) {
    await labeller.sees('Signed in as Ada Example', 'Session');
    await labeller.choose('Demo user', names[i]);
    await labeller.sees(`Signed in as ${names[i]}`, 'Session');
    await labeller.open(link);
    await labeller.sees(`Join ${name}?`);
    await labeller.sees('In the team Volunteers you may label.');
    await send(labeller, () => labeller.click('button', 'Join'));
    await labeller.sees(`You are in the project ${name} now.`, 'Messages');
    await labeller.sees('Live');
    await labeller.press('g', 'g');
    await labeller.sees('Look at the fronds.', 'Guidelines');
    await labeller.press('Escape');
  }
  await section(manager, 'Items');
  await section(manager, 'People');
  await manager.sees('2 of 2 joined', 'Invitations');
}

/** What an item is, and the digit that chooses it. One name is misleading. */
const digits = { Fern: '1', Moss: '2', Lichen: '3' };
const kindOf = (name) => (/Bracken|tongue/.test(name) ? 'Fern' : 'Moss');

/** The item that the page shows to work on; null if there is none. */
const itemShown = ({ page }) => page.evaluate(() => document.querySelector('.picture-name strong')?.textContent ?? null);

/** Says by keyboard what an item is, and that it is finished. */
async function finish(labeller, name, keyword, send) {
  await labeller.isIn('field', 'Category');
  await labeller.press(digits[kindOf(name)], 'Escape', 'w');
  await labeller.isIn('field', 'Keywords');
  await labeller.type(keyword);
  await labeller.press('Enter');
  await send(labeller, () => labeller.press('Control+Enter'));
  await labeller.sees(`“${name}”: ${kindOf(name)}.`, 'Messages');
}

async function label(world) {
  const { labellers, send } = world;
  world.by = new Map(); // who has labelled what
  for (const labeller of labellers) await labeller.press('n');
  for (const labeller of labellers) await labeller.isIn('field', 'Category'); // both have items now
  for (let turn = 0; world.by.size < imported; turn += 1) {
    const labeller = labellers[turn % 2];
    const name = await until('the next item, or that there is none', WAIT_MS, async () => {
      const shown = await itemShown(labeller);
      if (shown) return !world.by.has(shown) && shown;
      return (await labeller.shows('Nothing waits in the queue.')) && 'none';
    });
    if (name === 'none') continue;
    await finish(labeller, name, 'spores', send);
    world.by.set(name, labeller);
  }
  for (const labeller of labellers) assert.ok([...world.by.values()].includes(labeller), 'somebody has labelled nothing');
}

async function review({ manager, send, by }) {
  await go(manager, 'r');
  await manager.sees(`${imported} to review`);
  await manager.click('button', 'Oak moss', 'To review');
  await manager.press('e');
  await manager.isIn('field', 'Category');
  await manager.type('lich');
  await manager.press('Enter');
  await send(manager, () => manager.press('Control+Enter'));
  await manager.sees('“Oak moss”: corrected.', 'Messages');

  await manager.click('button', 'Star moss', 'To review');
  await manager.press('i');
  await manager.isIn('field', 'What is wrong');
  await manager.type('Say which moss.');
  await send(manager, () => manager.press('Control+Enter'));
  await manager.sees('“Star moss”: incorrect, and back to its author.', 'Messages');
  for (let left = imported - 2; left > 0; left -= 1) {
    const name = await until('the next result', WAIT_MS, () => itemShown(manager));
    await send(manager, () => manager.press('a'));
    await manager.sees(`“${name}”: correct.`, 'Messages');
  }
  await manager.sees('Nothing to review');
  await by.get('Star moss').sees('“Star moss” was found incorrect, and is kept for you: Say which moss.', 'Messages');
}

async function labelAgain({ by, send }) {
  const author = by.get('Star moss');
  await author.press('Escape', 'n');
  await author.sees('Found incorrect by Ada Example: Say which moss.');
  await finish(author, 'Star moss', 'tortula', send);
}

async function bringBack({ manager, send }) {
  await go(manager, 'm');
  await section(manager, 'Results');
  await manager.click('field', 'Choose Bracken', 'Results');
  await manager.click('button', 'Remove 1', 'Results');
  await send(manager, () => manager.click('button', 'Remove it'));
  await manager.seesNo('Bracken', 'Results');
  await send(manager, () => manager.click('button', 'Bring them back', 'Removed items'));
  await manager.sees('brought back', 'Removed items');
  await manager.sees('Bracken', 'Results');
}

async function exportResults({ manager, send, downloads }) {
  await send(manager, () => manager.click('button', 'Export', 'Exports'));
  await manager.sees(`${imported} items, `, 'Exports');
  await manager.click('button', 'Download', 'Exports');
  const file = await until('the file is downloaded', WAIT_MS, async () => (await readdir(downloads)).find((name) => name.endsWith('.csv')));
  const text = await until('all of it is there', WAIT_MS, async () => {
    const read = await readFile(path.join(downloads, file), 'utf8');
    return read.endsWith('\n') && read;
  });
  const [head, ...lines] = text.trimEnd().split(/\r?\n/);
  const columns = head.split(',');
  assert.deepEqual(columns.slice(0, 2), ['externalId', 'name']);
  const line = (id) => lines.find((other) => other.startsWith(`${id},`));
  assert.deepEqual(lines.map((other) => other.split(',')[0]).sort(), ['fern-1', 'fern-2', 'lichen-1', 'moss-1', 'moss-2']);
  assert.match(line('fern-1'), /,Bracken,.*FINISHED,Fern,.*spores/);
  assert.match(line('lichen-1'), /,Oak moss,.*FINISHED,Lichen,.*Ada Example/);
  assert.match(line('moss-1'), /,"Peat moss, dried",.*FINISHED,Moss,/);
  assert.match(line('moss-2'), /,Star moss,.*FINISHED,Moss,.*tortula/);
}
