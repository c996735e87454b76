// What was typed, kept over reloads, cut connections and lost claims, until the finish was answered.

/** What somebody has typed about an item. */
export interface Draft {
  categoryId: string;
  subcategoryId: string;
  keywords: string[];
  /** A keyword that is not complete. */
  word: string;
  /** What the item is called, for when nothing else is known of it. */
  name: string;
  /** When it was changed last, in milliseconds. */
  at: number;
  /** A finish, of that moment, that waits or was not answered: it is sent again with the same key, so that it has one effect. */
  sending?: { token: string; key: string; at: number };
}

export const blank: Draft = { categoryId: '', subcategoryId: '', keywords: [], word: '', name: '', at: 0 };

const KEPT_MS = 30 * 24 * 3600_000;

/** Whether somebody would miss it. */
export const worthKeeping = (draft: Draft) => Boolean(draft.categoryId || draft.subcategoryId || draft.keywords.length || draft.word.trim());

/** The drafts of a user in a project. */
export function createDrafts(storage: Storage, viewer: string, project: string, now = Date.now) {
  const prefix = `taggie:draft:${viewer}:${project}:`;

  function read(key: string): Draft | undefined {
    try {
      return { ...blank, ...JSON.parse(storage.getItem(key) ?? 'null') };
    } catch {
      return undefined; // written by another version
    }
  }

  function ids() {
    return Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? '')
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
  }

  for (const id of ids()) {
    const draft = read(prefix + id);
    if (!draft || draft.at < now() - KEPT_MS) storage.removeItem(prefix + id);
  }

  return {
    ids,
    get: (id: string): Draft => (storage.getItem(prefix + id) === null ? blank : (read(prefix + id) ?? blank)),
    /** Keeps it; reports whether that was possible: a browser's storage may be full. */
    put(id: string, draft: Draft): boolean {
      try {
        storage.setItem(prefix + id, JSON.stringify(draft));
        return true;
      } catch {
        return false;
      }
    },
    remove: (id: string) => storage.removeItem(prefix + id),
  };
}

export type Drafts = ReturnType<typeof createDrafts>;
