import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns, lay, nothing, pace, queueNote, receive } from '../src/board/live.ts';

const counts = { total: 3, new: 2, claimed: 1, finished: 0, skipped: 0, remaining: 3 };
const ada = { id: 'ada', name: 'Ada' };
const card = (id, status, more = {}) => ({
  id, name: id, status, updatedAt: '2026-01-01T00:00:00.000Z', category: null, subcategory: null, keywords: [], claim: null, efforts: { nodes: [] }, ...more,
});
let cursors = 0;
const event = (type, item, more = {}) => ({
  __typename: 'ProjectEvent', cursor: `c${++cursors}`, type, at: '2026-01-01T00:00:10.000Z', status: item?.status ?? null, queued: 7, user: ada, author: null, counts, item, ...more,
});
const ids = (cards) => cards.map(({ id }) => id);
const effort = (review = null, undoneAt = null) => ({ nodes: [{ id: 'e', finishedAt: '2026-01-01T00:00:09.000Z', undoneAt, user: ada, review }] });

test('a snapshot sets the counts, events change them', () => {
  let live = receive(nothing, { __typename: 'ProjectSnapshot', cursor: 'c', queue: { queued: 9, size: 10, paused: false, counts } });
  assert.equal(live.queued, 9);
  live = receive(live, event('CLAIMED', card('a', 'CLAIMED'), { counts: { ...counts, claimed: 2 } }));
  assert.deepEqual([live.counts.claimed, live.queued, live.sequence], [2, 7, 1]);
  live = receive(live, event('PAUSED', null));
  assert.equal(live.paused, true);
});

test('an event that comes again changes nothing', () => {
  const once = event('FINISHED', card('a', 'FINISHED'));
  const live = receive(nothing, once);
  assert.equal(receive(live, once), live);
  assert.equal(live.finishes.length, 1);
});

test('a gap is there until the snapshot is', () => {
  let live = receive(nothing, { __typename: 'ProjectGap', message: 'Too late.' });
  assert.equal(live.gap, 'Too late.');
  live = receive(live, { __typename: 'ProjectSnapshot', cursor: 'c', queue: { queued: 1, size: 10, paused: false, counts } });
  assert.equal(live.gap, '');
});

test('items go from column to column', () => {
  let live = lay(nothing, [card('a', 'NEW'), card('b', 'NEW')], 0);
  assert.deepEqual(ids(columns(live).waiting), ['a', 'b']);
  live = receive(live, event('CLAIMED', card('a', 'CLAIMED')));
  assert.deepEqual([ids(columns(live).waiting), ids(columns(live).claimed)], [['b'], ['a']]);
  live = receive(live, event('FINISHED', card('a', 'FINISHED', { efforts: effort() })));
  assert.deepEqual(ids(columns(live).finished), ['a']);
  live = receive(live, event('REVIEWED', card('a', 'FINISHED', { efforts: effort({ verdict: 'CORRECT', comment: '', at: '', by: ada }) })));
  assert.deepEqual([ids(columns(live).finished), ids(columns(live).reviewed)], [[], ['a']]);
  live = receive(live, event('SKIPPED', card('b', 'SKIPPED')));
  assert.deepEqual(ids(columns(live).skipped), ['b']);
});

test('what is removed goes, and what is brought back comes', () => {
  let live = lay(nothing, [card('a', 'FINISHED', { efforts: effort() }), card('b', 'NEW')], 0);
  live = receive(live, event('REMOVED', null, { itemId: 'a' }));
  assert.deepEqual([ids(columns(live).finished), ids(columns(live).waiting)], [[], ['b']]);
  live = receive(live, event('RESTORED', card('a', 'FINISHED', { efforts: effort() }), { itemId: 'a' }));
  assert.deepEqual(ids(columns(live).finished), ['a']);
});

test('the status is that of the event, when the item has gone on since', () => {
  const live = receive(nothing, event('CLAIMED', card('a', 'FINISHED'), { status: 'CLAIMED' }));
  assert.deepEqual(ids(columns(live).claimed), ['a']);
});

test('a list that was asked for before an event does not undo it', () => {
  let live = lay(nothing, [card('a', 'NEW')], 0);
  const asked = live.sequence;
  live = receive(live, event('CLAIMED', card('a', 'CLAIMED')));
  live = lay(live, [card('a', 'NEW'), card('b', 'NEW')], asked);
  assert.deepEqual([ids(columns(live).waiting), ids(columns(live).claimed)], [['b'], ['a']]);
  live = lay(live, [card('b', 'NEW')], live.sequence);
  assert.deepEqual(ids(columns(live).claimed), [], 'what a later list does not have is gone');
});

test('an undone finish counts for nothing', () => {
  const undone = { efforts: effort(null, '2026-01-01T00:00:11.000Z') };
  const { finishedAt } = undone.efforts.nodes[0];
  let live = receive(nothing, event('FINISHED', card('a', 'FINISHED'), { at: finishedAt }));
  live = receive(live, event('FINISHED', card('b', 'FINISHED')));
  live = receive(live, event('UNDONE', card('a', 'CLAIMED', undone)));
  assert.deepEqual(live.finishes, [Date.parse('2026-01-01T00:00:10.000Z')]);
  live = receive(live, event('UNDONE', card('c', 'CLAIMED', undone)));
  assert.equal(live.finishes.length, 1, 'what was finished before they were counted takes none away');
});

test('finishes by minute', () => {
  const now = 600_000;
  assert.deepEqual(pace([now, now - 1, now - 60_000, now - 179_000, now - 180_000], now, 3), [1, 1, 2]);
  assert.deepEqual(pace([now + 5_000], now, 2), [0, 1], 'a clock that is ahead');
});

test('where the items are that wait outside of the queue', () => {
  const note = (queued, more) => queueNote({ ...nothing, queued, size: 1000, counts: { ...counts, new: 87 }, ...more });
  assert.equal(note(87), '87 of at most 1,000 are queued');
  assert.equal(note(86), '86 of at most 1,000 are queued, 1 kept for their author or for later');
  assert.equal(note(80, { size: 80 }), '80 of at most 80 are queued, 7 come after them');
  assert.equal(note(90), '90 of at most 1,000 are queued');
  assert.equal(note(86, { paused: true }), 'Paused');
});

test('cards by a part of their names', () => {
  const live = lay(nothing, [card('The old Harbour', 'NEW'), card('A harbour crane', 'SKIPPED'), card('A bridge', 'NEW')], 0);
  const found = columns(live, ' harbour ');
  assert.deepEqual([ids(found.waiting), ids(found.skipped)], [['The old Harbour'], ['A harbour crane']]);
});
