// A project that is larger than any page shows, and how one goes from page to page of the board in it.

import { ask, go, member, work } from './board.js';
import { until } from './server.js';

/** How many items there are: enough for every page to have more than it shows, or as many as LARGE_ITEMS says. */
export const ITEMS = Number(process.env.LARGE_ITEMS ?? 300);

const IMPORT_MS = 120_000;
const WAIT_MS = 15_000;
export const FINISHED = 60; // more than a page shows of what is to be reviewed

const createText = `mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }`;
const importText = `mutation ($input: CreateProjectImportInput!) { createProjectImport(input: $input) { import { id } upload { method url headers { name value } } } }`;
const startText = `mutation ($input: StartProjectImportInput!) { startProjectImport(input: $input) { import { id } } }`;

/** Makes a project of the demo user with so many items, of which somebody has labelled some; resolves to its id. */
export async function largeProject(server, items) {
  const { createProject } = await ask(server, createText, { input: { name: 'Large', categories: ['Fern', 'Moss', 'Lichen'] } });
  const { id } = createProject.project;
  const file = ['externalId,name', ...Array.from({ length: items }, (_, i) => `leaf-${i},Leaf ${i}`), ''].join('\n');
  const { createProjectImport } = await ask(server, importText, { input: { projectId: id, format: 'CSV', bytes: file.length } });
  const { method, url, headers } = createProjectImport.upload;
  const sent = await fetch(url, { method, headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])), body: file });
  if (!sent.ok) throw new Error(`the bucket answered ${sent.status}`);
  await ask(server, startText, { input: { importId: createProjectImport.import.id } });
  await until('all items are there', IMPORT_MS, async () => {
    const { project } = await ask(server, 'query ($id: ID!) { project(id: $id) { queue { counts { total } } } }', { id });
    return project?.queue?.counts.total === items;
  });
  const labeller = await member(server, id, 'REVIEWER', 'large@example.com');
  for (let n = 0; n < FINISHED; n += 1) await work(server, id, labeller);
  await work(server, id, undefined); // of the demo user, for their history
  return id;
}

const byKey = (key) => (page) => go(page, key);
const bySection = (name) => (page) => page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click();

/**
 * The pages: what opens each; from which page one comes, the board if none is named; what is there when it has been drawn; how many questions it
 * asks at most; which of them reads rows that are counted, not listed (the figures of the day); and what shows a row, if it lists any.
 */
export const pages = [
  { name: 'Work', open: byKey('w'), there: '.work .mine', questions: 1, counted: 'Today' },
  { name: 'Board', open: byKey('b'), from: 'Work', there: '.column .tile', questions: 0 },
  { name: 'Statistics', open: byKey('s'), there: '.statistics .bars li', questions: 1 },
  { name: 'Review', open: byKey('r'), there: 'form[aria-label^="Review"]', questions: 2, row: '[aria-label="To review"] li' },
  { name: 'History', open: byKey('h'), there: '.history tbody tr', questions: 1, row: '.history tbody tr' },
  { name: 'Manage, Items', open: byKey('m'), there: '[aria-label="Imports"] .entry', questions: 2, row: '.entry' },
  { name: 'Manage, Results', open: bySection('Results'), from: 'Manage, Items', there: '.results tbody tr', questions: 3, row: '.results tbody tr' },
  { name: 'Manage, People', open: bySection('People'), from: 'Manage, Items', there: '[aria-label="Members"] tbody tr', questions: 2, row: '[aria-label="Members"] tbody tr' },
  { name: 'Manage, Guidelines', open: bySection('Guidelines'), from: 'Manage, Items', there: '[aria-label="Guidelines"] textarea', questions: 1 },
  { name: 'Manage, Rules', open: bySection('Rules'), from: 'Manage, Items', there: '[aria-label="Rules"] input', questions: 2 },
];

/** Goes to where a page is opened from; resolves when what that one shows is there. */
export async function goBefore(page, { from = 'Board' }) {
  const before = pages.find(({ name }) => name === from);
  const items = page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Items', exact: true });
  if (from === 'Manage, Items' && (await items.count())) await items.click();
  else await before.open(page);
  await page.locator(before.there).first().waitFor({ timeout: WAIT_MS });
}
