import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectedAs, createHolder } from '../src/board/state.ts';

test('a lost connection is lost since the first attempt that failed', () => {
  let state = { connection: 'live', cutAt: 0 };
  const told = [];
  for (const [connection, now] of [['cut', 10], ['cut', 15], ['cut', 25], ['live', 30], ['cut', 40]]) {
    state = connectedAs(state, connection, now);
    told.push(state.cutAt);
  }
  assert.deepEqual(told, [10, 10, 10, 10, 40]);
});

test('what was said of something goes when it is settled', () => {
  const { get, say, settle } = createHolder();
  say('bad', 'It was not sent.', { about: 'a' });
  say('bad', 'Another was not sent.', { about: 'b' });
  settle('a');
  assert.deepEqual(get().notices.map(({ text }) => text), ['Another was not sent.']);
});
