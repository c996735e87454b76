// Queue events that survive a bad connection. To copy, with position.ts: it needs graphql and a client of graphql-ws or graphql-sse,
// nothing else.

import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';
import type { Client } from 'graphql-ws';
import { Position, type ProjectMessage } from './position.ts';

export interface ResumeOptions {
  /** The cursor of the last message that was handled, if a former run of the app kept it. */
  after?: string | null;
  /** Ends it. */
  signal?: AbortSignal;
  /** Told why the subscription is opened again, when the server ended it for something that passes. */
  onRetry?: (cause: unknown) => void;
  /** Told of what could not be read in a message: a field of it is null. */
  onErrors?: (errors: readonly unknown[]) => void;
  /** How many milliseconds to wait before a further try; `attempt` counts those since the last message, from 0. */
  pause?: (attempt: number) => number;
}

/**
 * The messages of a project, each once and in their order: a snapshot first, then events. When the connection is cut, it goes on
 * behind the last one that you took. When the server no longer has what comes behind it, or did not keep up, a `ProjectGap` says
 * so, and a new snapshot follows: put it in the place of what you have.
 *
 * Connections are the client's business: how often it tries again, and with which token. Errors that will not pass are thrown.
 * It ends when the server ends it, as when the caller's membership has changed.
 *
 * @param document has `projectEvents(projectId:, after: $after)`, in which each type has its `__typename` and its `cursor`.
 */
export async function* resume<M extends ProjectMessage, V extends { after?: string | null }>(
  client: Pick<Client, 'iterate'>,
  document: TypedDocumentNode<{ projectEvents?: M | null }, V>,
  variables: Omit<V, 'after'>,
  { after, signal, onRetry, onErrors, pause = withJitter }: ResumeOptions = {},
): AsyncGenerator<M, void, undefined> {
  const position = new Position(after);
  const request = {
    query: print(document),
    // The client reads this whenever it sends the subscription, after its own reconnections too.
    get variables() {
      return { ...variables, after: position.after };
    },
  };
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    const results = client.iterate<{ projectEvents?: M | null }>(request);
    const abort = () => void results.throw?.(signal?.reason);
    signal?.addEventListener('abort', abort);
    try {
      for await (const { data, errors } of results) {
        const message = data?.projectEvents;
        if (!message) throw errors ?? new Error('the server sent no message');
        if (errors) onErrors?.(errors);
        attempt = 0;
        if (position.take(message)) yield message;
      }
      return;
    } catch (cause) {
      if (signal?.aborted || !passes(cause)) throw cause;
      onRetry?.(cause);
    } finally {
      signal?.removeEventListener('abort', abort);
      void results.return?.(); // an aborted one is still subscribed
    }
    await sleep(pause(attempt), signal);
  }
}

/** Whether these are the errors of an operation that can be asked again: `extensions.retryable` says so. */
function passes(cause: unknown): boolean {
  return Array.isArray(cause) && cause.length > 0 && cause.every((error) => error?.extensions?.retryable === true);
}

/** Up to 0.5, 1, 2 … 30 seconds, by chance: many clients must not come back at the same moment. */
function withJitter(attempt: number): number {
  return Math.random() * Math.min(500 * 2 ** attempt, 30_000);
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
