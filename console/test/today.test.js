import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresOf, followDay, midnight } from '../src/board/today.ts';
import { unavailable } from './board.js';

const DAY = midnight(Date.UTC(2026, 4, 3, 12));
const at = (minutes) => new Date(DAY + minutes * 60_000).toISOString();
const effort = (id, minutes, more = {}) => ({ id, finishedAt: at(minutes), undoneAt: null, review: null, ...more });

test('a day begins at midnight, where the browser is', () => {
  assert.equal(new Date(DAY).getHours(), 0);
  assert.equal(midnight(DAY), DAY);
  assert.equal(midnight(DAY - 1), new Date(DAY).setDate(new Date(DAY).getDate() - 1));
});

test('what was taken back, and what was finished before, is not of the day', () => {
  const { finished, perHour } = figuresOf([effort('a', 5), effort('b', 6, { undoneAt: at(7) }), effort('c', -1)], DAY);
  assert.deepEqual([finished, perHour], [1, null]);
});

test('a rate leaves breaks out, and is not told of a few minutes', () => {
  const series = (from, count) => Array.from({ length: count }, (_, i) => effort(`${from} ${i}`, from + i));
  assert.equal(figuresOf(series(0, 5), DAY).perHour, null);
  assert.equal(figuresOf(series(0, 11), DAY).perHour, 60);
  assert.equal(figuresOf([...series(100, 11), ...series(0, 11)], DAY).perHour, 60);
});

test('the share that is right is of what was reviewed', () => {
  const found = figuresOf([effort('a', 1, { review: { verdict: 'CORRECT' } }), effort('b', 2, { review: { verdict: 'INCORRECT' } }), effort('c', 3)], DAY);
  assert.deepEqual([found.finished, found.reviewed, found.right], [3, 2, 1]);
});

/** A server with these finishes, the newest first, and a page that follows them; `settle` lets what is asked be answered. */
function follow(t, efforts) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const asked = [];
  const shown = [];
  const world = { efforts, asked, shown, answer: null };
  const client = {
    executeQuery: ({ variables }) => ({
      toPromise: async () => {
        asked.push(variables.first);
        if (world.answer) return world.answer;
        const from = Number(variables.after ?? 0);
        const to = Math.min(from + variables.first, world.efforts.length);
        const found = { nodes: world.efforts.slice(from, to), pageInfo: { hasNextPage: to < world.efforts.length, endCursor: String(to) } };
        return { data: { project: { viewerMember: { efforts: found } } } };
      },
    }),
  };
  world.page = followDay(client, 'project', DAY, (figures) => shown.push(figures));
  world.settle = async (milliseconds = 0) => {
    t.mock.timers.tick(milliseconds);
    for (let i = 0; i < 100; i += 1) await Promise.resolve();
  };
  return world;
}

const many = (count) => Array.from({ length: count }, (_, i) => effort(`e${count - i}`, (count - i) / 10));

test('a day is read to its beginning, and no further', async (t) => {
  const world = follow(t, [...many(120), ...Array.from({ length: 300 }, (_, i) => effort(`old ${i}`, -1 - i))]);
  await world.settle();
  assert.deepEqual(world.asked, [100, 100]);
  assert.deepEqual([world.shown.at(-1).finished, world.shown.at(-1).isPart], [120, false]);
});

test('of more than 1,000 finishes, the newest are read', async (t) => {
  const world = follow(t, many(1_100));
  await world.settle();
  assert.equal(world.asked.length, 10);
  assert.deepEqual([world.shown.at(-1).finished, world.shown.at(-1).isPart], [1_000, true]);
});

test('finishes one after another are one question, which they do not put off', async (t) => {
  const world = follow(t, many(50));
  await world.settle();
  world.efforts = [...many(3).map(({ id, ...more }) => ({ ...more, id: `new ${id}` })), ...world.efforts];
  for (let i = 0; i < 3; i += 1) {
    world.page.finished();
    await world.settle(500);
  }
  assert.deepEqual(world.asked, [100, 10]);
  assert.equal(world.shown.at(-1).finished, 53);

  world.efforts = world.efforts.with(0, { ...world.efforts[0], undoneAt: at(10) });
  world.page.finished();
  await world.settle(1_500);
  assert.equal(world.shown.at(-1).finished, 52);
});

test('a review of an earlier finish is found', async (t) => {
  const world = follow(t, many(50));
  await world.settle();
  world.efforts = world.efforts.with(40, { ...world.efforts[40], review: { verdict: 'CORRECT' } });
  world.page.reviewed();
  await world.settle(10_000);
  assert.deepEqual([world.shown.at(-1).finished, world.shown.at(-1).right], [50, 1]);
});

test('without an answer the figures stay, and nothing is asked after the end', async (t) => {
  const world = follow(t, many(5));
  await world.settle();
  world.answer = unavailable;
  world.page.finished();
  await world.settle(1_500);
  assert.equal(world.shown.length, 1);
  world.answer = null;
  world.page.finished();
  await world.settle(1_500);
  assert.equal(world.shown.length, 2);

  world.page.finished();
  world.page.close();
  await world.settle(600_000);
  assert.equal(world.asked.length, 3);
});
