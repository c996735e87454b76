// Puts together who is asking, the project, its events and the user's work. Pages read its state and call its actions.
import { ask, createBoardClient, describe, type Failure } from './client';
import { serverNow } from './clock';
import { createDrafts } from './drafts';
import { EventsDocument, HandsDocument, HeartbeatDocument, ListsDocument, OnlineDocument, PauseDocument, ProjectDocument, ResumeDocument, StartDocument } from './gql/graphql';
import { newKey } from './idempotency';
import { lay, receive } from './live';
import { createFolders } from './manage/folder';
import { createLedger } from './manage/ledger';
import { createUploads } from './manage/uploads';
import { createRebuilds } from './rebuild';
import { identity, type Session } from './session';
import { lastProject, rememberProject, type SettingsStore } from './settings';
import { createShelf } from './shelf';
import { connectedAs, createHolder, noProject, PAUSED, start, UNREACHED } from './state';
import { isLost, type Connection } from './socket';
import type { Card, Message, Person } from './types';
import { createWork } from './work';

const HEARTBEAT_MS = 25_000;
const AGAIN_MS = 3_000;
const RELIST_MS = 1_500;
const FEW = 8; // cards that wait: others are read before these are in hands
const WAITING_MS = 5_000;
const NEWS_MS = 6_000;
const SETTLED_MS = 1_500;

