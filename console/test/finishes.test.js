import assert from 'node:assert/strict';
import { test } from 'node:test';
import { board, finished, sent, settled, unavailable, undone } from './board.js';

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
