// Puts together who is asking, the connection, what is told of the user's notes, and files on their way. Pages read its state and call its actions.
import { ask, createBoardClient } from '../board/client';
import { serverNow } from '../board/clock';
import { createFolders } from '../board/manage/folder';
import { createLedger } from '../board/manage/ledger';
import { identity, type Session } from '../board/session';
import { connectedAs } from '../board/state';
import type { Connection } from '../board/socket';
import type { Person } from '../board/types';
import { followNotes } from './follow';
import { WhoDocument } from './gql/graphql';
import { createKept, type Kept } from './kept';
import { createRemovals } from './removals';
import { learn, type News, type Row } from './rows';

const AGAIN_MS = 3_000;
const NOTICE_MS = 8_000;
const NOTICES = 3;
const BEFORE_MS = 60_000; // changes since then may not be in what is read first

/** A message to the user; it goes by itself unless something went wrong, or can be undone. */
export interface Notice {
  id: number;
  kind: 'good' | 'bad';
  text: string;
  undo?: () => void;
}

export interface State {
  phase: 'starting' | 'anonymous' | 'stranger' | 'ready' | 'failed';
  problem: string;
  viewer: Person | null;
  /** What the browser keeps for the viewer. */
  kept: Kept;
  /** Takes the state of a note that somebody was told, or that a mutation answered; null for one that is gone. Does nothing once somebody else is signed in. */
  told: (id: string, row: Row | null) => void;
  /** Shows a message to the viewer, until what it returns is called. Does nothing once somebody else is signed in. */
  say: (kind: Notice['kind'], text: string, undo?: () => void) => () => void;
  connection: Connection;
  /** When the connection was lost, in milliseconds. */
  cutAt: number;
  notices: Notice[];
  /** What was told of notes since the page was opened. */
  news: News;
  /** The files that are deleted, or will be in a moment. */
  gone: ReadonlySet<string>;
  /** Grows when all lists are to be read again. */
  round: number;
}

/** Creates the store; nothing is asked before run(). */
export function createDesk(session: Session, storage: Storage = window.localStorage) {
  const nobody = () => ({ viewer: null, kept: createKept(storage, ''), news: new Map(), gone: new Set<string>(), ...actions() });
  const listeners = new Set<() => void>();
  const { client, socket } = createBoardClient(session, (connection) => set(connectedAs(state, connection, serverNow())), () => {});
  let asking = 0; // grows with each user
  let stop = () => {};
  let last = 0; // id of a notice
  let state: State = { phase: 'starting', problem: '', connection: 'connecting', cutAt: 0, notices: [], round: 0, ...nobody() };

  function set(change: Partial<State>) {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  const dismiss = (id: number) => set({ notices: state.notices.filter((notice) => notice.id !== id) });

  /** What pages do in the name of who is asking now: an answer that comes after the next user has signed in is not for them. */
  function actions(): Pick<State, 'told' | 'say'> {
    const mine = asking;
    return {
      told(id, row) {
        if (mine !== asking) return;
        const news = learn(state.news, id, row);
        if (news !== state.news) set({ news });
      },
      say(kind, text, undo) {
        if (mine !== asking) return () => {};
        const notice = { id: ++last, kind, text, undo };
        set({ notices: [...state.notices, notice].slice(-NOTICES) });
        if (kind === 'good' && !undo) setTimeout(() => dismiss(notice.id), NOTICE_MS);
        return () => dismiss(notice.id);
      },
    };
  }

  const removals = createRemovals(client, { say: (...message) => state.say(...message), tell: (gone) => set({ gone }) });
  const folders = createFolders({ client, ledger: createLedger(), storage });

  /** Finds out who is asking, and follows their notes. */
  async function open() {
    const mine = ++asking;
    stop();
    removals.clear();
    folders.clear();
    set({ phase: 'starting', problem: '', notices: [], ...nobody() });
    const { told, say } = state;
    const signed = (await session.authorization()) as Record<string, string>;
    if (mine !== asking) return;
    if (!signed.Authorization) return set({ phase: 'anonymous' });
    const { data, failure } = await ask(client, WhoDocument, {});
    if (mine !== asking) return;
    if (failure) {
      if (failure.again) setTimeout(() => mine === asking && void open(), AGAIN_MS);
      return set({ phase: 'failed', problem: failure.message });
    }
    const { viewer } = data;
    if (!viewer) return set({ phase: 'stranger' });
    set({ phase: 'ready', viewer: { id: viewer.id, name: viewer.name }, kept: createKept(storage, viewer.id), round: state.round + 1 });
    stop = followNotes(client, serverNow() - BEFORE_MS, {
      told,
      stale: () => set({ news: new Map(), round: state.round + 1 }),
      failed: (message) => say('bad', `Changes of others are not shown any more: ${message} Reload the page to see them.`),
    });
  }

  function run() {
    let who = identity(session.get());
    session.subscribe(() => {
      const now = identity(session.get());
      if (now === who) return;
      who = now;
      socket.terminate(); // nothing more may come in under the name of somebody who has signed out
      void open();
    });
    window.addEventListener('beforeunload', (event) => {
      if (folders.isBusy()) event.preventDefault();
    });
    void open();
  }

  return {
    get: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    client,
    run,
    dismiss,
    removeFile: removals.remove,
    /** Files on their way into the library. */
    folders,
    /** Finds out again who is asking: they have just signed up. */
    reopen: () => void open(),
  };
}

export type Desk = ReturnType<typeof createDesk>;
