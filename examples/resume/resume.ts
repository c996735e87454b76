// Events that survive a bad connection. To copy: it needs graphql and a client of graphql-ws or graphql-sse, nothing else.

import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';
import type { Client } from 'graphql-ws';

/** What is read of a message, whatever else is selected. One without a cursor is a gap. */
export type Message = { __typename: string; cursor?: string };

/** The messages of a subscription with one field. */
export type MessageOf<Data> = NonNullable<Data[Exclude<keyof Data, '__typename'>]>;

/** How many messages wait to be taken at most. Then the subscription ends, and another one goes on behind them when all are taken. */
export const MOST_WAITING = 1_000;

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
 * The messages of `projectEvents`, `noteEvents` or `scoreEvents`, each once and in their order. When the connection is cut, it goes on
 * behind the last one that came. When the server no longer has what comes behind it, or somebody did not keep up, a gap
 * says so. Of a project, a new snapshot follows: put it in the place of what you have. Of notes and of a score, a new position follows.
 *
 * Connections are the client's business: how often it tries again, and with which token. Errors that will not pass are thrown.
 * It ends when the server says that there is nothing more to follow: the caller has left the project, or may no longer read the score. A store that is away does not end it.
 *
 * @param document has this one field, with `after: $after`, in which each type has its `__typename` and its `cursor`.
 */
export async function* resume<Data extends object, V extends { after?: string | null }>(
  client: Pick<Client, 'subscribe'>,
  document: TypedDocumentNode<Data, V>,
  variables: Omit<V, 'after'>,
  { after, signal, onRetry, onErrors, pause = withJitter }: ResumeOptions = {},
): AsyncGenerator<MessageOf<Data>, void, undefined> {
  let position = after ?? null; // behind the last message that came, whether it was taken or not
  const request = {
    query: print(document),
    // The client reads this whenever it sends the subscription, after its own reconnections too.
    get variables() {
      return { ...variables, after: position };
    },
  };
  let attempt = 0;
  let wake = () => {};
  const woken = () => new Promise<void>((resolve) => (wake = resolve));
  let unsubscribe = () => {};
  const aborted = () => {
    unsubscribe();
    wake();
  };
  signal?.addEventListener('abort', aborted);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const come: { waiting: { message: MessageOf<Data>; errors?: readonly unknown[] }[]; end?: 'full' | 'complete' | { cause: unknown } } = { waiting: [] };
      const end = (why: typeof come.end) => {
        if (come.end) return; // what follows is of the unsubscribing
        come.end = why;
        unsubscribe();
        wake();
      };
      unsubscribe = client.subscribe<Data>(request, {
        next({ data, errors }) {
          const [message] = Object.values(data ?? {}) as (MessageOf<Data> & Message)[];
          if (come.end) return;
          if (!message) return end({ cause: errors ?? new Error('the server sent no message') });
          attempt = 0;
          // After a gap the old position is of no use: cut off right then, one begins with what is still to come.
          position = message.cursor ?? null;
          if (come.waiting.push({ message, errors }) === MOST_WAITING) end('full');
          wake();
        },
        error: (cause) => end({ cause }),
        complete: () => end('complete'),
      });
      while (come.waiting.length || !come.end) {
        signal?.throwIfAborted();
        const taken = come.waiting.shift();
        if (!taken) {
          await woken();
          continue;
        }
        if (taken.errors) onErrors?.(taken.errors);
        yield taken.message;
      }
      if (come.end === 'full') continue;
      signal?.throwIfAborted(); // which has ended it
      if (come.end === 'complete') return;
      if (!passes(come.end.cause)) throw come.end.cause;
      onRetry?.(come.end.cause);
      signal?.throwIfAborted();
      const timer = setTimeout(() => wake(), pause(attempt++));
      await woken();
      clearTimeout(timer);
    }
  } finally {
    signal?.removeEventListener('abort', aborted);
    unsubscribe();
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
