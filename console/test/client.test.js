import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, fetchExchange, gql } from '@urql/core';
import { ask, patiently } from '../src/board/client';

test('who asks the same again gets an answer from after that', async () => {
  const answers = [];
  const fetch = () => new Promise((resolve) => answers.push((version) => resolve(new Response(JSON.stringify({ data: { version } }), { headers: { 'content-type': 'application/json' } }))));
  const client = new Client({ url: 'http://localhost/graphql', preferGetMethod: false, exchanges: [fetchExchange], fetch });
  const document = gql`
    query Version {
      version
    }
  `;
  const first = ask(client, document, {});
  const second = ask(client, document, {});
  await new Promise(setImmediate);
  assert.equal(answers.length, 2);
  answers[1](2);
  assert.equal((await second).data.version, 2);
  answers[0](1);
  assert.equal((await first).data.version, 1);
});

/** Answers with these statuses, one after the other, and with 429 after them; `waits` has how long it was waited in between. */
function busy(statuses, headers = { 'retry-after': '3' }) {
  const waits = [];
  let sent = 0;
  const send = async () => new Response(null, { status: statuses[sent++] ?? 429, headers });
  return { waits, answer: () => patiently(send, async (ms) => void waits.push(ms)), sent: () => sent };
}

test('a request that exceeds the budget is sent again when the server says so', async () => {
  const server = busy([429, 429, 200]);
  assert.equal((await server.answer()).status, 200);
  assert.deepEqual(server.waits, [3000, 3000]);
});

test('a request is given up when the budget is used up again and again, or for long, or nobody says for how long', async () => {
  const again = busy([]);
  assert.equal((await again.answer()).status, 429);
  assert.equal(again.sent(), 4);
  for (const headers of [{ 'retry-after': '600' }, {}]) {
    const long = busy([], headers);
    assert.equal((await long.answer()).status, 429);
    assert.equal(long.sent(), 1);
  }
});

test('no other refusal is asked for again', async () => {
  const server = busy([503]);
  assert.equal((await server.answer()).status, 503);
  assert.deepEqual([server.sent(), server.waits], [1, []]);
});
