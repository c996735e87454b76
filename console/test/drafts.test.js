import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blank, createDrafts, worthKeeping } from '../src/board/drafts.ts';
import { memory } from './memory.js';

const DAY = 24 * 3600_000;

test('a draft outlives the page, for its user and project', () => {
  const storage = memory();
  const draft = { ...blank, categoryId: 'c', word: 'pi', at: Date.now() };
  createDrafts(storage, 'ada', 'p').put('i', draft);
  assert.deepEqual(createDrafts(storage, 'ada', 'p').get('i'), draft);
  assert.deepEqual(createDrafts(storage, 'ada', 'p').ids(), ['i']);
  assert.deepEqual(createDrafts(storage, 'grace', 'p').get('i'), blank);
  assert.deepEqual(createDrafts(storage, 'ada', 'q').ids(), []);
});

test('old drafts and such as nobody can read go', () => {
  const now = 100 * DAY;
  const storage = memory({
    'taggie:draft:ada:p:old': JSON.stringify({ ...blank, at: now - 31 * DAY }),
    'taggie:draft:ada:p:new': JSON.stringify({ ...blank, at: now - 29 * DAY }),
    'taggie:draft:ada:p:broken': '{',
    'taggie:draft:grace:p:broken': '{',
    other: 'stays',
  });
  const drafts = createDrafts(storage, 'ada', 'p', () => now);
  assert.deepEqual(drafts.ids(), ['new']);
  assert.equal(storage.length, 3);
});

test('a full storage is told', () => {
  const storage = memory();
  storage.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  assert.equal(createDrafts(storage, 'ada', 'p').put('i', blank), false);
});

test('what somebody would miss', () => {
  assert.equal(worthKeeping(blank), false);
  assert.equal(worthKeeping({ ...blank, word: '  ' }), false);
  assert.equal(worthKeeping({ ...blank, word: 'pi' }), true);
  assert.equal(worthKeeping({ ...blank, keywords: ['pier'] }), true);
});