/** Creates the board's store; nothing is asked before open(). */
export function createStore(session: Session, settings: SettingsStore) {
  const holder = createHolder();
  const { get, set, say, settle } = holder;
  const { client, socket } = createBoardClient(session, connected, () => void rebuilds());
  const rebuilds = createRebuilds(client, holder);
  const workIn = (viewer: string, project: string) => createWork(client, holder, settings, project, createDrafts(localStorage, viewer, project));
  const uploads = createUploads(client, holder);
  const folders = createFolders({ client, ledger: createLedger(), storage: localStorage });
  let work = workIn('', ''); // another one for each project and user
  let round = 0; // grows with each project and user; what was asked for an earlier one is not news
  let stop = () => {};
  let counting = -1; // events since the connection is there again; -1: not counted

  function connected(connection: Connection) {
    const before = get();
    set(connectedAs(before, connection, serverNow()));
    if (before.phase !== 'ready' || connection !== 'live' || !isLost(before.connection)) return;
    counting = 0;
    settle(UNREACHED);
    work.send();
    void online(round);
    setTimeout(() => {
      const caughtUp = counting;
      counting = -1;
      set({ caughtUp });
      setTimeout(() => set({ caughtUp: null }), NEWS_MS);
    }, SETTLED_MS);
  }

  /** Leaves what is shown: answers that come later are no news. */
  function leave(): number {
    stop();
    work.close();
    clearTimeout(listing);
    listing = undefined;
    return ++round;
  }

  /** Finds out who is asking, and opens the project that the address names, the one that was shown last, one with items of the user, or the first. */
  async function open() {
    const mine = leave();
    uploads.stop();
    folders.clear();
    set({ ...start });
    const signed = (await session.authorization()) as Record<string, string>;
    if (mine !== round) return;
    if (!signed.Authorization) return set({ phase: 'anonymous' });
    const { data, failure } = await ask(client, StartDocument, {});
    if (mine !== round) return;
    if (failure) {
      if (failure.again) setTimeout(() => mine === round && void open(), AGAIN_MS);
      return set({ phase: 'failed', problem: failure.message });
    }
    if (!data.viewer) {
      wait(mine);
      return set({ phase: 'stranger' });
    }
    const projects = data.viewer.projects?.nodes ?? [];
    set({ viewer: { id: data.viewer.id, name: data.viewer.name }, projects });
    const known = (wanted: string | null | undefined) => projects.find(({ id }) => id === wanted);
    const named = known(fromAddress().project) ?? known(lastProject(data.viewer.id)) ?? known(await inHands()) ?? projects[0];
    if (mine !== round) return;
    if (!named) {
      wait(mine);
      return set({ phase: 'empty' });
    }
    toAddress({ project: named.id }, 'replace');
    await choose(named.id);
  }

  /** Looks again and again whether somebody has signed up, or was taken into a project. */
  function wait(mine: number) {
    setTimeout(async () => {
      if (mine !== round) return;
      if (document.visibilityState !== 'visible') return wait(mine);
      const { data } = await ask(client, StartDocument, {});
      if (mine !== round) return;
      const isNews = get().phase === 'stranger' ? data?.viewer : data?.viewer?.projects?.nodes.length;
      if (isNews) void open();
      else wait(mine);
    }, WAITING_MS);
  }

  /** The first project in which the user has items. */
  async function inHands() {
    const { data } = await ask(client, HandsDocument, {});
    return data?.viewer?.projects?.nodes.find(({ viewerClaims }) => viewerClaims?.length)?.id;
  }

  /** Shows another project. */
  async function choose(id: string) {
    const mine = leave();
    const notices = get().notices.filter(({ undo }) => !undo); // those are of the other project
    toAddress({ project: id });
    set({ ...noProject, notices, phase: 'starting' });
    const { data, failure } = await ask(client, ProjectDocument, { id });
    if (mine !== round) return;
    if (failure?.again) return void setTimeout(() => mine === round && void choose(id), AGAIN_MS);
    if (!data?.project) return set({ phase: 'failed', problem: failure?.message ?? 'There is no such project.' });
    work = workIn(get().viewer!.id, id);
    set({ project: data.project, phase: 'ready', guidelinesRead: createShelf(localStorage, get().viewer!.id, id).read() });
    rememberProject(get().viewer!.id, id);
    listen(mine, id);
    void lists(mine);
    void online(mine);
    await work.begin();
  }

  let rereads = 0;
  /** Shows the project as it is now. Where reading fails, what is shown stays; the next change, or a reload, reads it again. */
  async function reread(mine: number) {
    const id = get().project?.id;
    if (!id) return;
    const latest = ++rereads; // an answer that others have overtaken is not shown
    const { data } = await ask(client, ProjectDocument, { id });
    if (mine === round && latest === rereads && data?.project) set({ project: data.project });
  }

  function listen(mine: number, project: string, after?: string) {
    let cursor = after;
    const again = () => {
      stop();
      // The server ended it: a membership changed, or the queue is being rebuilt.
      setTimeout(() => mine === round && listen(mine, project, cursor), AGAIN_MS);
    };
    const subscription = client.subscription(EventsDocument, { project, after }).subscribe(({ data, error, hasNext }) => {
      if (mine !== round) return;
      const message = data?.projectEvents;
      if (message) {
        if ('cursor' in message) cursor = message.cursor;
        heard(message);
      }
      const failure = error && describe(error);
      if (failure && !message && !failure.again) return refused(failure);
      if (failure || hasNext === false) again();
    });
    stop = () => subscription.unsubscribe();
  }

  /** The server will not tell any more, however often it is asked. */
  function refused({ code, message }: Failure) {
    const left = code === 'NOT_FOUND' || code === 'FORBIDDEN';
    const { project, projects, notices } = get();
    leave();
    set({
      ...noProject,
      notices: notices.filter(({ undo }) => !undo),
      projects: left ? projects.filter(({ id }) => id !== project?.id) : projects,
      phase: left ? 'left' : 'failed',
      problem: message,
    });
  }

  function heard(message: Message) {
    const before = get().live;
    const live = receive(before, message);
    set({ live });
    if (!live.paused) settle(PAUSED);
    if (counting >= 0 && live !== before) counting += 1;
    switch (message.__typename) {
      case 'ProjectGap':
        return say('plain', 'Some events were missed; everything is being read anew.');
      case 'ProjectSnapshot':
        set({ since: serverNow() });
        // What changed between what was read and the snapshot no event tells.
        void lists(round);
        void reread(round);
        void work.load();
        return;
      case 'ProjectEvent':
        if (live === before) return;
        work.follow(message);
        if (message.type === 'IMPORTED' || message.type === 'RESTARTED') relist();
        if (message.type === 'WITHDRAWN') void work.load();
        if (message.type === 'MEMBERS') {
          void online(round);
          void reread(round); // the viewer may have another role
        }
        if (message.type === 'CATEGORIES_CHANGED' || message.type === 'GUIDELINES_CHANGED') void reread(round);
        if (message.type === 'GUIDELINES_CHANGED' && message.user?.id !== get().viewer?.id) say('plain', 'The guidelines have changed. Press g twice to read them.');
        if (message.type === 'REVIEWED' && message.author?.id === get().viewer?.id) set({ ownReviews: get().ownReviews + 1 });
        if (message.type === 'REVIEWED' && message.author?.id === get().viewer?.id && message.item?.status !== 'FINISHED') {
          say('bad', `“${message.item?.name}” was found incorrect, and is kept for you: ${message.item?.efforts?.nodes[0]?.review?.comment || 'no comment'}`);
        }
        if (waitingRunsOut()) relist();
    }
  }

  // The board knows the front of the queue only.
  function waitingRunsOut() {
    const { live } = get();
    let shown = 0;
    for (const { card } of live.cards.values()) if (card.status === 'NEW') shown += 1;
    return shown < FEW && (live.counts?.new ?? 0) > shown;
  }

  let listing: ReturnType<typeof setTimeout> | undefined;
  function relist() {
    const mine = round;
    listing ??= setTimeout(() => {
      listing = undefined;
      void lists(mine);
    }, RELIST_MS);
  }

  async function lists(mine: number) {
    const project = get().project;
    if (!project || mine !== round) return;
    const asked = get().live.sequence;
    const { data, failure } = await ask(client, ListsDocument, { project: project.id });
    if (mine !== round) return;
    if (failure?.again) return relist();
    const found = data?.project;
    if (!found) return; // the subscription says why
    const cards = [found.new, found.claimed, found.finished, found.skipped].flatMap((list): Card[] => list?.nodes ?? []);
    set({ live: lay(get().live, cards, asked) });
  }

  async function online(mine: number) {
    const project = get().project;
    if (!project || mine !== round) return;
    await ask(client, HeartbeatDocument, { input: { projectIds: [project.id] } });
    const { data } = await ask(client, OnlineDocument, { project: project.id });
    const found = data?.project?.online;
    if (mine === round && found) set({ online: found.flatMap(({ user }) => user ?? []) });
  }

  async function pause(paused: boolean) {
    const project = get().project;
    if (!project) return;
    const mine = round;
    const input = { projectId: project.id, idempotencyKey: newKey() };
    const { failure } = paused ? await ask(client, PauseDocument, { input }) : await ask(client, ResumeDocument, { input });
    if (mine !== round) return;
    if (failure) say('bad', failure.message);
    else say('plain', paused ? 'Nothing is handed out any more.' : 'Items are handed out again.');
  }

  /** Opens a project that the user has just made or brought back, for its managers. */
  async function enter(project: Person) {
    toAddress({ project: project.id, page: 'manage', section: '' });
    await join(project);
  }

  /** Opens a project that the user has just joined. */
  async function join(project: Person) {
    set({ projects: [...get().projects.filter(({ id }) => id !== project.id), project] });
    await choose(project.id);
  }

  /** Reads the project again after the user has changed it. */
  async function changed() {
    await reread(round);
    const { project, projects } = get();
    if (project) set({ projects: projects.map((other) => (other.id === project.id ? { id: other.id, name: project.name } : other)) });
  }

  /** Remembers which version of the guidelines the user has read. */
  function readGuidelines(version: number) {
    const { viewer, project, guidelinesRead } = get();
    if (!viewer || !project || version <= guidelinesRead) return;
    createShelf(localStorage, viewer.id, project.id).markRead(version);
    set({ guidelinesRead: version });
  }

  /** Leaves a project that the user has deleted. */
  function gone(id: string) {
    if (get().project?.id !== id) return;
    leave();
    set({ ...noProject, projects: get().projects.filter((project) => project.id !== id), phase: 'deleted' });
  }

  /** Whether files are on their way to the bucket, which stop when the page is left. */
  const isBusy = () => folders.isBusy() || get().uploads.some(({ problem, started }) => !problem && !started);

  /** Listens to the session and to the clock, for as long as the page is open. */
  function run() {
    let who = identity(session.get());
    session.subscribe(() => {
      const now = identity(session.get());
      if (now === who) return;
      who = now;
      socket.terminate(); // nothing more may come in under the name of somebody who has signed out
      void open();
    });
    // Back and forward, and an address that somebody edits.
    window.addEventListener('hashchange', () => {
      const { project } = fromAddress();
      if (get().projects.some(({ id }) => id === project) && get().project?.id !== project) void choose(project);
    });
    // A page that is left sends nothing any more.
    window.addEventListener('beforeunload', (event) => {
      if (isBusy()) event.preventDefault();
    });
    setInterval(() => {
      if (document.visibilityState === 'visible' || get().held.length) void online(round);
      work.watch();
    }, HEARTBEAT_MS);
    void open();
  }

  return {
    ...holder,
    /** The user's work in the project that is shown. */
    get work() {
      return work;
    },
    client,
    run,
    choose,
    enter,
    join,
    changed,
    gone,
    readGuidelines,
    pause,
    uploads,
    folders,
    isBusy,
    /** Finds out again who is asking: they have just signed up. */
    reopen: () => void open(),
  };
}

export type Store = ReturnType<typeof createStore>;

/** What the address says after "#": which project, which page, and which section of it. */
export interface Address {
  project: string;
  page: string;
  section: string;
}

export function fromAddress(): Address {
  const parts = new URLSearchParams(window.location.hash.slice(1));
  return { project: parts.get('project') ?? '', page: parts.get('page') ?? '', section: parts.get('section') ?? '' };
}

/** What stands after "#" for an address. */
export function hashOf(address: Address): string {
  const said = Object.entries(address).filter(([name, value]) => value || name !== 'section');
  return `#${new URLSearchParams(said)}`;
}

/** Says in the address what is shown, so that a reload, a bookmark and the browser's "Back" lead there. */
export function toAddress(change: Partial<Address>, entry: 'push' | 'replace' = 'push') {
  const before = hashOf(fromAddress());
  const after = hashOf({ ...fromAddress(), ...change });
  if (after === before) return;
  if (entry === 'push') window.history.pushState(null, '', after);
  else window.history.replaceState(null, '', after);
}
