import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forecast } from '../src/board/forecast.ts';
import { moment } from '../src/board/text.ts';

const minute = 60_000;
const now = Date.UTC(2026, 4, 3, 12);
const at = (minutes) => moment(new Date(now + minutes * minute).toISOString(), now);

/** What is told after some minutes in which one item was finished each minute. */
const told = (minutes, remaining) => forecast(Array.from({ length: 100 }, (_, i) => now - i * minute - 1).filter((time) => time > now - minutes * minute), remaining, now - minutes * minute, now);

test('a forecast needs three minutes, and tells since when is counted', () => {
  assert.equal(told(0.1, 60), '1 since you opened this page, 6 s ago. How long the rest takes can be said after three minutes.');
  assert.equal(told(2, 60), '2 since you opened this page, 2 min ago. How long the rest takes can be said after three minutes.');
  assert.match(told(6, 60), /^6 since you opened this page, 6 min ago\. At this pace the 60 that remain are done in 1 h: between /);
  assert.match(told(50, 60), /^10 in the last ten minutes\. At this pace the 60 that remain are done in 1 h: between /);
});

test('of few finishes nothing is foretold, and nothing when nothing remains', () => {
  assert.equal(told(4, 60), '4 since you opened this page, 4 min ago. That is too few to say when the 60 that remain will be done.');
  assert.equal(forecast([], 60, now - 5 * minute, now), '0 since you opened this page, 5 min ago. That is too few to say when the 60 that remain will be done.');
  assert.equal(told(6, 0), '6 since you opened this page, 6 min ago.');
});

test('the range is that of a count by chance: 4.8 to 17.2 where 10 are expected', () => {
  assert.ok(told(10, 100).includes(`in 1 h: between ${at(100 * 10 / 17.158)} and ${at(100 * 10 / 4.762)}.`), told(10, 100));
});

test('more finishes make the range smaller', () => {
  const finishes = Array.from({ length: 1_000 }, (_, i) => now - (i / 1_000) * 10 * minute);
  assert.ok(forecast(finishes, 10_000, now - 10 * minute, now).includes(`in 1 h: between ${at(94.09)} and ${at(106.49)}.`), forecast(finishes, 10_000, now - 10 * minute, now));
});

test('what ends in more than a year has no date', () => {
  assert.match(told(10, 400_000), /: not before [^:]+:\d\d[^:]*\. The range/);
  assert.match(told(10, 10_000_000), /: in more than a year\. The range/);
});
