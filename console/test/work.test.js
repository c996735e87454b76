import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blank } from '../src/board/drafts.ts';
import { PAUSED } from '../src/board/state.ts';
import { board, finished, item, refused, sent, settled, shown, unavailable, undone } from './board.js';

for (const [user, id] of [
  ['grace', 'p'],
  ['ada', 'q'],
]) {
  test(`a finish that is answered when ${id} of ${user} is shown counts, and shows nothing there`, async (t) => {
    const b = board(t);
    await sent(b);
    await b.open(user, id, [item('other')]);
    const before = shown(b.get());
    await b.answer('Finish', finished);
    assert.deepEqual(shown(b.get()), before);
    assert.deepEqual(b.drafts('ada', 'p').ids(), []);
    assert.deepEqual(b.asked, [], 'nothing is claimed for somebody else');
  });

  test(`a finish that cannot be sent while ${id} of ${user} is shown is sent again by its user, with its key`, async (t) => {
    const b = board(t);
    await sent(b);
    await b.open(user, id, [item('other')]);
    const before = shown(b.get());
    const first = await b.answer('Finish', unavailable);
    t.mock.timers.tick(60_000);
    await settled();
    assert.deepEqual(shown(b.get()), before);
    assert.deepEqual(b.asked, [], 'nobody else sends it');

    await b.open('ada', 'p', [item('i')]);
    assert.deepEqual(await b.answer('Finish', finished), first);
    assert.deepEqual(b.get().done.map(({ itemId }) => itemId), ['i']);
    assert.deepEqual(b.drafts('ada', 'p').ids(), []);
  });
}

for (const [what, answer] of Object.entries({
  refused,
  'too late': { data: { finishProjectItem: { effort: null, problem: { __typename: 'LeaseLost', message: '', current: { claim: null } } } } },
})) {
  test(`a finish that was ${what} while somebody else is shown leaves its draft to its user`, async (t) => {
    const b = board(t);
    await sent(b);
    await b.open('grace', 'p', []);
    const before = shown(b.get());
    await b.answer('Finish', answer);
    assert.deepEqual(shown(b.get()), before);
    assert.deepEqual(b.drafts('grace', 'p').ids(), []);
    const draft = b.drafts('ada', 'p').get('i');
    assert.deepEqual([draft.categoryId, draft.keywords, draft.sending], ['c', ['pier'], undefined]);
  });
}

for (const [what, leaves] of Object.entries({ 'goes on to the next form': false, 'stays out of forms after Esc, until the next finish': true })) {
  test(`when a finish is answered, the cursor ${what}`, async (t) => {
    const b = board(t);
    const work = await b.open('ada', 'p', [item('i'), item('j')]);
    work.type('i', { categoryId: 'c' });
    work.finish('i');
    if (leaves) work.leaveForm();
    await b.answer('Finish', finished);
    assert.deepEqual([b.get().selected, b.get().toForm], ['j', !leaves]);

    work.type('j', { categoryId: 'c' });
    work.finish('j');
    await b.answer('Finish', { data: { finishProjectItem: { effort: { id: 'e2', finishedAt: '2026-01-01T00:01:00.000Z' }, problem: null } } });
    assert.equal(b.get().toForm, true);
  });
}

test('what is typed while a finish is on its way outlives its refusal', async (t) => {
  const b = board(t);
  const work = await sent(b);
  work.type('i', { keywords: ['pier', 'boat'] });
  await b.answer('Finish', refused);
  assert.deepEqual(b.drafts('ada', 'p').get('i').keywords, ['pier', 'boat']);
});

test('items that were claimed for somebody who has gone are not shown to the next one, who can claim', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', []);
  void work.claim(1);
  const next = await b.open('grace', 'p', []);
  void next.claim(1);
  await b.answer('Claim', { data: { claimProjectItems: { items: [item('of ada')], problem: null } } });
  assert.deepEqual(b.get().held, []);
  assert.equal(b.get().busy, 'claim', 'grace is still asking');
  await b.answer('Claim', { data: { claimProjectItems: { items: [item('of grace')], problem: null } } });
  assert.deepEqual(b.get().held.map(({ id }) => id), ['of grace']);
});

test('what was undone for somebody who has gone is in the form when he comes back', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', []);
  void work.undo('e');
  await b.open('grace', 'p', []);
  const before = shown(b.get());
  await b.answer('Undo', { data: { undoFinish: { item: item('i'), effort: { category: { id: 'c' }, subcategory: null, keywords: ['pier'] }, problem: null } } });
  assert.deepEqual(shown(b.get()), before);
  assert.deepEqual(b.drafts('ada', 'p').get('i').keywords, ['pier']);
  assert.deepEqual(b.drafts('grace', 'p').get('i'), blank);
});

