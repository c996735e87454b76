import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInLibrary, setsOf } from '../src/desk/files.ts';
import { createRemovals, UNDO_MS } from '../src/desk/removals.ts';
import { look } from '../src/board/manage/picked.ts';
import { settled, unavailable } from './board.js';

const file = (i, more = {}) => ({ id: `f${i}`, name: `Sheet ${i}.png`, setName: '', owner: { id: 'ada' }, withdrawnAt: null, ...more });

/** A server with these files. */
function library(files) {
  const asked = [];
  const client = {
    executeQuery: ({ query, variables }) => ({
      toPromise: async () => {
        const name = query.definitions[0].name.value;
        asked.push({ name, ...variables });
        const from = Number(variables.after ?? 0);
        const to = Math.min(from + variables.first, files.length);
        const found = { nodes: files.slice(from, to), pageInfo: { hasNextPage: to < files.length, endCursor: String(to) } };
        return { data: name === 'LibraryFiles' ? { viewer: { items: found } } : { taggedItems: found } };
      },
    }),
  };
  return { client, asked };
}

const find = (client, search) => findInLibrary(client, 'ada', { name: '', tag: '', set: '', ...search }, null, () => true);

test('files are found by a part of the name, by the whole set, and by the beginning of a tag', async () => {
  const files = [file(1, { setName: 'Coast' }), file(2, { setName: 'Coasts' }), file(3, { setName: 'coast', name: 'Moss.png' }), file(4, { owner: { id: 'bea' }, setName: 'Coast' }), null, file(5, { withdrawnAt: '2026-01-01' })];
  const { client, asked } = library(files);
  const ids = async (search) => (await find(client, search)).files.map(({ id }) => id);
  assert.deepEqual(await ids({}), ['f1', 'f2', 'f3', 'f5'], 'what was withdrawn is still the owner’s');
  assert.deepEqual(await ids({ set: ' COAST ' }), ['f1', 'f3']);
  assert.deepEqual(await ids({ set: 'coast', name: 'sheet' }), ['f1']);
  assert.deepEqual(await ids({ tag: ' fern ' }), ['f1', 'f2', 'f3', 'f5']);
  assert.deepEqual(asked.map(({ name, first, beginsWith }) => [name, first, beginsWith]), [['LibraryFiles', 50, undefined], ['LibraryFiles', 500, undefined], ['LibraryFiles', 500, undefined], ['LibraryTagged', 50, 'fern']]);
  assert.deepEqual(setsOf([file(1, { setName: 'Box 10' }), file(2), file(3, { setName: 'Box 2' }), file(4, { setName: 'Box 10' })]), ['Box 2', 'Box 10']);
});

/** Removals whose time passes when the test says so. */
function world(...answers) {
  const w = { asked: [], said: [], gone: [], dismissed: 0, timers: [] };
  const client = { mutation: (_, { input }) => ({ toPromise: async () => (w.asked.push(input), answers.shift() ?? { data: { deleteItem: { deletedItemId: input.itemId, problem: null } } }) }) };
  const wait = (act, ms) => {
    w.timers.push(ms);
    const timer = setTimeout(() => {}, 0);
    w.pass = async () => (act(), await settled());
    return timer;
  };
  const say = (kind, text, undo) => {
    w.said.push([kind, text]);
    w.undo = undo;
    return () => (w.dismissed += 1);
  };
  w.removals = createRemovals(client, { say, tell: (gone) => (w.gone = [...gone]) }, wait);
  return w;
}

test('a file goes when the time for an undo is over', async () => {
  const w = world();
  w.removals.remove('f1', 'a.png');
  w.removals.remove('f1', 'a.png');
  assert.deepEqual([w.gone, w.asked, w.timers], [['f1'], [], [UNDO_MS]]);
  await w.pass();
  assert.equal(w.asked[0].itemId, 'f1');
  assert.deepEqual([w.gone, w.dismissed, w.said.length], [['f1'], 1, 1]);
});

test('an undo keeps the file, and one that comes too late changes nothing', async () => {
  const w = world();
  w.removals.remove('f1', 'a.png');
  w.undo();
  assert.deepEqual(w.gone, []);
  w.removals.remove('f1', 'a.png');
  await w.pass();
  w.undo();
  assert.deepEqual([w.gone, w.asked.length], [['f1'], 1]);
});

test('a file that was not deleted is shown again, with the reason', async () => {
  const used = world({ data: { deleteItem: { deletedItemId: null, problem: { message: 'A score uses the item.' } } } });
  used.removals.remove('f1', 'a.png');
  await used.pass();
  assert.deepEqual([used.gone, used.said.at(-1)], [[], ['bad', '“a.png” was not deleted. A score uses the item.']]);
  const away = world(unavailable);
  away.removals.remove('f1', 'a.png');
  await away.pass();
  assert.deepEqual([away.gone, away.said.at(-1)], [[], ['bad', '“a.png” was not deleted. Later. Try again in a moment.']]);
});

test('whoever signs in next deletes nothing of the user before', () => {
  const w = world();
  w.removals.remove('f1', 'a.png');
  w.removals.clear();
  w.undo();
  assert.deepEqual([w.gone, w.asked], [[], []]);
});

test('a library takes files of all kinds, with longer names than items of projects have', () => {
  const made = (name, type = '') => ({ path: name, file: new File(['abc'], name, { type }) });
  const looked = look([made('a.pdf', 'application/pdf'), made('b.png'), made('c'), made(`${'x'.repeat(250)}.txt`, 'text/plain'), made(`${'y'.repeat(252)}.txt`)], 'all');
  const types = Object.fromEntries(looked.map(({ name, type, fault }) => [name.slice(0, 5), fault || type]));
  assert.deepEqual(types, { 'a.pdf': 'application/pdf', 'b.png': 'image/png', c: 'application/octet-stream', xxxxx: 'text/plain', yyyyy: 'Its name is longer than 255 characters.' });
});
