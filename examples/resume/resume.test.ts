import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { parse } from 'graphql';
import type { ExecutionResult } from 'graphql';
import type { FormattedExecutionResult, Sink } from 'graphql-ws';
import { type Message, MOST_WAITING, resume } from './resume.ts';

const document: TypedDocumentNode<{ projectEvents?: Message | null }, { projectId: string; after?: string | null }> = parse(
  'subscription Watch($projectId: ID!, $after: EventCursor) { projectEvents(projectId: $projectId, after: $after) { __typename } }',
);
const snapshot = (cursor: string): Message => ({ __typename: 'ProjectSnapshot', cursor });
const event = (cursor: string): Message => ({ __typename: 'ProjectEvent', cursor });
const gap: Message = { __typename: 'ProjectGap' };
const unavailable = [{ message: 'later', extensions: { code: 'UNAVAILABLE', retryable: true } }];

type Step = Message | ExecutionResult | { fails: unknown } | 'resend';

/** A client that answers each subscription with the next of these scripts, and notes with which variables it was sent. */
function scripted(...scripts: Step[][]) {
  const sent: unknown[] = [];
  return {
    sent,
    subscribe<Data, Extensions>(request: { variables?: unknown }, sink: Sink<FormattedExecutionResult<Data, Extensions>>) {
      let over = false;
      const end = (how: () => void) => {
        if (!over) how();
        over = true;
      };
      const script = scripts.shift() ?? assert.fail('one subscription too many');
      sent.push(request.variables);
      queueMicrotask(() => {
        for (const step of script) {
          if (over) return;
          if (step === 'resend') sent.push(request.variables); // the client has connected again
          else if ('fails' in step) end(() => sink.error(step.fails));
          else sink.next(('__typename' in step ? { data: { projectEvents: step } } : step) as never);
        }
        end(() => sink.complete());
      });
      return () => end(() => sink.complete());
    },
  };
}

async function read(client: ReturnType<typeof scripted>, options: Parameters<typeof resume>[3] = {}) {
  const messages: Message[] = [];
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

test('what came and was not taken is not asked for again', async () => {
  const client = scripted([snapshot('1'), event('2'), event('3'), 'resend', event('4')]);
  const messages = resume(client, document, { projectId: 'p' });
  assert.deepEqual((await messages.next()).value, snapshot('1'));
  assert.deepEqual(client.sent.at(-1), { projectId: 'p', after: '3' });
  const rest: Message[] = [];
  for await (const message of messages) rest.push(message);
  assert.deepEqual(rest, [event('2'), event('3'), event('4')]);
});

test('no more messages wait than are allowed, and none is lost or comes twice', async () => {
  const events = Array.from({ length: 1_500 }, (_, i) => event(`${i}`));
  const pushed: number[] = []; // by each subscription
  const sent: unknown[] = [];
  const client: Parameters<typeof resume>[0] = {
    subscribe(request, sink) {
      let over = false;
      const { after } = request.variables as { after: string | null };
      const at = pushed.push(0) - 1;
      sent.push(after);
      queueMicrotask(() => {
        for (const message of events.slice(after === null ? 0 : Number(after) + 1)) {
          if (over) return;
          pushed[at]! += 1;
          sink.next({ data: { projectEvents: message } } as never);
        }
        sink.complete();
      });
      return () => (over = true);
    },
  };
  const messages: Message[] = [];
  for await (const message of resume(client, document, { projectId: 'p' })) messages.push(message);
  assert.deepEqual(messages, events);
  assert.deepEqual(pushed, [MOST_WAITING, events.length - MOST_WAITING]);
  assert.deepEqual(sent, [null, `${MOST_WAITING - 1}`]);
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

test('a signal that was aborted before the pause ends it at once', async () => {
  const stop = new AbortController();
  const reading = read(scripted([{ fails: unavailable }]), { signal: stop.signal, pause: () => 2 ** 30, onRetry: () => stop.abort() });
  await assert.rejects(reading, { name: 'AbortError' });
});

test('a signal ends it while messages wait', async () => {
  const stop = new AbortController();
  const messages = resume(scripted([snapshot('1'), event('2')]), document, { projectId: 'p' }, { signal: stop.signal });
  await messages.next();
  stop.abort();
  await assert.rejects(messages.next(), { name: 'AbortError' });
});

test('a signal ends the subscription, whether the messages are taken or not', async () => {
  const stop = new AbortController();
  let ended = false;
  const client: Parameters<typeof resume>[0] = {
    subscribe(_, sink) {
      queueMicrotask(() => sink.next({ data: { projectEvents: snapshot('1') } } as never));
      return () => ((ended = true), sink.complete());
    },
  };
  const messages = resume(client, document, { projectId: 'p' }, { signal: stop.signal });
  await messages.next();
  stop.abort();
  assert.ok(ended);
  await assert.rejects(messages.next(), { name: 'AbortError' });
});

test('nothing is left behind at the signal', async () => {
  const { signal } = new AbortController();
  let most = 0;
  const client = scripted(...Array.from({ length: 20 }, () => [{ fails: unavailable }]), [snapshot('1')]);
  await read(client, { signal, onRetry: () => (most = Math.max(most, getEventListeners(signal, 'abort').length)) });
  assert.equal(most, 1);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
