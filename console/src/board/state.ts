// What the pages of the board show, in one object that is replaced at each change.
import { isLost, type Connection } from './socket';
import { nothing, type Live } from './live';
import type { Upload } from './manage/uploads';
import type { Held, Person, Project, Verdict } from './types';

/** A message to the user; it goes by itself unless it is about something that went wrong. */
export interface Notice {
  id: number;
  kind: 'good' | 'plain' | 'bad';
  text: string;
  /** The effort that "Undo" takes back. */
  undo?: { effortId: string; until: number };
  /** What it tells of: settled, it is no news any more. */
  about?: string;
}

/** An item that was finished a moment ago. */
export interface Done {
  effortId: string;
  itemId: string;
  name: string;
  category: string;
  until: number;
}

/** An item that the user reviewed a moment ago. */
export interface Reviewed {
  item: Held;
  verdict: Verdict;
  comment: string;
}

/** What was typed about an item that is not the user's any more. */
export interface Kept {
  id: string;
  name: string;
  reason: string;
}

export interface State {
  /** What there is to show. */
  phase: 'starting' | 'anonymous' | 'stranger' | 'empty' | 'ready' | 'left' | 'deleted' | 'failed';
  problem: string;
  viewer: Person | null;
  projects: Person[];
  project: Project | null;
  live: Live;
  /** Since when its events are known, in milliseconds. */
  since: number;
  connection: Connection;
  /** When the connection was lost, in milliseconds. */
  cutAt: number;
  /** How many events came after the connection was there again; null when that is no news. */
  caughtUp: number | null;
  /** The caller's items, the oldest claim first. */
  held: Held[];
  /** The one that is worked on. */
  selected: string | null;
  /** Whether the cursor is to go to the form of the selected item. */
  toForm: boolean;
  /** Whether the user has left the form by Esc since they finished or claimed: the cursor goes to no form by itself, so that single keys work. */
  hasLeft: boolean;
  kept: Kept[];
  /** Names of items that went back to the queue because they were in hand for too long, until the user has taken notice. */
  expired: string[];
  done: Done[];
  /** Why what was done last cannot be undone; empty after a finish. */
  lasting: string;
  /** What the user said in Review since the project is shown, the last first. */
  reviewed: Reviewed[];
  /** How many reviews of the user's own finishes were told since the project is shown. */
  ownReviews: number;
  notices: Notice[];
  /** Files on their way to the bucket, of any project. */
  uploads: Upload[];
  online: Person[];
  /** The version of the guidelines that the user has read last in this browser; 0 for none. */
  guidelinesRead: number;
  /** How far the rebuild of the queue is; null when there is none. */
  rebuild: { itemsRead: number; itemsTotal: number | null } | null;
  /** What is being asked, so that it is not asked twice. */
  busy: string;
}

/** What is known before a project is. */
export const noProject = {
  project: null,
  live: nothing,
  since: 0,
  held: [],
  selected: null,
  toForm: false,
  hasLeft: false,
  kept: [],
  expired: [],
  done: [],
  lasting: '',
  reviewed: [],
  ownReviews: 0,
  online: [],
  guidelinesRead: 0,
  rebuild: null,
  busy: '',
} satisfies Partial<State>;

export const start: State = {
  phase: 'starting',
  problem: '',
  viewer: null,
  projects: [],
  connection: 'connecting',
  cutAt: 0,
  caughtUp: null,
  notices: [],
  uploads: [],
  ...noProject,
};

/** The connection, and since when it is lost: another attempt that fails is no other loss. */
export const connectedAs = (before: Pick<State, 'connection' | 'cutAt'>, connection: Connection, now: number) => ({
  connection,
  cutAt: isLost(connection) && !isLost(before.connection) ? now : before.cutAt,
});

/** What messages are about that tell of a server that could not be reached, or was not ready. */
export const UNREACHED = 'unreached';

/** What messages are about that tell of a project in which nothing is handed out. */
export const PAUSED = 'paused';

const NOTICE_MS = 6_000;
const NOTICES = 3;

/** Holds the state, and tells those who listen. */
export function createHolder() {
  let state = start;
  let last = 0;
  const listeners = new Set<() => void>();

  function set(change: Partial<State>) {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  function dismiss(id: number) {
    if (state.notices.some((notice) => notice.id === id)) set({ notices: state.notices.filter((notice) => notice.id !== id) });
  }

  function say(kind: Notice['kind'], text: string, more: Pick<Notice, 'undo' | 'about'> = {}) {
    const id = ++last;
    // The same words twice are one message.
    set({ notices: [...state.notices.filter((notice) => notice.text !== text), { id, kind, text, ...more }].slice(-NOTICES) });
    if (kind !== 'bad') setTimeout(() => dismiss(id), NOTICE_MS);
  }

  /** Takes away what was said about something that is settled now. */
  function settle(about: string) {
    if (state.notices.some((notice) => notice.about === about)) set({ notices: state.notices.filter((notice) => notice.about !== about) });
  }

  return {
    get: () => state,
    set,
    say,
    settle,
    dismiss,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

export type Holder = ReturnType<typeof createHolder>;

/** Lends a holder until it is closed: then nothing is changed, told or begun through it any more. */
export function closable({ get, set, say, settle }: Holder) {
  let open = true;
  return {
    get,
    set: (change: Partial<State>) => void (open && set(change)),
    say: (...told: Parameters<typeof say>) => void (open && say(...told)),
    settle: (about: string) => void (open && settle(about)),
    /** Does it later, if it is still open then. */
    after: (milliseconds: number, act: () => void) => void setTimeout(() => open && act(), milliseconds),
    isOpen: () => open,
    close() {
      open = false;
    },
  };
}

export type Closable = ReturnType<typeof closable>;
