import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blank } from '../src/board/drafts.ts';
import { board, finished, item, refused, sent, settled, unavailable, undone } from './board.js';

test('a finish that waits is given back to the form, and is not sent', async (t) => {
  const b = board(t);
  const work = await sent(b);
  await b.answer('Finish', unavailable);
  work.undoLast();
  t.mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(b.asked, []);
  const { sending, keywords } = work.draft('i');
  assert.deepEqual([sending, keywords, b.get().selected], [undefined, ['pier'], 'i']);
  assert.equal(work.finish('i'), '', 'it can be finished anew');
  await b.answer('Finish', finished);
  assert.deepEqual(b.get().held, []);
});

test('a finish that a session has ended for waits for the next one, with the same key', async (t) => {
  const b = board(t);
  const work = await sent(b);
  const before = await b.answer('Finish', { error: { graphQLErrors: [{ message: 'The token has expired.', extensions: { code: 'UNAUTHENTICATED', retryable: false } }] } });
  assert.match(b.get().notices[0].text, /not sent yet: your session has ended\. It is kept here/);
  assert.equal(work.draft('i').sending.key, before.input.idempotencyKey);
  t.mock.timers.tick(60_000);
  await settled();
  assert.deepEqual(b.asked, [], 'nothing is sent meanwhile');
  work.send();
  const after = await b.answer('Finish', finished);
  assert.equal(after.input.idempotencyKey, before.input.idempotencyKey);
  assert.deepEqual(b.get().held, []);
});

for (const [what, counts] of [
  ['is being sent, and is answered', (b) => b.answer('Finish', finished)],
  [
    'was sent, and of which an event tells',
    async (b, work) => {
      await b.answer('Finish', unavailable);
      work.follow({ type: 'FINISHED', user: { id: 'ada' }, item: { id: 'i', name: 'i', status: 'FINISHED', claim: null, efforts: { nodes: [{ id: 'e' }] } } });
    },
  ],
  [
    'was sent, before it was finished anew',
    async (b, work) => {
      await b.answer('Finish', unavailable);
      work.finish('i');
      await b.answer('Finish', { data: { finishProjectItem: { problem: { __typename: 'AlreadyFinished', effort: { id: 'e' } } } } });
    },
  ],
]) {
  test(`a finish that is taken back while it ${what} is undone, and what was typed stays`, async (t) => {
    const b = board(t);
    const work = await sent(b);
    work.undoLast();
    work.type('i', { keywords: ['pier', 'boat'] });
    await counts(b, work);
    const { input } = await b.answer('Undo', undone('i'));
    assert.equal(input.effortId, 'e');
    assert.deepEqual(b.get().held.map(({ claim }) => claim.token), ['another token']);
    assert.deepEqual(work.draft('i').keywords, ['pier', 'boat']);
    assert.equal(work.draft('i').sending, undefined);
  });
}

const event = (id, effort) => ({ type: 'FINISHED', user: { id: 'ada' }, item: { id, name: id, status: 'FINISHED', claim: null, efforts: { nodes: [{ id: effort }] } } });
const questions = (b) => b.asked.map(({ name, variables }) => [name, variables.input.effortId ?? variables.input.token]);
const texts = (b) => b.get().notices.map(({ text }) => text);

/** Finishes an item whose answer is not known, and takes it back. */
async function takenBack(b) {
  const work = await sent(b);
  work.undoLast();
  await b.answer('Finish', unavailable);
  return work;
}

for (const [what, ends] of [
  [
    'was undone',
    async (b) => {
      const work = await sent(b);
      work.undoLast();
      await b.answer('Finish', finished);
      await b.answer('Undo', undone('i'));
      return work;
    },
  ],
  [
    'was undone after an event told of it',
    async (b) => {
      const work = await takenBack(b);
      work.follow(event('i', 'e'));
      await b.answer('Undo', undone('i'));
      return work;
    },
  ],
  [
    'was refused',
    async (b) => {
      const work = await sent(b);
      work.undoLast();
      await b.answer('Finish', refused);
      return work;
    },
  ],
  [
    'was not sent before an extension was answered',
    async (b) => {
      const work = await b.open('ada', 'p', [item('i')]);
      work.type('i', { categoryId: 'c' });
      void work.extend('i', true);
      work.finish('i');
      work.undoLast();
      await b.answer('Extend', { data: { extendClaim: { item: item('i'), problem: null } } });
      return work;
    },
  ],
  [
    'cannot count any more, as the item was given back and claimed again',
    async (b) => {
      const work = await takenBack(b);
      void work.release('i');
      await b.answer('Release', { data: { releaseProjectItem: { item: { id: 'i' }, problem: null } } });
      void work.claim(1);
      const again = { ...item('i'), claim: { ...item('i').claim, token: 'another token' } };
      await b.answer('Claim', { data: { claimProjectItems: { items: [again], problem: null } } });
      return work;
    },
  ],
]) {
  test(`what another page finished is not undone here, where a finish that was taken back ${what}`, async (t) => {
    const b = board(t);
    const work = await ends(b);
    assert.deepEqual(b.get().held.map(({ id }) => id), ['i']);
    work.follow(event('i', 'e2'));
    await settled();
    assert.deepEqual(questions(b), []);
    assert.deepEqual(b.get().held, []);
  });
}

