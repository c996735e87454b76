import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepTo } from '../src/board/ReviewGrid';

test('arrow keys go through a grid and stay in it', () => {
  const steps = { ArrowRight: 5, ArrowLeft: 3, ArrowDown: 7, ArrowUp: 1, Home: 0, End: 7, a: 4 };
  for (const [key, to] of Object.entries(steps)) assert.equal(stepTo(key, 4, 8, 3), to, key);
  assert.equal(stepTo('ArrowRight', 7, 8, 3), 7);
  assert.equal(stepTo('ArrowLeft', 0, 8, 3), 0);
  assert.equal(stepTo('ArrowUp', 2, 8, 3), 2);
  assert.equal(stepTo('ArrowDown', 6, 8, 3), 6);
});
