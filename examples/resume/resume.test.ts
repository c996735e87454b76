import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { parse } from 'graphql';
import type { ExecutionResult } from 'graphql';
import { Position, type ProjectMessage } from './position.ts';
import { resume } from './resume.ts';

const document: TypedDocumentNode<{ projectEvents?: ProjectMessage | null }, { projectId: string; after?: string | null }> = parse(
  'subscription Watch($projectId: ID!, $after: EventCursor) { projectEvents(projectId: $projectId, after: $after) { __typename } }',
);
const snapshot = (cursor: string): ProjectMessage => ({ __typename: 'ProjectSnapshot', cursor });
const event = (cursor: string): ProjectMessage => ({ __typename: 'ProjectEvent', cursor });
const gap: ProjectMessage = { __typename: 'ProjectGap' };
const unavailable = [{ message: 'later', extensions: { code: 'UNAVAILABLE', retryable: true } }];

type Step = ProjectMessage | ExecutionResult | { fails: unknown } | 'resend';

/** A client that answers each subscription with the next of these scripts, and notes with which variables it was sent. */
function scripted(...scripts: Step[][]) {
  const sent: unknown[] = [];
  return {
    sent,
    async *iterate(request: { variables?: unknown }) {
      sent.push(request.variables);
      for (const step of scripts.shift() ?? assert.fail('one subscription too many')) {
        if (step === 'resend') sent.push(request.variables); // the client has connected again
        else if ('fails' in step) throw step.fails;
        else yield ('__typename' in step ? { data: { projectEvents: step } } : step) as never;
      }
    },
  };
}

async function read(client: ReturnType<typeof scripted>, options: Parameters<typeof resume>[3] = {}) {
  const messages: ProjectMessage[] = [];
  for await (const message of resume(client, document, { projectId: 'p' }, { pause: () => 0, ...options })) messages.push(message);
  return messages;
}

test('begins with a snapshot, or behind what was kept', async () => {
  const fresh = scripted([snapshot('1'), event('2')]);
  assert.deepEqual(await read(fresh), [snapshot('1'), event('2')]);
  assert.deepEqual(fresh.sent, [{ projectId: 'p', after: null }]);

  const kept = scripted([event('3')]);
  assert.deepEqual(await read(kept, { after: '2' }), [event('3')]);
  assert.deepEqual(kept.sent, [{ projectId: 'p', after: '2' }]);
});

test('a client that connects again sends the position of that moment', async () => {
  const client = scripted([snapshot('1'), event('2'), 'resend', event('3'), 'resend', event('4')]);
  await read(client);
  assert.deepEqual(client.sent.map((variables) => (variables as { after: string }).after), [null, '2', '3']);
});

test('what comes again is dropped', async () => {
  const client = scripted([snapshot('1'), event('2'), event('3'), 'resend', event('2'), event('3'), event('4')]);
  assert.deepEqual(await read(client), [snapshot('1'), event('2'), event('3'), event('4')]);
});

test('a gap is told, and the old position is not used again', async () => {
  const client = scripted([event('8'), gap, 'resend', snapshot('1'), event('2'), 'resend']);
  assert.deepEqual(await read(client, { after: '7' }), [event('8'), gap, snapshot('1'), event('2')]);
  assert.deepEqual(client.sent.map((variables) => (variables as { after: string }).after), ['7', null, '2']);
});

test('what passes is tried again behind the last message, with growing pauses', async () => {
  const attempts: number[] = [];
  const told: unknown[] = [];
  const client = scripted(
    [{ fails: unavailable }],
    [{ data: { projectEvents: null }, errors: unavailable as never }],
    [snapshot('1'), event('2'), { fails: unavailable }],
    [event('3')],
  );
  const messages = await read(client, { pause: (attempt) => (attempts.push(attempt), 0), onRetry: (cause) => told.push(cause) });
  assert.deepEqual(messages, [snapshot('1'), event('2'), event('3')]);
  assert.deepEqual(attempts, [0, 1, 0]);
  assert.equal(told.length, 3);
  assert.deepEqual(client.sent.at(-1), { projectId: 'p', after: '2' });
});

for (const [what, cause] of Object.entries({
  'an error of the operation': [{ message: 'no', extensions: { code: 'NOT_FOUND', retryable: false } }],
  'a connection that the client gave up': { code: 4401, reason: 'Unauthorized' },
  'a mistake': new TypeError('mistake'),
})) {
  test(`${what} is thrown`, async () => {
    await assert.rejects(read(scripted([snapshot('1'), { fails: cause }])), (thrown) => thrown === cause);
  });
}

test('a message that lacks a part is told, and comes', async () => {
  const told: unknown[] = [];
  const client = scripted([{ data: { projectEvents: event('1') as never }, errors: unavailable as never }]);
  assert.deepEqual(await read(client, { onErrors: (errors) => told.push(...errors) }), [event('1')]);
  assert.deepEqual(told, unavailable);
});

test('a signal ends the pause', async () => {
  const stop = new AbortController();
  const reading = read(scripted([{ fails: unavailable }]), { signal: stop.signal, pause: () => (setImmediate(() => stop.abort()), 2 ** 30) });
  await assert.rejects(reading, { name: 'AbortError' });
});

test('memory of what was seen is bounded', () => {
  const position = new Position();
  for (let i = 0; i < 1_001; i++) assert.ok(position.take(event(`${i}`)));
  assert.ok(!position.take(event('1')));
  assert.ok(position.take(event('0')), 'the oldest is forgotten');
});
