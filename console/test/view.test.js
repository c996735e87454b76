import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIT, fitting, held, lit, moved, turned, zoomed } from '../src/board/view.ts';

const frame = { width: 400, height: 300 };
const picture = { width: 400, height: 200 };

test('what is under the wheel stays there', () => {
  const at = { x: 100, y: -50 };
  const once = zoomed(FIT, 2, at);
  assert.deepEqual([once.zoom, once.x, once.y], [2, -100, 50]); // 100 from the middle are 200 now, moved back by 100
  const again = zoomed(once, 0.5, at);
  assert.deepEqual(again, FIT);
});

test('a picture is never smaller than it fits, nor larger than twenty times', () => {
  assert.equal(zoomed(FIT, 0.1).zoom, 1);
  assert.equal(zoomed(FIT, 1000).zoom, 20);
});

test('a picture is moved only where there is more of it', () => {
  assert.deepEqual(held(moved(FIT, 50, 50), picture, frame), FIT);
  const near = held(moved(zoomed(FIT, 2), 1000, -1000), picture, frame);
  assert.deepEqual([near.x, near.y], [200, -50]); // 800 by 400 in 400 by 300
  const across = held(moved(zoomed({ ...FIT, turn: 90 }, 2), 1000, -1000), picture, frame);
  assert.deepEqual([across.x, across.y], [0, -150]); // 300 by 600, since turned it fits at 0.75
});

test('a turned picture fits its frame', () => {
  assert.equal(fitting(0, picture, frame), 1);
  assert.equal(fitting(180, picture, frame), 1);
  assert.equal(fitting(90, picture, frame), 0.75); // 200 by 400 in 400 by 300
  assert.equal(fitting(270, { width: 0, height: 0 }, frame), 1, 'one that has not loaded');
});

test('four quarters are none, and the middle is in the middle again', () => {
  let view = { ...zoomed(FIT, 2), x: 30 };
  for (let i = 0; i < 4; i++) view = turned(view, 1);
  assert.deepEqual([view.turn, view.x], [0, 0]);
  assert.equal(turned(FIT, -1).turn, 270);
});

test('light has its bounds, and steps back are exact', () => {
  assert.equal(lit(lit(FIT, 3), -3).light, 1);
  assert.deepEqual([lit(FIT, 100).light, lit(FIT, -100).light], [2.5, 0.4]);
});
