import assert from 'node:assert/strict';
import { test } from 'node:test';
import { follow, isChanged, isConflict, merge } from '../src/desk/edit.ts';
import { followNotes } from '../src/desk/follow.ts';
import { hashOf } from '../src/desk/hooks.ts';
import { blank, createKept, worthKeeping } from '../src/desk/kept.ts';
import { arrange, learn } from '../src/desk/rows.ts';
import { fromField, tagsOf, toField } from '../src/desk/times.ts';
import { memory } from './memory.js';

const saved = (version, content, title = 'T') => ({ version, title, content });
const edit = (base, content, title = base.title) => ({ typed: { title, content }, base });

test('what was not changed follows the note, what was typed stays', () => {
  assert.deepEqual(follow(null, saved(1, 'a')), edit(saved(1, 'a'), 'a'));
  assert.deepEqual(follow(edit(saved(1, 'a'), 'a'), saved(2, 'b')), edit(saved(2, 'b'), 'b'));
  const typed = edit(saved(1, 'a'), 'mine');
  assert.equal(follow(typed, saved(2, 'b')), typed);
  assert.deepEqual([isChanged(typed), isConflict(typed, saved(1, 'a')), isConflict(typed, saved(2, 'b'))], [true, false, true]);
  assert.deepEqual(follow(typed, saved(2, 'mine')), edit(saved(2, 'mine'), 'mine'), 'both wrote the same');
  assert.equal(follow(edit(saved(3, 'a'), 'a'), saved(2, 'b')).base.version, 3, 'an old answer');
});

test('a change of tags or deadline is no conflict', () => {
  const next = follow(edit(saved(1, 'a'), 'mine'), saved(2, 'a'));
  assert.deepEqual(next, edit(saved(2, 'a'), 'mine'));
  assert.equal(isConflict(edit(saved(1, 'a'), 'mine'), saved(2, 'a')), false);
});

test('both changes are put together', () => {
  const base = saved(1, 'one\ntwo\nthree');
  const both = (mine, theirs) => {
    const { content, overlaps } = merge(edit(base, mine), saved(2, theirs));
    return [content, overlaps];
  };
  assert.deepEqual(both('ONE\ntwo\nthree', 'one\ntwo\nTHREE'), ['ONE\ntwo\nTHREE', false]);
  assert.deepEqual(both('one\ntwo\nTHREE', 'ONE\ntwo\nthree'), ['ONE\ntwo\nTHREE', false]);
  assert.deepEqual(both('one\ntwo\nthree\nfour', 'zero\none\ntwo\nthree'), ['zero\none\ntwo\nthree\nfour', false]);
  assert.deepEqual(both('one\nthree', 'one\ntwo\nthree\nfour'), ['one\nthree\nfour', false]);
  assert.deepEqual(both('one\nMINE\nthree', 'one\nTHEIRS\nthree'), ['one\nMINE\nTHEIRS\nthree', true]);
  assert.deepEqual(both('one\ntwo\nmine\nthree', 'one\ntwo\ntheirs\nthree'), ['one\ntwo\nmine\ntheirs\nthree', true]);
  assert.deepEqual(both('one\ntwo\nthree', 'x'), ['x', false]);
  assert.deepEqual(both('x', 'one\ntwo\nthree'), ['x', false]);
  assert.deepEqual(both('same', 'same'), ['same', false]);
  assert.equal(merge(edit(base, base.content, 'Mine'), saved(2, base.content)).title, 'Mine');
  assert.equal(merge(edit(base, 'x'), saved(2, base.content, 'Theirs')).title, 'Theirs');
  const { title, overlaps } = merge(edit(base, base.content, 'Mine'), saved(2, base.content, 'Theirs'));
  assert.deepEqual([title, overlaps], ['Mine / Theirs', true], 'no title is lost');
  const song = edit(saved(1, '1\n2\n3\n4\n5\n6\n7\n8'), 'one\n2\n3\n4\n5\n6\n7\neight');
  assert.deepEqual(merge(song, saved(2, '1\n2\n3\nfour\n5\n6\n7\n8', 'T')), { title: 'T', content: 'one\n2\n3\nfour\n5\n6\n7\neight', overlaps: false });
});

const row = (id, more = {}) => ({ id, version: 1, title: id, deadline: null, updatedAt: '', viewerPermission: 'OWNER', tags: [], owner: null, ...more });
const ids = (rows) => rows.map(({ id }) => id);
const mine = { list: 'mine', tag: '' };
const news = (...rows) => rows.reduce((known, told) => learn(known, told.id, told), new Map());

test('a list shows what was read, as it is now', () => {
  const read = [row('a', { deadline: '2031-01-01T00:00:00Z' }), row('b', { deadline: '2031-01-03T00:00:00Z' }), row('c')];
  assert.deepEqual(ids(arrange(mine, read, new Map(), false)), ['a', 'b', 'c']);
  assert.deepEqual(ids(arrange(mine, read, learn(new Map(), 'b', null), false)), ['a', 'c']);
  assert.deepEqual(ids(arrange(mine, read, news(row('a', { version: 2, deadline: '2031-02-01T00:00:00Z' })), false)), ['b', 'a', 'c']);
  assert.equal(arrange(mine, [row('a', { version: 3, title: 'new' })], news(row('a', { version: 2 })), false)[0].title, 'new');
});

