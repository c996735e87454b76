import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFiles } from '../src/board/manage/library.ts';
import { unavailable } from './board.js';

const file = (i, more = {}) => ({ id: `f${i}`, name: `Sheet ${i}.png`, owner: { id: 'ada' }, withdrawnAt: null, ...more });

/** A server with these files, in pages as they are asked for. */
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
        return { data: name === 'OwnFiles' ? { viewer: { items: found } } : { taggedItems: found } };
      },
    }),
  };
  return { client, asked };
}

test('without a search, files come a page at a time', async () => {
  const { client, asked } = library(Array.from({ length: 60 }, (_, i) => file(i)));
  const first = await findFiles(client, 'ada', { name: ' ', tag: '' }, null);
  assert.deepEqual([first.files.length, first.next, asked.length], [50, '50', 1]);
  const rest = await findFiles(client, 'ada', { name: '', tag: '' }, first.next);
  assert.deepEqual([rest.files.length, rest.next], [10, null]);
});

test('a name is looked for in a bounded number of pages, whatever its case', async () => {
  const files = Array.from({ length: 10_000 }, (_, i) => file(i, i === 9_999 ? { name: 'BRACKEN.png' } : {}));
  const { client, asked } = library(files);
  const first = await findFiles(client, 'ada', { name: 'bracken', tag: '' }, null);
  assert.deepEqual([first.files.length, first.next, asked.length], [0, '4000', 8]);
  const last = await findFiles(client, 'ada', { name: 'bracken', tag: '' }, '8000');
  assert.deepEqual([last.files.map(({ name }) => name), last.next], [['BRACKEN.png'], null]);
  const overtaken = await findFiles(client, 'ada', { name: 'bracken', tag: '' }, null, () => asked.length < 14);
  assert.deepEqual([overtaken.files, asked.length], [[], 14]);
});

test('a tag is looked for by the server; what is not the user’s own, or withdrawn, or gone, is left out', async () => {
  const { client, asked } = library([file(1), file(2, { owner: { id: 'bea' } }), file(3, { withdrawnAt: '2026-01-01' }), null, file(4, { name: 'Moss.png' })]);
  const { files } = await findFiles(client, 'ada', { name: 'SHEET', tag: ' fern ' }, null);
  assert.deepEqual(files.map(({ id }) => id), ['f1']);
  assert.deepEqual([asked[0].name, asked[0].beginsWith, asked[0].authorId], ['TaggedFiles', 'fern', 'ada']);
});

test('what fails is told, and can be asked again from there', async () => {
  const client = { executeQuery: () => ({ toPromise: async () => unavailable }) };
  const { files, next, problem } = await findFiles(client, 'ada', { name: '', tag: '' }, '50');
  assert.deepEqual([files, next], [[], '50']);
  assert.match(problem, /Later\. Try again in a moment\./);
});
