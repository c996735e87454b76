// Files that are deleted in a moment. The server cannot bring a file back, so the page waits until nobody has thought better of it.
import type { Client } from '@urql/core';
import { advise } from '../board/act';
import { ask } from '../board/client';
import { newKey } from '../board/idempotency';
import { sentence } from '../board/text';
import { DeleteFileDocument } from './gql/graphql';

export const UNDO_MS = 8_000;

/** What is told while files go. */
interface Teller {
  /** Says something, perhaps with what undoes it; resolves to what dismisses the message. */
  say: (kind: 'good' | 'bad', text: string, undo?: () => void) => () => void;
  /** Which files are on their way, or gone: lists leave them out. */
  tell: (gone: ReadonlySet<string>) => void;
}

/** Creates what deletes files a while after it was asked. Who leaves the page before that keeps them. */
export function createRemovals(client: Client, { say, tell }: Teller, wait = setTimeout) {
  const waiting = new Map<string, ReturnType<typeof setTimeout>>();
  let gone: ReadonlySet<string> = new Set();

  function mark(id: string, isGone: boolean) {
    const next = new Set(gone);
    if (isGone) next.add(id);
    else next.delete(id);
    tell((gone = next));
  }

  /** Deletes it now. The key stays the same when the answer was lost. */
  async function remove(id: string, name: string, idempotencyKey = newKey()) {
    waiting.delete(id);
    const { data, failure } = await ask(client, DeleteFileDocument, { input: { itemId: id, idempotencyKey } });
    const problem = failure ? advise(failure) : data.deleteItem?.problem && sentence(data.deleteItem.problem.message);
    if (!problem) return;
    mark(id, false);
    say('bad', `“${name}” was not deleted. ${problem}`);
  }

  return {
    remove(id: string, name: string) {
      if (gone.has(id)) return;
      mark(id, true);
      const dismiss = say('good', `“${name}” is deleted in ${UNDO_MS / 1000} seconds, for good.`, () => {
        clearTimeout(waiting.get(id));
        if (!waiting.delete(id)) return; // too late: it is being deleted
        mark(id, false);
      });
      waiting.set(
        id,
        wait(() => {
          dismiss();
          void remove(id, name);
        }, UNDO_MS),
      );
    },
    /** Keeps what waits: somebody else has signed in. */
    clear() {
      for (const timer of waiting.values()) clearTimeout(timer);
      waiting.clear();
      tell((gone = new Set()));
    },
  };
}

export type Removals = ReturnType<typeof createRemovals>;
