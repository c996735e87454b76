import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepTo } from '../src/desk/pager.ts';

test('keys turn the pages of a score, and stop at both ends', () => {
  const steps = (at) => ['ArrowLeft', 'ArrowRight', 'Home', 'End', 'x'].map((key) => stepTo(key, at, 3));
  assert.deepEqual(steps(0), [0, 1, 0, 2, null]);
  assert.deepEqual(steps(1), [0, 2, 0, 2, null]);
  assert.deepEqual(steps(2), [1, 2, 0, 2, null]);
});
