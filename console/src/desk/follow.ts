// Follows the notes of a user as docs/clients.md says: events as they happen, and after a gap what has changed meanwhile.
import type { Client } from '@urql/core';
import { ask, describe, type Failure } from '../board/client';
import { NoteChangesDocument, NoteEventsDocument, type NoteChangesQuery, type NoteEventsSubscription } from './gql/graphql';
import type { Row } from './rows';

const AGAIN_MS = 3_000;
const ALONE_MS = 60_000; // between two looks, for a user whose notes cannot be followed

type Message = NonNullable<NoteEventsSubscription['noteEvents']>;
type Changes = NonNullable<NonNullable<NoteChangesQuery['viewer']>['noteChanges']>;

/** What is told: a note as it is now, or null for one that is gone. `stale` says that too much was missed: all is to be read again. */
export interface Listener {
  told: (id: string, row: Row | null) => void;
  stale: () => void;
  failed: (message: string) => void;
}

/** Whether it goes by itself: the server says when to ask again after too many requests. */
const isPassing = ({ again, retryAfter }: Failure) => again || retryAfter !== undefined;

const pauseOf = (failure?: Failure) => Math.max((failure?.retryAfter ?? 0) * 1000, AGAIN_MS);

/** Follows until what it returns is called. `since` is when what is shown was read, in milliseconds by the server's clock. */
export function followNotes(client: Client, since: number, { told, stale, failed }: Listener, wait = setTimeout): () => void {
  let open = true;
  let stop = () => {};
  let cursor: string | undefined;
  let isDue = true; // a run of noteChanges, at the next position
  let changedSince = new Date(since).toISOString();
  let runs = 0;
  let heard = new Set<string>(); // what events told while a page of changes is read: it may be older

  const later = (act: () => void, milliseconds = AGAIN_MS) => void wait(() => open && act(), milliseconds);

  /** Reads all that has changed since the last run; begins again where it was interrupted. */
  async function run(mine: number, after: string | null = null, then = () => {}) {
    heard = new Set();
    const { data, failure } = await ask(client, NoteChangesDocument, { changedSince, after });
    if (!open || mine !== runs) return;
    const page: Changes | null | undefined = data?.viewer?.noteChanges;
    if (!page) {
      if (failure && !isPassing(failure)) return failed(failure.message);
      return later(() => void run(mine, after, then), pauseOf(failure));
    }
    for (const node of page.nodes) {
      const [id, row] = node.__typename === 'Note' ? [node.id, node] : [node.noteId, null];
      if (!heard.has(id)) told(id, row);
    }
    if (page.pageInfo.hasNextPage) return void run(mine, page.pageInfo.endCursor, then);
    changedSince = page.syncedUntil;
    if (!page.complete) stale();
    then();
  }

  /** Asks from time to time, for a user with whom too much is shared to follow it. */
  const alone = () => void run(++runs, null, () => later(alone, ALONE_MS));

  function hear(message: Message) {
    switch (message.__typename) {
      case 'NoteGap':
        isDue = true;
        return;
      case 'NotePosition':
        if (isDue) void run(++runs);
        isDue = false;
        break;
      case 'NoteEvent':
        heard.add(message.noteId);
        told(message.noteId, message.note ?? null);
    }
    cursor = message.cursor;
  }

  function listen() {
    const again = (failure?: Failure) => {
      stop();
      later(listen, pauseOf(failure));
    };
    const subscription = client.subscription(NoteEventsDocument, { after: cursor }).subscribe(({ data, error, hasNext }) => {
      if (!open) return;
      const message = data?.noteEvents;
      // The note could not be read: it comes again after the cursor of before.
      if (error && message?.__typename === 'NoteEvent' && !message.note) return again();
      if (message) hear(message);
      const failure = error && !message ? describe(error) : undefined;
      if (failure && !isPassing(failure)) {
        stop();
        return failure.code === 'EXHAUSTED' ? alone() : failed(failure.message);
      }
      if (failure || hasNext === false) again(failure);
    });
    stop = () => subscription.unsubscribe();
  }

  listen();
  return () => {
    open = false;
    stop();
  };
}