test('a new note is shown where its place is known', () => {
  const read = [row('a', { deadline: '2031-01-01T00:00:00Z' }), row('b', { deadline: '2031-01-03T00:00:00Z' })];
  const soon = news(row('n', { deadline: '2031-01-02T00:00:00Z' }));
  const late = news(row('n', { deadline: '2031-01-09T00:00:00Z' }));
  assert.deepEqual(ids(arrange(mine, read, soon, true)), ['a', 'n', 'b']);
  assert.deepEqual(ids(arrange(mine, read, late, true)), ['a', 'b'], 'it is on a page that was not read');
  assert.deepEqual(ids(arrange(mine, read, late, false)), ['a', 'b', 'n']);
});

test('a list has what it is asked for', () => {
  const others = row('o', { viewerPermission: 'VIEW' });
  const tagged = row('t', { tags: [{ value: 'Straße ' }] });
  assert.deepEqual(ids(arrange(mine, [], news(others, tagged), false)), ['t']);
  assert.deepEqual(ids(arrange({ list: 'shared', tag: '' }, [], news(others, tagged), false)), ['o']);
  assert.deepEqual(ids(arrange({ list: 'mine', tag: 'STRASSE' }, [], news(row('x', { tags: [{ value: 'strasse' }] }), tagged, row('y')), false)), ['x', 't']);
  assert.deepEqual(ids(arrange({ list: 'mine', tag: 'strasse' }, [row('x', { tags: [{ value: 'strasse' }] })], news(row('x', { version: 2 })), false)), [], 'the tag was removed');
});

test('an older state is no news', () => {
  const known = news(row('a', { version: 2 }));
  assert.equal(learn(known, 'a', row('a', { version: 1 })), known);
  assert.notEqual(learn(known, 'a', row('a', { version: 2, viewerPermission: 'EDIT' })), known);
});

test('what was typed and the key of what was sent are kept for one user', () => {
  const storage = memory();
  const ada = createKept(storage, 'ada');
  assert.equal(ada.put('n', edit(saved(1, 'a'), 'mine')), true);
  assert.deepEqual(createKept(storage, 'ada').draft('n'), edit(saved(1, 'a'), 'mine'));
  assert.deepEqual([createKept(storage, 'bob').draft('n'), createKept(storage, 'bob').has('n'), ada.has('n')], [null, false, true]);
  ada.put('n', null);
  assert.equal(ada.has('n'), false);
  assert.deepEqual([worthKeeping(blank), worthKeeping({ ...blank, tags: 'x' })], [false, true]);

  let made = 0;
  const make = () => `k${++made}`;
  assert.equal(ada.keys('new', make).of('a'), 'k1');
  assert.equal(createKept(storage, 'ada').keys('new', make).of('a'), 'k1', 'after a reload');
  assert.equal(ada.keys('new', make).of('b'), 'k2');
  ada.keys('new', make).settle();
  assert.equal(ada.keys('new', make).of('b'), 'k3');

  const full = createKept({ ...memory(), setItem: () => { throw new Error('full'); } }, 'ada');
  const keys = full.keys('n', make);
  assert.deepEqual([full.put('n', edit(saved(1, 'a'), 'x')), keys.of('a'), keys.of('a'), keys.of('b')], [false, 'k4', 'k4', 'k5']);
  assert.equal(createKept(memory({ 'taggie:note-edit:ada:n': '{' }), 'ada').draft('n'), null);
});

/** A client that answers noteChanges from a list, and whose subscription the test feeds. */
function fakeClient(answers) {
  const asked = [];
  const subscriptions = [];
  return {
    asked,
    subscriptions,
    executeQuery: ({ variables }) => ({
      toPromise: async () => {
        asked.push(variables);
        return answers.shift();
      },
    }),
    subscription: (_, variables) => ({
      subscribe(tell) {
        const one = { variables, tell, open: true };
        subscriptions.push(one);
        return { unsubscribe: () => (one.open = false) };
      },
    }),
  };
}

const changes = (nodes, more = {}) => ({ data: { viewer: { noteChanges: { nodes, pageInfo: { hasNextPage: false, endCursor: null }, syncedUntil: '2031-01-01T00:00:00Z', complete: true, ...more } } } });
const message = (__typename, more) => ({ data: { noteEvents: { __typename, ...more } }, hasNext: true });
const failed = (code) => ({ graphQLErrors: [{ message: 'no', extensions: { code } }] });
const settled = () => new Promise((resolve) => setImmediate(resolve));

function listening(answers) {
  const client = fakeClient(answers);
  const told = [];
  const waiting = [];
  let stale = 0;
  const stop = followNotes(client, 0, { told: (id, note) => told.push([id, note?.version ?? null]), stale: () => (stale += 1), failed: (text) => told.push(text) }, (act) => waiting.push(act));
  return { client, told, waiting, stop, stale: () => stale };
}

