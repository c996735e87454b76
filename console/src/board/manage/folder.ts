// Pictures on their way from a folder into a project: each goes up by an upload of its own, a few at a time, and becomes an item of the
// user's library; the items are given to the project in batches. Files for the library alone go up in the same way. It goes on while other
// pages are shown, and after a reload.
import type { Client } from '@urql/core';
import { advise } from '../act';
import { ask, type Failure } from '../client';
import { CompleteUploadDocument, ImportItemsDocument, RequestUploadDocument } from '../gql/graphql';
import { newKey } from '../idempotency';
import { ledgerOf, type Ledger, type Remembered } from './ledger';
import { markOf, type Picked } from './picked';
import { sentence } from '../text';
import { put as send, THERE_ALREADY, type Put } from './uploads';

/** How far a picture is; what is not among these waits. */
export type PictureState = 'waiting' | 'going' | 'up' | 'in' | 'refused';

/** A folder that was dropped, and how far its pictures are. Another object is told at each change; `pictures` stays the same one. */
export interface Folder {
  /** The project that gets them; empty if they are for the library only. */
  project: string;
  name: string;
  pictures: readonly { readonly picked: Picked; readonly state: PictureState; readonly reason: string }[];
  phase: 'chosen' | 'going' | 'stopped' | 'done';
  /** How many can be brought; of these, how many are up, are in the project, were in it before, were refused by the server. */
  total: number;
  up: number;
  brought: number;
  before: number;
  refused: number;
  /** Bytes of those that can be brought, and how many of these are up. */
  bytes: number;
  sent: number;
  /** Why it has stopped, or what it waits for; empty if all is well. */
  problem: string;
  /** How many batches were given to the project: the list of imports has something new. */
  batches: number;
}

type Picture = { picked: Picked; state: PictureState; reason: string; record?: Remembered };

const AT_A_TIME = 4;
const BATCH = 500; // docs/limits.md: items named in importItems
const TELL_MS = 200;
const LONGEST_WAIT_MS = 30_000;
// An upload costs about 22,200 of a caller's budget of 100,000 a second (docs/limits.md): what else the page asks has room beside it.
const AT_ONCE = 20;
const EACH_MS = 260;

const wait = (ms: number, unwanted: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (unwanted.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    unwanted.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

/** The SHA-256 of a file in base64. */
async function digest(file: Blob): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()));
  return btoa(String.fromCharCode(...sum));
}

/** Whether a file can still be read: one that was changed or deleted since it was chosen cannot, and a request with it fails as without a network. */
const isReadable = (file: Blob) =>
  file.slice(0, 1).arrayBuffer().then(
    () => true,
    () => false,
  );

/** Waits for its turn: some at once, then one in each span of time. */
function createPace(pause: typeof wait, now = Date.now) {
  let next = 0;
  return async (unwanted: AbortSignal) => {
    next = Math.max(next, now() - AT_ONCE * EACH_MS) + EACH_MS;
    if (next > now()) await pause(next - now(), unwanted);
  };
}

/** Does something while no other tab of the browser does anything of that name; false, and nothing is done, while one does. */
export type Alone = (name: string, act: () => Promise<void>) => Promise<boolean>;

const alone: Alone = async (name, act) =>
  // What has no locks has no checksums either, and brings nothing.
  navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await act();
    return lock !== null;
  });

/** What a browser and a server do; tests have others. */
export interface Means {
  client: Client;
  ledger: Ledger;
  storage: Storage;
  send?: Put;
  sum?: (file: Blob) => Promise<string>;
  pause?: typeof wait;
  only?: Alone;
}

