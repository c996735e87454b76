import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, fetchExchange, gql } from '@urql/core';
import { ask } from '../src/board/client';

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