test('events are told, and what changed before the first position is read in pages', async () => {
  const { client, told, stop } = listening([
    changes([{ __typename: 'Note', ...row('a') }], { pageInfo: { hasNextPage: true, endCursor: 'p' } }),
    changes([{ __typename: 'DeletedNote', noteId: 'b' }, { __typename: 'NoteShareEnded', noteId: 'c' }]),
    changes([{ __typename: 'Note', ...row('d') }]),
  ]);
  const [{ tell }] = client.subscriptions;
  tell(message('NotePosition', { cursor: '1' }));
  await settled();
  tell(message('NoteEvent', { cursor: '2', noteId: 'a', note: row('a', { version: 2 }) }));
  tell(message('NoteEvent', { cursor: '3', noteId: 'a', note: null }));
  tell(message('NotePosition', { cursor: '4' })); // many events of others: nothing was missed
  await settled();
  assert.deepEqual(told, [['a', 1], ['b', null], ['c', null], ['a', 2], ['a', null]]);
  assert.deepEqual(client.asked, [{ changedSince: '1970-01-01T00:00:00.000Z', after: null }, { changedSince: '1970-01-01T00:00:00.000Z', after: 'p' }]);

  tell(message('NoteGap', { message: 'missed' }));
  tell(message('NotePosition', { cursor: '5' }));
  await settled();
  assert.equal(client.asked[2].changedSince, '2031-01-01T00:00:00Z', 'from where the last run ended');
  assert.deepEqual(told.at(-1), ['d', 1]);
  stop();
  tell(message('NoteEvent', { cursor: '6', noteId: 'a', note: row('a') }));
  assert.deepEqual(told.at(-1), ['d', 1], 'nothing is told after the end');
});

test('a note that could not be read is asked for again, after the cursor of before', () => {
  const { client, told, waiting } = listening([]);
  const [{ tell }] = client.subscriptions;
  tell(message('NoteEvent', { cursor: '1', noteId: 'a', note: row('a') }));
  tell({ ...message('NoteEvent', { cursor: '2', noteId: 'b', note: null }), error: failed('UNAVAILABLE') });
  assert.deepEqual(told, [['a', 1]], 'the copy is kept');
  assert.equal(client.subscriptions[0].open, false);
  waiting.shift()();
  assert.equal(client.subscriptions[1].variables.after, '1');
});

test('what an event told is not told back by changes that were read before it', async () => {
  let answer;
  const { client, told } = listening([new Promise((resolve) => (answer = resolve))]);
  const [{ tell }] = client.subscriptions;
  tell(message('NotePosition', { cursor: '1' }));
  tell(message('NoteEvent', { cursor: '2', noteId: 'a', note: null }));
  answer(changes([{ __typename: 'Note', ...row('a') }, { __typename: 'Note', ...row('b') }]));
  await settled();
  assert.deepEqual(told, [['a', null], ['b', 1]]);
});

test('too many requests are no end: they go on when the server says', async () => {
  const error = { graphQLErrors: [{ message: 'too many', extensions: { code: 'EXHAUSTED', retryAfter: 7 } }] };
  const { client, told, waiting } = listening([{ error }, changes([{ __typename: 'Note', ...row('a') }])]);
  client.subscriptions[0].tell(message('NotePosition', { cursor: '1' }));
  await settled();
  waiting.shift()();
  await settled();
  assert.deepEqual(told, [['a', 1]]);
});

test('a run that fails for now is continued, and one that missed too much has all read again', async () => {
  const { client, waiting, stale } = listening([{ error: failed('UNAVAILABLE') }, changes([], { complete: false })]);
  client.subscriptions[0].tell(message('NotePosition', { cursor: '1' }));
  await settled();
  waiting.shift()();
  await settled();
  assert.deepEqual([client.asked.length, stale()], [2, 1]);
});

test('a user whose notes cannot be followed asks from time to time; any other refusal is told', async () => {
  const alone = listening([changes([]), changes([{ __typename: 'Note', ...row('a') }])]);
  alone.client.subscriptions[0].tell({ error: failed('EXHAUSTED') });
  await settled();
  alone.waiting.shift()();
  await settled();
  assert.deepEqual(alone.told, [['a', 1]]);
  const refused = listening([]);
  refused.client.subscriptions[0].tell({ error: failed('FORBIDDEN') });
  assert.deepEqual([refused.told, refused.waiting.length], [['no'], 0]);
  const ended = listening([]);
  ended.client.subscriptions[0].tell({ hasNext: false });
  assert.equal(ended.waiting.length, 1);
});

test('times and tags are read as they are typed', () => {
  const at = new Date(2031, 4, 4, 10, 30).toISOString();
  assert.equal(fromField('2031-05-04T10:30'), at);
  assert.equal(toField(at), '2031-05-04T10:30');
  assert.deepEqual([fromField(''), fromField('x'), toField(null)], [null, null, '']);
  assert.deepEqual(tagsOf(' sea, ,lamp,sea'), ['sea', 'lamp']);
});

test('an address has the parts that have a value', () => {
  assert.equal(hashOf({ list: '', note: 'a b', tag: 'x' }), '#note=a+b&tag=x');
});