/** Creates what brings folders of pictures, one at a time. */
export function createFolders({ client, ledger, storage, send: put = send, sum = digest, pause = wait, only = alone }: Means) {
  let folder: Folder | null = null;
  let pictures: Picture[] = [];
  let owner = '';
  let run = new AbortController();
  let running = Promise.resolve();
  let telling: ReturnType<typeof setTimeout> | undefined;
  const pace = createPace(pause);
  const partly = new Map<Picture, number>(); // bytes of those on their way
  const listeners = new Set<() => void>();

  function show() {
    clearTimeout(telling);
    telling = undefined;
    if (folder) folder = { ...folder, sent: [...partly.values()].reduce((all, bytes) => all + bytes, settledBytes) };
    for (const listener of listeners) listener();
  }

  /** Changes what is shown: at once when there is something to say, else a few times in a second, however many pictures move. */
  function tell(change: Partial<Folder>, atOnce = false) {
    if (!folder) return;
    folder = { ...folder, ...change };
    if (atOnce) show();
    else telling ??= setTimeout(show, TELL_MS);
  }

  let settledBytes = 0;

  function move(picture: Picture, state: PictureState, reason = '') {
    if (!folder) return;
    const before = picture.state;
    picture.state = state;
    picture.reason = reason;
    partly.delete(picture);
    const isUp = (of: PictureState) => of === 'up' || of === 'in';
    const by = (is: (of: PictureState) => boolean) => Number(is(state)) - Number(is(before));
    settledBytes += by(isUp) * picture.picked.file.size;
    tell({
      up: folder.up + by(isUp),
      brought: folder.brought + by((of) => of === 'in'),
      refused: folder.refused + by((of) => of === 'refused'),
    });
  }

  const remember = async (picture: Picture, change: Partial<Remembered>) => {
    picture.record = { ...picture.record!, ...change };
    await ledger.put(picture.record);
  };

  async function forgetIt(picture: Picture) {
    if (picture.record) await ledger.remove([picture.record.id]);
    picture.record = undefined;
  }

  const unfinishedKey = (whose = owner) => `taggie:folder:${whose}`;

  /** What is under way ends; the folder stays, and says why. */
  function halt(mine: AbortController, problem: string) {
    if (mine.signal.aborted) return;
    mine.abort();
    for (const picture of pictures) if (picture.state === 'going') move(picture, 'waiting');
    tell({ phase: 'stopped', problem }, true);
  }

  /** Asks until there is an answer: where the server cannot be reached, or says that it may succeed later, again. Null when it was stopped meanwhile, or stops for this. */
  async function insist<Data>(mine: AbortController, act: () => Promise<{ data: Data; failure?: undefined } | { data?: undefined; failure: Failure }>, own: string[] = []): Promise<Data | Failure | null> {
    for (let attempt = 0; ; attempt += 1) {
      const { data, failure } = await act();
      if (mine.signal.aborted) return null;
      if (!failure) {
        if (attempt) tell({ problem: '' }, true);
        return data;
      }
      if (own.includes(failure.code)) return failure;
      if (!failure.again && failure.retryAfter === undefined) {
        halt(mine, advise(failure));
        return null;
      }
      tell({ problem: `${sentence(failure.message)} The pictures go on by themselves as soon as they can.` }, true);
      await pause(Math.max((failure.retryAfter ?? 0) * 1000, Math.min(1000 * 2 ** attempt, LONGEST_WAIT_MS)), mine.signal);
      if (mine.signal.aborted) return null;
    }
  }

  const isFailure = (answer: object): answer is Failure => 'code' in answer && 'again' in answer;

  /** Brings a picture up; again says that what was remembered of it is of no use any more. */
  async function bring(mine: AbortController, picture: Picture, again = true): Promise<void> {
    const { file, name, set, type } = picture.picked;
    move(picture, 'going');
    await pace(mine.signal);
    if (mine.signal.aborted) return;
    if (!picture.record) {
      picture.record = { id: owner + markOf(picture.picked), key: newKey(), itemId: '', step: 'asked', at: Date.now() };
      await ledger.put(picture.record);
    }
    const { key } = picture.record;
    if (picture.record.step === 'asked') {
      let sha256;
      try {
        sha256 = await sum(file);
      } catch {
        await forgetIt(picture);
        return move(picture, 'refused', LOST);
      }
      if (mine.signal.aborted) return;
      const input = { name, setName: set, type, size: file.size, sha256, idempotencyKey: `${key}:request` };
      const asked = await insist(mine, () => ask(client, RequestUploadDocument, { input }), ['INVALID_INPUT', 'CONFLICT', 'NOT_FOUND']);
      if (!asked) return;
      if (isFailure(asked)) {
        await forgetIt(picture);
        return again && asked.code !== 'INVALID_INPUT' ? bring(mine, picture, false) : move(picture, 'refused', sentence(asked.message));
      }
      const { upload, problem } = asked.requestUpload ?? {};
      if (problem) return halt(mine, `${sentence(problem.message)} Delete files that you no longer need, or ask for more room, then go on.`);
      if (!upload?.put) return halt(mine, 'The server does not take pictures this way. Tell whoever runs it.');
      const request = upload.put;
      await remember(picture, { itemId: upload.itemId });
      const arrived = await insist(mine, async () => {
        const status = await put(request, file, (bytes) => (partly.set(picture, bytes), tell({})), mine.signal);
        if (status === THERE_ALREADY || (status > 199 && status < 300)) return { data: { isIn: true, isLost: false } };
        if (!status && !(await isReadable(file))) return { data: { isIn: false, isLost: true } };
        // The request was signed for some minutes, and a bucket that is away for longer is asked anew.
        if (status === 403 || status === 400) return { data: { isIn: false, isLost: false } };
        return { failure: { message: status ? `The bucket does not take the pictures (it said ${status}).` : NOT_REACHED, again: true, code: '', field: '' } };
      });
      if (!arrived) return;
      if (!isFailure(arrived) && arrived.isLost) {
        await forgetIt(picture);
        return move(picture, 'refused', LOST);
      }
      if (isFailure(arrived) || !arrived.isIn) return again ? bring(mine, picture, false) : halt(mine, 'The bucket did not take a picture. Drop the folder again if you have changed it; else go on.');
      await remember(picture, { step: 'sent' });
    }
    const completed = await insist(mine, () => ask(client, CompleteUploadDocument, { input: { itemId: picture.record!.itemId, idempotencyKey: `${key}:complete` } }), ['CONFLICT', 'NOT_FOUND']);
    if (!completed) return;
    if (isFailure(completed)) {
      await forgetIt(picture);
      return again ? bring(mine, picture, false) : move(picture, 'refused', sentence(completed.message));
    }
    const { item, problem } = completed.completeUpload ?? {};
    if (item) {
      const end = folder?.project ? 'up' : 'in';
      await remember(picture, { step: end });
      return move(picture, end);
    }
    if (problem?.__typename === 'QuotaReached') return halt(mine, `${sentence(problem.message)} Delete files that you no longer need, or ask for more room, then go on.`);
    await forgetIt(picture);
    if (problem?.__typename === 'NotUploaded' && again) return bring(mine, picture, false);
    move(picture, 'refused', sentence(problem?.message ?? 'the server did not take it'));
  }

  /** Gives what is up to the project, a batch at a time; with `all`, also the last ones. */
  async function giveToProject(mine: AbortController, all: boolean): Promise<void> {
    for (;;) {
      const batch = pictures.filter(({ state }) => state === 'up').slice(0, BATCH);
      if (!folder || mine.signal.aborted || !batch.length || (!all && batch.length < BATCH)) return;
      const records = batch.map(({ record }) => record!);
      // The same batch has the same key after a reload.
      const idempotencyKey = `${records[0]!.key}:${records.at(-1)!.key}:${records.length}`;
      const input = { projectId: folder.project, itemIds: records.map(({ itemId }) => itemId), idempotencyKey };
      const answer = await insist(mine, () => ask(client, ImportItemsDocument, { input }));
      if (!answer || isFailure(answer)) return;
      const { problem } = answer.importItems ?? {};
      if (problem) {
        // Somebody has deleted it from the library meanwhile: it goes up again.
        const gone = batch.find(({ record }) => record!.itemId === problem.itemId);
        if (!gone) return halt(mine, sentence(problem.message));
        await forgetIt(gone);
        move(gone, 'waiting');
        await bring(mine, gone);
        continue;
      }
      for (const picture of batch) {
        await remember(picture, { step: 'in' });
        move(picture, 'in');
      }
      tell({ batches: folder!.batches + 1 }, true);
    }
  }

  const remembered = async () => new Map((await ledger.load(owner)).map((record) => [record.id, record]));

  /** Looks at what is remembered by now: another tab may have brought some since the folder was chosen. */
  async function catchUp(mine: AbortController) {
    const known = await remembered();
    if (mine.signal.aborted || !folder) return;
    let { before } = folder;
    for (const picture of pictures) {
      if (picture.state !== 'waiting' && picture.state !== 'up') continue;
      picture.record = known.get(owner + markOf(picture.picked)) ?? (picture.state === 'up' ? picture.record : undefined);
      const step = picture.record?.step;
      if (step === 'in') before += 1;
      if (step === 'in' || (step === 'up' && picture.state !== 'up')) move(picture, step);
    }
    tell({ before });
  }

  /** Goes on once what went on before in this tab has ended; or says that another tab does. */
  async function goAlone(mine: AbortController) {
    if (mine.signal.aborted) return;
    const isAlone = await only(unfinishedKey(), async () => {
      await catchUp(mine);
      if (!mine.signal.aborted) await go(mine);
    });
    if (!isAlone) halt(mine, `Another tab of this browser brings ${folder?.project ? 'pictures into this project' : 'files into your library'}. Wait until it has ended, then go on.`);
  }

  async function go(mine: AbortController) {
    let at = 0;
    let giving = Promise.resolve();
    const worker = async () => {
      while (!mine.signal.aborted && at < pictures.length) {
        const picture = pictures[at++]!;
        if (picture.state === 'waiting') await bring(mine, picture);
        if (folder && folder.up - folder.brought >= BATCH) await (giving = giving.then(() => giveToProject(mine, false)));
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    await giving;
    await giveToProject(mine, true);
    if (mine.signal.aborted) return;
    storage.removeItem(unfinishedKey());
    tell({ phase: 'done', problem: '' }, true);
  }

  return {
    get: () => folder,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    /** Takes files that were looked at; those that were brought before are known again. Nothing goes up before start(). */
    async choose(viewer: string, project: string, name: string, picked: Picked[]) {
      run.abort();
      owner = ledgerOf(viewer, project);
      const asked = owner;
      const known = await remembered();
      if (asked !== owner) return;
      pictures = picked.map((one): Picture => {
        const record = one.fault ? undefined : known.get(owner + markOf(one));
        return { picked: one, record, reason: one.fault, state: one.fault ? 'refused' : record?.step === 'in' || record?.step === 'up' ? record.step : 'waiting' };
      });
      const good = pictures.filter(({ picked }) => !picked.fault);
      const count = (...states: PictureState[]) => good.filter(({ state }) => states.includes(state));
      settledBytes = count('up', 'in').reduce((all, { picked }) => all + picked.file.size, 0);
      partly.clear();
      folder = {
        project,
        name,
        pictures,
        phase: 'chosen',
        total: good.length,
        up: count('up', 'in').length,
        brought: count('in').length,
        before: count('in').length,
        refused: 0,
        bytes: good.reduce((all, { picked }) => all + picked.file.size, 0),
        sent: settledBytes,
        problem: '',
        batches: 0,
      };
      show();
    },
    /** Begins, or goes on. */
    start() {
      if (!folder || folder.phase === 'going') return;
      // A page that came over plain http has no crypto.subtle.
      if (sum === digest && !globalThis.crypto.subtle) return tell({ phase: 'stopped', problem: 'The browser computes checksums only over https. Open the page there to bring pictures.' }, true);
      try {
        storage.setItem(unfinishedKey(), folder.name);
      } catch {
        // full: nobody is reminded after a reload
      }
      const mine = (run = new AbortController());
      tell({ phase: 'going', problem: '' }, true);
      const next = () => goAlone(mine);
      running = running.then(next, next);
    },
    /** Stops what is under way; start() goes on. */
    stop: () => halt(run, ''),
    /** Lets pictures of this folder be given to the project again: they may have been removed there. Those that are no longer in the library go up again. */
    async giveAgain() {
      if (!folder || folder.phase !== 'chosen') return;
      for (const picture of pictures.filter(({ state }) => state === 'in')) {
        await remember(picture, { step: 'up', key: newKey() }); // a new key: the old batch would have its old answer
        move(picture, 'up');
      }
      tell({ before: 0 }, true);
    },
    /** Lets files of this folder go up again that are in the library: they may have been deleted there. */
    async uploadAgain() {
      if (!folder || folder.phase !== 'chosen') return;
      for (const picture of pictures.filter(({ state }) => state === 'in')) {
        await forgetIt(picture);
        move(picture, 'waiting');
      }
      tell({ before: 0 }, true);
    },
    /** Shows the folder no longer; what is up stays remembered. */
    clear() {
      run.abort();
      owner = '';
      pictures = [];
      folder = null;
      show();
    },
    /** Forgets that a folder was not brought to its end; what is up stays remembered. */
    dismiss(viewer: string, project: string) {
      storage.removeItem(unfinishedKey(ledgerOf(viewer, project)));
      for (const listener of listeners) listener();
    },
    /** The name of a folder that was not brought to its end; empty if there is none. */
    unfinished: (viewer: string, project: string) => storage.getItem(unfinishedKey(ledgerOf(viewer, project))) ?? '',
    isBusy: () => folder?.phase === 'going',
  };
}

const LOST = 'The browser cannot read the file any more: it was changed or deleted. Drop it again.';
const NOT_REACHED = 'The pictures do not reach the bucket. If it stays so, the bucket does not know this page: whoever runs the server adds its origin to TAGGIE_ALLOWED_ORIGINS.';

export type Folders = ReturnType<typeof createFolders>;
