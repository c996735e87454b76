import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRebuilds } from '../src/board/rebuild.ts';
import { createHolder } from '../src/board/state.ts';
import { settled } from './board.js';

/** A board of a project, on a server that is rebuilding its queue as the steps say. */
function board(t, steps) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const holder = createHolder();
  holder.set({ project: { id: 'p' } });
  let asked = 0;
  const client = {
    executeQuery: () => ({
      toPromise: async () => {
        const step = steps[asked++];
        return step === 'away' ? { error: { graphQLErrors: [{ message: 'Later.', extensions: { code: 'UNAVAILABLE' } }] } } : { data: { project: { queueRebuild: step } } };
      },
    }),
  };
  return { ...holder, follow: createRebuilds(client, holder), asked: () => asked };
}

test('a rebuild is shown until it is over', async (t) => {
  const first = { itemsRead: 0, itemsTotal: null };
  const second = { itemsRead: 50, itemsTotal: 100 };
  const b = board(t, [first, second, null]);
  const over = b.follow();
  void b.follow(); // something else is unavailable too
  await settled();
  assert.deepEqual(b.get().rebuild, first);
  t.mock.timers.tick(1_000);
  await settled();
  assert.deepEqual(b.get().rebuild, second);
  t.mock.timers.tick(1_000);
  await over;
  assert.equal(b.get().rebuild, null);
  assert.equal(b.asked(), 3);
});

test('what is unavailable for another reason is asked for once', async (t) => {
  const b = board(t, [null]);
  await b.follow();
  assert.equal(b.get().rebuild, null);
  assert.equal(b.asked(), 1);
});

test('a rebuild is shown on while nobody answers, and not for ever', async (t) => {
  const last = { itemsRead: 1, itemsTotal: 2 };
  const b = board(t, [last, ...Array(30).fill('away')]);
  const over = b.follow();
  for (let asked = 1; asked <= 30; asked++) {
    await settled();
    assert.deepEqual(b.get().rebuild, last);
    assert.equal(b.asked(), asked);
    t.mock.timers.tick(1_000);
  }
  await settled();
  t.mock.timers.tick(1_000);
  await over;
  assert.equal(b.asked(), 31);
  assert.equal(b.get().rebuild, null);
});

test('the rebuild of a project that was left is not shown', async (t) => {
  const b = board(t, [{ itemsRead: 1, itemsTotal: 2 }]);
  const over = b.follow();
  b.set({ project: { id: 'another' } });
  await over;
  assert.equal(b.get().rebuild, null);
});