test('a release that is answered late drops nothing of somebody else', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i')]);
  void work.release('i');
  await b.open('grace', 'p', [item('i')]);
  const before = shown(b.get());
  await b.answer('Release', { data: { releaseProjectItem: { item: { id: 'i' }, problem: null } } });
  assert.deepEqual(shown(b.get()), before);
});

for (const [what, answer, asks] of [
  ['is tried again while it passes', unavailable, true],
  ['is not when it was refused', refused, false],
  ['is not when the project is none of the user any more', { data: { project: null } }, false],
]) {
  test(`a look at what is in hands ${what}`, async (t) => {
    const b = board(t);
    const work = await b.open('ada', 'p', [item('i')]);
    void work.load();
    await b.answer('Claims', answer);
    t.mock.timers.tick(3_000);
    await settled();
    assert.deepEqual(b.asked.map(({ name }) => name), asks ? ['Claims'] : []);
    assert.deepEqual(b.get().held.map(({ id }) => id), ['i']);
  });
}

test('a look at what is in hands that began before a claim does not take the item away', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', []);
  void work.load();
  void work.claim(1);
  await b.answer('Claim', { data: { claimProjectItems: { items: [item('i')], problem: null } } });
  await b.answer('Claims', { data: { project: { viewerClaims: [] } } });
  assert.deepEqual(b.get().held.map(({ id }) => id), ['i']);
  await b.answer('Claims', { data: { project: { viewerClaims: [item('i'), item('j')] } } });
  assert.deepEqual(b.get().held.map(({ id }) => id), ['i', 'j']);
});

test('that a finish is not sent is no news when it was sent', async (t) => {
  const b = board(t);
  await sent(b);
  await b.answer('Finish', unavailable);
  assert.match(b.get().notices[0].text, /is not sent yet/);
  t.mock.timers.tick(3_000);
  await b.answer('Finish', finished);
  assert.deepEqual(b.get().notices.map(({ text }) => text), ['“i”: Music.']);
});

test('one message tells of all items that ran out, until others are claimed', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i'), item('j'), item('k')]);
  work.type('i', { categoryId: 'c' });
  work.follow({ type: 'EXPIRED', item: { id: 'i', name: 'i', status: 'NEW', claim: null } });
  // The others ran out while nothing was heard: the claims of the test are from the past.
  void work.load();
  await b.answer('Claims', { data: { project: { viewerClaims: [] } } });
  assert.deepEqual(b.get().expired, ['i', 'j', 'k']);
  assert.deepEqual(b.get().notices, []);
  assert.deepEqual(b.get().kept.map(({ id }) => id), ['i']);
  void work.claim(3);
  await b.answer('Claim', { data: { claimProjectItems: { items: [item('i')], problem: null } } });
  assert.deepEqual([b.get().expired, b.get().kept], [[], []]);
});

test('after a skip nothing is undone by the first press', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i'), item('j')]);
  b.set({ done: [{ effortId: 'e', itemId: 'h', name: 'h', category: 'Music', until: Date.now() + 300_000 }] });
  void work.skip('i', 'TO_OTHERS');
  await b.answer('Skip', { data: { skipProjectItem: { item: { id: 'i' }, problem: null } } });
  work.undoLast();
  assert.equal(b.get().notices.at(-1).text, 'A skip cannot be undone: only a finish can. Press u again to undo the finish of “h”.');
  await settled();
  assert.deepEqual(b.asked.filter(({ name }) => name === 'Undo'), []);
  work.undoLast();
  assert.equal((await b.answer('Undo', undone('h'))).input.effortId, 'e');
});

test('a claim in a paused project is answered in a sentence, until it is resumed', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', []);
  void work.claim(1);
  await b.answer('Claim', { data: { claimProjectItems: { items: null, problem: { __typename: 'ProjectPaused', message: 'the project is paused' } } } });
  assert.deepEqual(b.get().notices.map(({ kind, text }) => [kind, text]), [['bad', 'The project is paused.']]);
  b.settle(PAUSED);
  assert.deepEqual(b.get().notices, []);
});

test('the last answer is repeated for the next item, and finishes it', async (t) => {
  const b = board(t);
  const work = await b.open('ada', 'p', [item('i'), item('j'), item('k')]);
  assert.match(work.repeat('i'), /no answer to repeat/);
  work.type('i', { categoryId: 'c', subcategoryId: 's', keywords: ['pier'], word: 'fog' });
  assert.equal(work.finish('i'), '');
  await b.answer('Finish', finished);
  assert.equal(work.repeat('j'), '');
  const { input } = await b.answer('Finish', finished);
  assert.deepEqual([input.itemId, input.categoryId, input.subcategoryId, input.keywords], ['j', 'c', 's', ['pier', 'fog']]);
  b.set({ project: { ...b.get().project, categories: [] } });
  assert.match(work.repeat('k'), /cannot be chosen any more/);
  assert.deepEqual(b.asked.filter(({ name }) => name === 'Finish'), []);
});
