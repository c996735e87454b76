import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advise, createKeys } from '../src/board/act.ts';
import { changes, merged } from '../src/board/manage/Rules.tsx';
import { fromAddress, hashOf } from '../src/board/store.ts';

test('what is asked again without an answer has the same key, anything else another one', () => {
  let made = 0;
  const keys = createKeys(() => `k${++made}`);
  assert.deepEqual([keys.of('a'), keys.of('a'), keys.of('b')], ['k1', 'k1', 'k2']);
  keys.settle();
  assert.equal(keys.of('b'), 'k3');
});

test('a failure says what to do next', () => {
  for (const code of ['', 'UNAVAILABLE', 'EXHAUSTED', 'INVALID_INPUT', 'CONFLICT', 'NOT_FOUND', 'FORBIDDEN', 'INTERNAL']) {
    assert.match(advise({ message: 'it is not so', code, again: false, field: '' }), /^It is not so\. [A-Z].+\.$/);
  }
});

test('who is no longer signed in is told to sign in', () => {
  assert.equal(advise({ message: 'you are not signed in', code: 'UNAUTHENTICATED', again: false, field: '' }), 'You are not signed in. Sign in again, then try again.');
});

test('only what may succeed later is waited for', () => {
  const full = { message: 'at most 9: delete others first', code: 'EXHAUSTED', field: '' };
  assert.equal(advise({ ...full, again: false }), 'At most 9: delete others first. Once that is done, try again.');
  assert.match(advise({ ...full, again: true }), /Wait a while, then try again\.$/);
});

const texts = { name: 'Maps', description: '', leaseMinutes: '15', queueSize: '1000', reviewPercent: '100', newcomerDays: '0', suggestedKeywords: 'pier' };

test('only what was changed is sent', () => {
  assert.deepEqual(changes(texts, texts), {});
  assert.deepEqual(changes(texts, { ...texts, name: ' Plans ', reviewPercent: '20', suggestedKeywords: 'pier\n\n fog ' }), { name: 'Plans', reviewPercent: 20, suggestedKeywords: ['pier', 'fog'] });
});

test('an emptied number is not sent', () => {
  assert.deepEqual(changes(texts, { ...texts, reviewPercent: '', newcomerDays: '3' }), { newcomerDays: 3 });
});

test('what was typed stays when the project is read again, and what others changed is told', () => {
  const typed = { ...texts, name: 'Plans', leaseMinutes: '20' };
  const now = { ...texts, name: 'Charts', reviewPercent: '50', leaseMinutes: '20' };
  assert.deepEqual(merged(texts, typed, now), { texts: { ...now, name: 'Plans' }, others: ['name', 'reviewPercent'] });
  assert.deepEqual(merged(texts, typed, texts), { texts: typed, others: [] });
});

test('an address names the section only where there is one', (t) => {
  globalThis.window = { location: { hash: '#project=p&page=manage&section=people' } };
  t.after(() => delete globalThis.window);
  assert.deepEqual(fromAddress(), { project: 'p', page: 'manage', section: 'people' });
  assert.equal(hashOf({ project: 'p', page: 'work', section: '' }), '#project=p&page=work');
});
