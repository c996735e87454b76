import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { meros } from 'meros/browser';
import { query, startServer, until } from './server.js';

// Audits of what the specification has changed since, and what they say of our answer: docs/decisions/0030.
const superseded = {
  '423L': 'notice: Response status code is not 400', // 422: the parameter query is missing
  '86EE': 'warn: Response status code is not 400', // 422: a variable does not fit its type
};

const DEMO_MS = 60_000; // the first start loads a small demo set

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

/** Posts a body as the demo user. */
async function post(body, headers = {}) {
  const { token } = await (await fetch(`${server.origin}/session`)).json();
  return fetch(`${server.origin}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  });
}

test('a query with @defer, as meros reads it', async () => {
  await until('the demo user has notes', DEMO_MS, async () => {
    const { data } = await query(server.origin, '{ viewer { notes(first: 5) { nodes { title } } } }');
    return data?.viewer?.notes?.nodes?.length === 5;
  });
  const text = '{ viewer { name ... @defer(label: "notes") { notes(first: 5) { nodes { title ... @defer { tags { value } } } } } } }';
  const response = await post({ query: text }, { accept: 'multipart/mixed;deferSpec=20220824, application/json' });
  const parts = await meros(response);
  const bodies = [];
  for await (const part of parts) {
    assert.equal(part.json, true);
    bodies.push(part.body);
  }
  assert.equal(bodies.length, 2, 'tags are plain fields of a note');
  assert.deepEqual(bodies[0], { data: { viewer: { name: 'Ada Example' } }, hasNext: true });
  const [notes] = bodies[1].incremental;
  assert.equal(notes.label, 'notes');
  assert.deepEqual(notes.path, ['viewer']);
  assert.equal(notes.data.notes.nodes.length, 5);
  assert.equal(bodies[1].hasNext, false);

  const refused = await post({ query: text }, { accept: 'application/json' });
  assert.equal(refused.status, 406);
});

test('a document is sent once, and large answers compressed', async () => {
  const text = '{ __schema { types { name description fields { name description } } } }';
  const sha256Hash = createHash('sha256').update(text).digest('hex');
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const unknown = await (await post({ extensions })).json();
  assert.equal(unknown.errors[0].extensions.code, 'PERSISTED_QUERY_NOT_FOUND');
  assert.equal((await post({ query: text, extensions })).status, 200);
  const response = await post({ extensions });
  assert.equal(response.headers.get('content-encoding'), 'gzip');
  const { data } = await response.json();
  assert.ok(data.__schema.types.length > 100);
});
