import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newKey } from '../src/board/idempotency.ts';

test('keys are made over plain http too, where there is no crypto.randomUUID', (t) => {
  t.mock.method(crypto, 'randomUUID', () => assert.fail('not there'));
  const keys = new Set(Array.from({ length: 100 }, newKey));
  assert.equal(keys.size, 100);
  for (const key of keys) assert.match(key, /^[0-9a-f]{32}$/);
});
