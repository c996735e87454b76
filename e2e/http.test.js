import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { startServer } from './server.js';

// Audits of what the specification has changed since, and what they say of our answer: docs/decisions/0030.
const superseded = {
  '423L': 'notice: Response status code is not 400', // 422: the parameter query is missing
  '86EE': 'warn: Response status code is not 400', // 422: a variable does not fit its type
};

let server;

before(async () => {
  server = await startServer();
});

after(() => server?.stop());

test('the audits of graphql-http', async (t) => {
  const audits = serverAudits({ url: `${server.origin}/graphql`, fetchFn: fetch });
  assert.ok(audits.length >= 61, 'there are audits');
  const found = {};
  for (const audit of audits) {
    await t.test(`${audit.id} ${audit.name}`, async () => {
      const result = await audit.fn();
      if (result.status === 'ok') return;
      found[audit.id] = `${result.status}: ${result.reason}`;
      assert.equal(found[audit.id], superseded[audit.id]);
    });
  }
  assert.deepEqual(found, superseded, 'none is listed that passes');
});
