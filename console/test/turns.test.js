import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from '../src/board/manage/turns.ts';
import { settled } from './board.js';

test('two at a time, in order; what is not wanted any more is left out, and what fails makes room', async () => {
  const turn = createTurns(2);
  const begun = [];
  const ends = [];
  const wanted = new Set([0, 1, 2, 3, 4]);
  const all = [0, 1, 2, 3, 4].map((i) =>
    turn(
      () => wanted.has(i),
      () => new Promise((resolve, reject) => (begun.push(i), ends.push(i === 0 ? () => reject(new Error('broken')) : resolve))),
    ).catch(() => {}),
  );
  await settled();
  assert.deepEqual(begun, [0, 1]);
  wanted.delete(2);
  ends[0]();
  await settled();
  assert.deepEqual(begun, [0, 1, 3]);
  ends[1]();
  await settled();
  assert.deepEqual(begun, [0, 1, 3, 4]);
  for (const end of ends) end();
  await Promise.all(all);
});
