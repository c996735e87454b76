// What the browser keeps of the notes of a user: what was typed and is not saved, and the keys of what was sent without an answer.
import type { Keys } from '../board/act';
import { newKey } from '../board/idempotency';

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
    /** What was typed in the note of that id, or in a new one, "new"; null if there is nothing. */
    draft: <Draft>(id: string) => read<Draft>(name('edit', id)),
    put: (id: string, draft: unknown) => put(name('edit', id), draft),
    has: (id: string) => storage.getItem(name('edit', id)) !== null,
    /** Tells what another tab of the browser keeps, until what it returns is called. */
    watch<Draft>(id: string, heard: (draft: Draft | null) => void): () => void {
      const at = name('edit', id);
      const listen = ({ key, storageArea }: StorageEvent) => {
        if (key === at && storageArea === storage) heard(read<Draft>(at));
      };
      window.addEventListener('storage', listen);
      return () => window.removeEventListener('storage', listen);
    },
    /** Keys that survive a reload: what was sent without an answer has one effect when it is sent again. */
    keys(id: string, make = newKey): Keys {
      const at = name('key', id);
      let last: { asked: string; key: string } | null = null; // for a storage that is full
      return {
        of(asked) {
          const known = read<typeof last>(at) ?? last;
          last = known?.asked === asked ? known : { asked, key: make() };
          put(at, last);
          return last!.key;
        },
        settle() {
          last = null;
          put(at, null);
        },
      };
    },
  };
}

export type Kept = ReturnType<typeof createKept>;
