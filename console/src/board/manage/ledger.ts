// What this browser remembers of pictures on their way, over reloads: so nothing goes up twice.

/** How far a picture is: an upload was asked for, its bytes were sent, its item is made, its item was given to the project. */
export type Step = 'asked' | 'sent' | 'up' | 'in';

/** What is remembered of a picture. */
export interface Remembered {
  /** Whose it is, and how the file is known again. */
  id: string;
  /** The beginning of the idempotency keys of its mutations. */
  key: string;
  /** The item it becomes; empty until an upload was allowed. */
  itemId: string;
  step: Step;
  /** When the upload was asked for, in milliseconds. */
  at: number;
}

/** Where it is remembered. A browser that keeps nothing remembers until the page is left. */
export interface Ledger {
  /** All that begins so. */
  load(begin: string): Promise<Remembered[]>;
  put(record: Remembered): Promise<void>;
  remove(ids: string[]): Promise<void>;
}

/** What the ids of a user's pictures for a project begin with. */
export const ledgerOf = (viewer: string, project: string) => `${viewer}\n${project}\n`;

const KEPT_MS = 30 * 24 * 3600_000;
const STORE = 'pictures';

/** A ledger that lasts as long as the page. */
export function createMemoryLedger(): Ledger {
  const records = new Map<string, Remembered>();
  return {
    load: async (begin) => [...records.values()].filter(({ id }) => id.startsWith(begin)),
    put: async (record) => void records.set(record.id, { ...record }),
    remove: async (ids) => ids.forEach((id) => records.delete(id)),
  };
}

/** A ledger in IndexedDB: 10,000 pictures are too much to write into localStorage at each step. Records are kept for 30 days: the first use after that removes them. */
export function createLedger(now = Date.now): Ledger {
  const memory = createMemoryLedger();
  let opening: Promise<IDBDatabase | null> | undefined;

  /** Forgets what is too old, whoever it is of: nobody may ever open its project again. */
  function prune(database: IDBDatabase) {
    const search = database.transaction(STORE, 'readwrite').objectStore(STORE).openCursor();
    search.onsuccess = () => {
      const cursor = search.result;
      if (!cursor) return;
      if ((cursor.value as Remembered).at < now() - KEPT_MS) cursor.delete();
      cursor.continue();
    };
  }

  const open = () =>
    (opening ??= new Promise((resolve) => {
      try {
        const request = window.indexedDB.open('taggie-board', 1);
        request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
        request.onsuccess = () => {
          prune(request.result);
          resolve(request.result);
        };
        request.onerror = () => resolve(null); // nothing is kept here
        request.onblocked = () => resolve(null);
      } catch {
        resolve(null);
      }
    }));

  /** Does something in a transaction; null when that fails. */
  async function within<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T> | void): Promise<{ result: T | undefined } | null> {
    const database = await open();
    if (!database) return null;
    return new Promise((resolve) => {
      try {
        const transaction = database.transaction(STORE, mode);
        const request = act(transaction.objectStore(STORE));
        transaction.oncomplete = () => resolve({ result: request?.result });
        transaction.onerror = transaction.onabort = () => resolve(null); // it may be full
      } catch {
        resolve(null);
      }
    });
  }

  return {
    async load(begin) {
      const kept = (await within<Remembered[]>('readonly', (store) => store.getAll(IDBKeyRange.bound(begin, `${begin}\uffff`))))?.result ?? [];
      const byId = new Map([...kept.filter(({ at }) => at >= now() - KEPT_MS), ...(await memory.load(begin))].map((record) => [record.id, record]));
      return [...byId.values()];
    },
    async put(record) {
      // Only what the database does not take stays in memory: it would hide what another tab writes later.
      if (await within('readwrite', (store) => store.put(record))) await memory.remove([record.id]);
      else await memory.put(record);
    },
    async remove(ids) {
      await memory.remove(ids);
      await within('readwrite', (store) => ids.forEach((id) => store.delete(id)));
    },
  };
}