for (const [what, when] of [
  ['before it is undone', [0]],
  ['after it was undone', [1]],
  ['twice', [0, 1]],
]) {
  test(`a finish that was taken back is undone once, also if its event comes ${what}`, async (t) => {
    const b = board(t);
    const work = await sent(b);
    work.undoLast();
    await b.answer('Finish', finished);
    if (when.includes(0)) work.follow(event('i', 'e'));
    await settled();
    assert.deepEqual(questions(b), [['Undo', 'e']]);
    await b.answer('Undo', undone('i'));
    if (when.includes(1)) work.follow(event('i', 'e'));
    await settled();
    assert.deepEqual(questions(b), []);
    assert.deepEqual(b.get().held.map(({ claim }) => claim.token), ['another token']);
    assert.deepEqual(work.draft('i').keywords, ['pier']);
    assert.deepEqual(texts(b).slice(1), ['“i” is yours again.']);
  });
}

test('while a finish that was taken back is undone, nothing else is done with its item', async (t) => {
  const b = board(t);
  const work = await takenBack(b);
  work.follow(event('i', 'e'));
  work.follow({ type: 'EXPIRED', item: { id: 'i', name: 'i', status: 'NEW', claim: null } });
  void work.release('i');
  await settled();
  assert.deepEqual(questions(b), [['Undo', 'e']]);
  assert.deepEqual(b.get().held.map(({ id }) => id), ['i']);
});

test('an effort is undone once, and again if that failed', async (t) => {
  const b = board(t);
  const work = await sent(b);
  await b.answer('Finish', finished);
  b.set({ done: [{ ...b.get().done[0], until: Date.now() + 300_000 }] });
  work.undoLast();
  work.undoLast();
  await settled();
  assert.deepEqual(questions(b), [['Undo', 'e']]);
  await b.answer('Undo', unavailable);
  work.undoLast();
  await b.answer('Undo', undone('i'));
  assert.deepEqual(b.asked, []);
  assert.deepEqual(b.get().held.map(({ id }) => id), ['i']);
});

test('a finish that waits for an extension is sent after it, and the next item is claimed', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i')]);
  b.set({ connection: 'live' });
  work.type('i', { categoryId: 'c' });
  void work.extend('i', true);
  assert.equal(work.finish('i'), '');
  await b.answer('Extend', { data: { extendClaim: { item: item('i'), problem: null } } });
  assert.deepEqual(b.asked, []);
  t.mock.timers.tick(3_000);
  assert.equal((await b.answer('Finish', finished)).input.token, 'token of i');
  assert.deepEqual(b.get().held, []);
  assert.deepEqual(b.asked.map(({ name }) => name), ['Claim']);
});

test('a finish that waits for a skip is not sent when the item was skipped', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i')]);
  work.type('i', { categoryId: 'c' });
  void work.skip('i', 'TO_ME_LATER', 10);
  work.finish('i');
  await b.answer('Skip', { data: { skipProjectItem: { item: { id: 'i' }, problem: null } } });
  t.mock.timers.tick(3_000);
  await settled();
  assert.deepEqual(b.asked, []);
  assert.equal(work.draft('i').categoryId, 'c');
});

/** Finishes an item, takes it back, and finishes it anew, all before the first answer. */
async function finishedAnew(b) {
  const work = await sent(b);
  work.undoLast();
  work.type('i', { keywords: ['boat'] });
  assert.equal(work.finish('i'), '');
  await settled();
  assert.deepEqual(questions(b), [['Finish', 'token of i']]);
  return work;
}

for (const [what, answer] of Object.entries({ refused, 'not answered': unavailable })) {
  test(`what is finished anew is sent when what was taken back was ${what}`, async (t) => {
    const b = board(t);
    const work = await finishedAnew(b);
    const first = await b.answer('Finish', answer);
    t.mock.timers.tick(3_000);
    const { input } = await b.answer('Finish', finished);
    assert.deepEqual([input.token, input.keywords], ['token of i', ['boat']]);
    assert.notEqual(input.idempotencyKey, first.input.idempotencyKey);
    assert.deepEqual([b.get().held, work.draft('i')], [[], blank]);
  });
}

test('what is finished anew is sent by the new claim when what was taken back had counted and was undone', async (t) => {
  const b = board(t);
  const work = await finishedAnew(b);
  await b.answer('Finish', finished);
  t.mock.timers.tick(3_000);
  await settled();
  assert.deepEqual(questions(b), [['Undo', 'e']]);
  await b.answer('Undo', undone('i'));
  const { input } = await b.answer('Finish', finished);
  assert.deepEqual([input.token, input.keywords], ['another token', ['boat']]);
  assert.deepEqual([b.get().held, work.draft('i')], [[], blank]);
});

test('what is finished anew stays in the form for a user who has gone when the first finish was undone', async (t) => {
  const b = board(t);
  await finishedAnew(b);
  await b.answer('Finish', finished);
  await b.open('grace', 'p', []);
  await b.answer('Undo', undone('i'));
  const { keywords, sending } = b.drafts('ada', 'p').get('i');
  assert.deepEqual([keywords, sending], [['boat'], undefined]);
});

test('what is taken back of several finishes is the one that was finished last', async (t) => {
  let now = Date.now();
  t.mock.method(Date, 'now', () => ++now);
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i'), item('j')]);
  for (const id of ['i', 'j']) work.type(id, { categoryId: 'c' });
  for (const id of ['j', 'i']) assert.equal(work.finish(id), '');
  work.undoLast();
  assert.deepEqual([Boolean(work.draft('i').sending), Boolean(work.draft('j').sending)], [false, true]);
});
