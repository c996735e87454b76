// What the browser keeps of the notes of a user: what was typed and is not saved, and the keys of what was sent without an answer.
import type { Keys } from '../board/act';
import { newKey } from '../board/idempotency';
import type { Edit } from './edit';

/** A note that was begun. */
export interface Begun {
  title: string;
  content: string;
  deadline: string;
  tags: string;
}

export const blank: Begun = { title: '', content: '', deadline: '', tags: '' };

/** Whether somebody would miss it. */
export const worthKeeping = (begun: Begun) => Object.values(begun).some((text) => text.trim());

/** Creates what is kept for a user; others of the browser do not see it. */
export function createKept(storage: Storage, viewer: string) {
  const name = (kind: string, id: string) => `taggie:note-${kind}:${viewer}:${id}`;

  function read<Kept>(key: string): Kept | null {
    try {
      return JSON.parse(storage.getItem(key) ?? 'null');
    } catch {
      return null; // written by another version
    }
  }

  /** Keeps it, or removes it if it is null; reports whether it is safe: a browser's storage may be full. */
  function put(key: string, kept: unknown): boolean {
    try {
      if (kept === null) storage.removeItem(key);
      else storage.setItem(key, JSON.stringify(kept));
      return true;
    } catch {
      return false;
    }
  }

  return {
    edit: (id: string) => read<Edit>(name('edit', id)),
    putEdit: (id: string, edit: Edit | null) => put(name('edit', id), edit),
    hasEdit: (id: string) => storage.getItem(name('edit', id)) !== null,
    begun: () => ({ ...blank, ...read<Begun>(name('edit', 'new')) }),
    putBegun: (begun: Begun | null) => put(name('edit', 'new'), begun),
    /** Keys that survive a reload: what was sent without an answer has one effect when it is sent again. */
    keys(id: string, make = newKey): Keys {
      const at = name('key', id);
      return {
        of(asked) {
          const last = read<{ asked: string; key: string }>(at);
          if (last?.asked === asked) return last.key;
          const key = make();
          put(at, { asked, key });
          return key;
        },
        settle: () => void put(at, null),
      };
    },
  };
}

export type Kept = ReturnType<typeof createKept>;
