import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endTour, hasSeenTour, partsOf, stepAfter, TOUR } from '../src/board/tour.ts';
import { memory } from './memory.js';

const nothing = { holds: false, hasChosen: false, hasFinished: false };

test('there are five steps, each with a key', () => {
  assert.equal(TOUR.length, 5);
  for (const step of TOUR) assert.ok(partsOf(step)[1], step);
});

test('using a key leads to the next one', () => {
  for (let step = 0; step < TOUR.length; step += 1) assert.equal(stepAfter(step, nothing), step);
  assert.equal(stepAfter(0, { ...nothing, holds: true }), 1);
  assert.equal(stepAfter(1, { ...nothing, holds: true }), 1);
  assert.equal(stepAfter(1, { ...nothing, hasChosen: true }), 2);
  assert.equal(stepAfter(1, { ...nothing, hasFinished: true }), 2); // "." chooses and finishes
  assert.equal(stepAfter(2, { ...nothing, hasFinished: true }), 3);
  assert.equal(stepAfter(4, { holds: true, hasChosen: true, hasFinished: true }), 4);
});

test('each user sees them once in a browser', () => {
  const storage = memory();
  assert.equal(hasSeenTour('ada', storage), false);
  endTour('ada', storage);
  assert.equal(hasSeenTour('ada', storage), true);
  assert.equal(hasSeenTour('grace', storage), false);
});

test('a browser that keeps nothing shows them again', () => {
  const full = {
    ...memory(),
    setItem() {
      throw new Error('full');
    },
  };
  endTour('ada', full);
  assert.equal(hasSeenTour('ada', full), false);
});
