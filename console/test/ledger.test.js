import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedger, ledgerOf } from '../src/board/manage/ledger.ts';
import { settled } from './board.js';

const DAY_MS = 24 * 3600_000;

/** The part of IndexedDB that the ledger needs, with these records; without isRoomy it takes no more. */
function database(t, records, isRoomy = true) {
  const rows = new Map(records.map((row) => [row.id, row]));
  const later = (request) => (setImmediate(() => request.onsuccess?.()), request);
  const store = {
    put: (row) => later({ done: rows.set(row.id, row) }),
    delete: (id) => later({ done: rows.delete(id) }),
    getAll: ({ begin }) => later({ result: [...rows.values()].filter(({ id }) => id.startsWith(begin)) }),
    openCursor() {
      const left = [...rows.values()];
      const search = {};
      const next = () => {
        const value = left.shift();
        search.result = value && { value, delete: () => rows.delete(value.id), continue: next };
        later(search);
      };
      next();
      return search;
    },
  };
  const transaction = (_, mode) => {
    const under = { objectStore: () => store };
    setImmediate(() => (isRoomy || mode === 'readonly' ? under.oncomplete?.() : under.onabort?.()));
    return under;
  };
  globalThis.window = { indexedDB: { open: () => later({ result: { transaction } }) } };
  globalThis.IDBKeyRange = { bound: (begin) => ({ begin }) };
  t.after(() => (delete globalThis.window, delete globalThis.IDBKeyRange));
  return rows;
}

const row = (project, at, step = 'in') => ({ id: `${ledgerOf('ada', project)}1.png`, key: 'k', itemId: 'i', step, at });

test('what is older than 30 days is forgotten, also of projects that nobody opens again', async (t) => {
  const now = 100 * DAY_MS;
  const rows = database(t, [row('p', now - 31 * DAY_MS), row('q', now - 31 * DAY_MS), row('r', now - 29 * DAY_MS)]);
  const ledger = createLedger(() => now);
  assert.deepEqual(await ledger.load(ledgerOf('ada', 'p')), []);
  for (let i = 0; i < 9; i += 1) await settled();
  assert.deepEqual([...rows.keys()], [row('r').id]);
});

test('what another tab has written is read, not what this tab wrote before', async (t) => {
  const rows = database(t, []);
  const ledger = createLedger(() => 0);
  await ledger.put(row('p', 0, 'asked'));
  rows.set(row('p').id, row('p', 0, 'in'));
  assert.deepEqual((await ledger.load(ledgerOf('ada', 'p'))).map(({ step }) => step), ['in']);
});

test('a database that is full leaves it to the page to remember', async (t) => {
  database(t, [row('p', 0, 'asked')], false);
  const ledger = createLedger(() => 0);
  await ledger.put(row('p', 0, 'up'));
  assert.deepEqual((await ledger.load(ledgerOf('ada', 'p'))).map(({ step }) => step), ['up']);
});
