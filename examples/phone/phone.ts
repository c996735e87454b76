// The notes of a phone: a copy of all notes that its user can read, and a queue of changes that were made without a network.

import { setTimeout } from 'node:timers/promises';
import type { Client } from 'graphql-ws';
import {
  CreateNoteDocument,
  DeleteNoteDocument,
  type NoteCopyFragment,
  NoteEventsDocument,
  SyncNotesDocument,
  UpdateNoteDocument,
} from '../operations/generated/documents.ts';
import { resume } from '../resume/resume.ts';
import { type Send, Refused } from './send.ts';

const PAGE = 50; // changes in a page; each may have a content of 350 KB
const DAY_MS = 24 * 60 * 60 * 1_000; // how long the server remembers an idempotency key
const ALONE_MS = 5 * 60 * 1_000; // between two runs, for a user whose notes cannot be followed

/** What a user writes. A field that is absent stays as it is. */
export type Draft = { title?: string; content?: string };

/** A change that waits to be sent. Once `sent`, it stays as it is: with its key, it takes effect once, however often it is sent within a day. */
export interface Change {
  key: string; // the idempotency key; a new note is known by it until the server has given it an id
  noteId: string | null; // null: a new note
  draft: Draft | null; // null: the note is to be deleted
  version: number | null; // of the note that the user saw; null until the change before it of the same note has been carried out
  sent: string | null; // when it was for the first time
}

/** A change that was not carried out. `theirs` is the note as it is now; null if the user can no longer read it. */
export interface Conflict {
  noteId: string | null;
  mine: Draft | null;
  theirs: NoteCopyFragment | null;
  reason: string;
}

/** A run of `noteChanges`, which can be continued after an interruption. */
interface Run {
  position: string | null; // in the events, from before the run: these follow when it is over; null where none can
  since: string | null;
  after: string | null; // the last page that was applied
  brought: string[] | null; // all notes that it brought, if it reads all there are
}

/** All that a phone keeps. */
export interface Kept {
  notes: Record<string, NoteCopyFragment>;
  cursor: string | null; // of the last event that was applied; null: a run is needed
  run: Run | null;
  syncedUntil: string | null;
  changes: Change[];
  conflicts: Conflict[];
  ids: Record<string, string>; // of notes that were made here, by their changes
}

/** Where it is kept. An app takes a database, and saves what has changed in one transaction; this saves everything. */
export interface Storage {
  load(): Promise<Kept | undefined>;
  /** Replaces what was kept, wholly or not at all. */
  save(kept: Kept): Promise<void>;
}

/** A note as the user sees it: with the own changes that wait. Its id is that of the change as long as the server does not know it. */
export type Shown = Pick<NoteCopyFragment, 'id' | 'title' | 'content' | 'viewerPermission'> & { waiting: boolean };

export interface PhoneOptions {
  send: Send;
  client: Pick<Client, 'subscribe'>;
  storage: Storage;
  /** Told when something that the user sees has changed. */
  onChange?: () => void;
  /** Told what did not work; it is tried again. */
  onTrouble?: (cause: unknown) => void;
  /** How many milliseconds to wait until then. */
  pause?: () => number;
}

export class Phone {
  #kept: Kept = { notes: {}, cursor: null, run: null, syncedUntil: null, changes: [], conflicts: [], ids: {} };
  #saved: Promise<void> = Promise.resolve();
  #queued = () => {}; // wakes who sends
  readonly #o: PhoneOptions;

  private constructor(options: PhoneOptions) {
    this.#o = options;
  }

  /** Opens what was kept. */
  static async open(options: PhoneOptions): Promise<Phone> {
    const phone = new Phone(options);
    phone.#kept = (await options.storage.load()) ?? phone.#kept;
    return phone;
  }

  /** Keeps the copy up to date and sends what waits, until the signal. Without a network, it tries again and again. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#queued());
    await Promise.all([this.#forEver(signal, () => this.#follow(signal)), this.#forEver(signal, () => this.#sendNext(signal))]);
    await this.#saved;
  }

  // ------------------------------------------------------------------------------------------------------- for the user

  /** The notes, with the changes that wait. */
  notes(): Shown[] {
    const shown = new Map<string, Shown>();
    for (const note of Object.values(this.#kept.notes)) shown.set(note.id, { ...note, waiting: false });
    for (const { key, noteId, draft } of this.#kept.changes) {
      const id = noteId ?? key;
      if (!draft) shown.delete(id);
      else if (!noteId) shown.set(id, { id, title: '', content: '', viewerPermission: 'OWNER', ...draft, waiting: true });
      else if (shown.has(id)) shown.set(id, { ...shown.get(id)!, ...draft, waiting: true });
    }
    return [...shown.values()];
  }

  /** Which changes wait. */
  waiting(): readonly Change[] {
    return this.#kept.changes;
  }

  /** What the user has to decide: see resolve(). */
  conflicts(): readonly Conflict[] {
    return this.#kept.conflicts;
  }

  /** Makes a note. */
  async create(title: string, content: string): Promise<void> {
    await this.#add({ key: crypto.randomUUID(), noteId: null, draft: { title, content }, version: null, sent: null });
  }

  /** Changes a note. What waits and was not sent yet is changed in place. */
  async edit(shown: string, draft: Draft): Promise<void> {
    const id = this.#kept.ids[shown] ?? shown; // it may have got its id while the user was writing
    const last = this.#kept.changes.findLast((change) => (change.noteId ?? change.key) === id);
    if (last?.draft && !last.sent) {
      Object.assign(last.draft, draft);
      return this.#keep();
    }
    await this.#add({ key: crypto.randomUUID(), noteId: id, draft: { ...draft }, version: last ? null : (this.#kept.notes[id]?.version ?? null), sent: null });
  }

  /** Deletes a note. */
  async remove(shown: string): Promise<void> {
    const id = this.#kept.ids[shown] ?? shown;
    const own = this.#kept.changes.filter((change) => (change.noteId ?? change.key) === id);
    this.#kept.changes = this.#kept.changes.filter((change) => change.sent || !own.includes(change));
    const first = own[0];
    if (first && !first.sent && !first.noteId) return this.#keep(); // the server never knew it
    const version = own.some((change) => change.sent) ? null : (this.#kept.notes[id]?.version ?? null);
    await this.#add({ key: crypto.randomUUID(), noteId: id, draft: null, version, sent: null });
  }

  /** Ends a conflict: with what the note shall be, or with null to leave it as it is. Where there is no such note any more, it makes a new one. */
  async resolve(conflict: Conflict, draft: Draft | null): Promise<void> {
    this.#kept.conflicts = this.#kept.conflicts.filter((one) => one !== conflict);
    if (!draft) return this.#keep();
    if (conflict.noteId && this.#kept.notes[conflict.noteId]) return this.edit(conflict.noteId, draft);
    await this.create(draft.title ?? 'Untitled', draft.content ?? '…');
  }

  // ------------------------------------------------------------------------------------------------------------ reading

  /** Follows the events, after a run of `noteChanges` where one is needed. */
  async #follow(signal: AbortSignal) {
    if (this.#kept.run) await this.#sync(this.#kept.run, signal);
    const late = Date.now() - DAY_MS > Date.parse(this.#kept.syncedUntil ?? '');
    if (late && this.#kept.cursor) await this.#begin(this.#kept.cursor, signal); // Redis can lose its last events
    const day = AbortSignal.timeout(DAY_MS);
    try {
      await this.#listen(AbortSignal.any([signal, day]));
    } catch (cause) {
      if (Array.isArray(cause) && cause.some((error) => error?.extensions?.code === 'EXHAUSTED')) return this.#alone(signal);
      if (signal.aborted || !day.aborted) throw cause;
    }
  }

  async #listen(signal: AbortSignal) {
    let incomplete = false; // a part of the message could not be read
    const messages = resume(this.#o.client, NoteEventsDocument, {}, {
      after: this.#kept.cursor,
      signal,
      onErrors: () => (incomplete = true),
      onRetry: (cause) => this.#o.onTrouble?.(cause),
    });
    for await (const message of messages) {
      switch (message.__typename) {
        case 'NoteGap':
          this.#kept.cursor = null;
          break;
        case 'NotePosition':
          if (!this.#kept.cursor) await this.#begin(message.cursor, signal);
          this.#kept.cursor = message.cursor;
          break;
        case 'NoteEvent':
          if (!message.note && incomplete) throw new Error('a note could not be read'); // it comes again, after the old cursor
          if (message.note) this.#put(message.note);
          else delete this.#kept.notes[message.noteId];
          this.#kept.cursor = message.cursor;
      }
      incomplete = false;
      await this.#keep();
    }
  }

  /** Asks from time to time, for a user with whom too much is shared to follow it. */
  async #alone(signal: AbortSignal) {
    await this.#begin(null, signal);
    await setTimeout(ALONE_MS, undefined, { signal }).catch(() => {}); // it was aborted
  }

  /** Begins a run. What happens after the position is told by events. */
  async #begin(position: string | null, signal: AbortSignal) {
    const since = this.#kept.syncedUntil;
    await this.#sync((this.#kept.run = { position, since, after: null, brought: since ? null : [] }), signal);
  }

  async #sync(run: Run, signal: AbortSignal) {
    for (;;) {
      const { viewer } = await this.#o.send(SyncNotesDocument, { changedSince: run.since, first: PAGE, after: run.after }, signal);
      const changes = viewer?.noteChanges;
      if (!changes) throw new Refused('UNAUTHENTICATED', 'this user has not signed up');
      for (const change of changes.nodes) {
        if (change.__typename !== 'Note') delete this.#kept.notes[change.noteId];
        else {
          this.#put(change);
          run.brought?.push(change.id);
        }
      }
      run.after = changes.pageInfo.endCursor ?? run.after;
      if (!changes.pageInfo.hasNextPage) {
        if (!changes.complete && !run.brought) { // away for more than 30 days: what was deleted is no longer told
          Object.assign(run, { since: null, after: null, brought: [] });
        } else {
          const { brought } = run;
          if (brought) for (const id of Object.keys(this.#kept.notes)) if (!brought.includes(id)) delete this.#kept.notes[id];
          Object.assign(this.#kept, { syncedUntil: changes.syncedUntil, cursor: run.position, run: null });
          return this.#keep();
        }
      }
      await this.#keep();
    }
  }

  /** Puts a note into the copy, unless that has a later one: answers and events come side by side. */
  #put(note: NoteCopyFragment) {
    if ((this.#kept.notes[note.id]?.version ?? 0) <= note.version) this.#kept.notes[note.id] = note;
  }

  // ------------------------------------------------------------------------------------------------------------ sending

  /** Sends the first change that waits, as soon as there is one. */
  async #sendNext(signal: AbortSignal) {
    const [change] = this.#kept.changes;
    if (!change) {
      await new Promise<void>((resolve) => (this.#queued = resolve));
      return;
    }
    if (change.sent && !change.noteId && Date.now() - DAY_MS > Date.parse(change.sent)) { // with its old key, it would be made again
      this.#giveUp(change, 'Perhaps this note was made, and perhaps not: no answer came for a day.');
      return this.#keep();
    }
    change.sent ??= new Date().toISOString();
    await this.#keep(); // before it is sent: whether it arrives is not known if the app ends now
    try {
      await this.#carryOut(change, signal);
    } catch (cause) {
      if (!(cause instanceof Refused) || cause.code === 'UNAUTHENTICATED') throw cause; // it is sent again
      if (cause.code === 'NOT_FOUND' && change.noteId) delete this.#kept.notes[change.noteId];
      this.#giveUp(change, cause.message);
    }
    await this.#keep();
  }

  async #carryOut(change: Change, signal: AbortSignal) {
    const { key: idempotencyKey, noteId, draft, version: expectedVersion } = change;
    if (!noteId) {
      const { title = '', content = '' } = draft!;
      const { createNote } = await this.#o.send(CreateNoteDocument, { input: { title, content, idempotencyKey } }, signal);
      return this.#done(change, createNote?.note);
    }
    const input = { noteId, expectedVersion, idempotencyKey };
    const problem = draft
      ? await this.#o.send(UpdateNoteDocument, { input: { ...draft, ...input } }, signal).then(({ updateNote }) => {
          if (!updateNote?.problem) this.#done(change, updateNote?.note);
          return updateNote?.problem;
        })
      : await this.#o.send(DeleteNoteDocument, { input }, signal).then(({ deleteNote }) => {
          if (!deleteNote?.problem) this.#done(change, null);
          return deleteNote?.problem;
        });
    if (!problem) return;
    if (problem.__typename === 'NoteConflict') this.#put(problem.current);
    this.#giveUp(change, problem.message);
  }

  /** Takes a change out of the queue that was carried out, and has those that follow it refer to the note as it is now. */
  #done(change: Change, note: NoteCopyFragment | null | undefined) {
    this.#kept.changes = this.#kept.changes.filter((one) => one !== change);
    if (!note) { // it is deleted; also if it was so already when a request was repeated
      if (change.noteId) delete this.#kept.notes[change.noteId];
      return;
    }
    this.#put(note);
    const next = this.#kept.changes.find((one) => one.noteId === (change.noteId ?? change.key));
    if (!change.noteId) this.#kept.ids[change.key] = note.id;
    for (const one of this.#kept.changes) if (one.noteId === change.key) one.noteId = note.id;
    // Not simply the note's version: a repeated request is answered with the note as it is now, which the user has not seen.
    if (next) next.version = Math.min(note.version, (change.version ?? 0) + 1);
  }

  /** Makes a conflict of a change that was not carried out, and of those that follow it. */
  #giveUp(change: Change, reason: string) {
    const id = change.noteId ?? change.key;
    const all = this.#kept.changes.filter((one) => (one.noteId ?? one.key) === id);
    this.#kept.changes = this.#kept.changes.filter((one) => !all.includes(one));
    const theirs = this.#kept.notes[id] ?? null;
    const mine = all.reduce<Draft | null>((before, { draft }) => draft && { ...before, ...draft }, {});
    const same = mine && theirs && (mine.title ?? theirs.title) === theirs.title && (mine.content ?? theirs.content) === theirs.content;
    if (!same) this.#kept.conflicts.push({ noteId: change.noteId, mine, theirs, reason });
  }

  // ------------------------------------------------------------------------------------------------------------ keeping

  async #add(change: Change) {
    this.#kept.changes.push(change);
    await this.#keep();
    this.#queued();
  }

  /** Saves what is kept, behind all that was saved before. */
  #keep(): Promise<void> {
    const kept = structuredClone(this.#kept);
    this.#saved = this.#saved.catch(() => {}).then(() => this.#o.storage.save(kept)); // who asked for the one before was told that it failed
    this.#o.onChange?.();
    return this.#saved;
  }

  async #forEver(signal: AbortSignal, what: () => Promise<void>) {
    while (!signal.aborted) {
      try {
        await what();
      } catch (cause) {
        if (signal.aborted) return;
        this.#o.onTrouble?.(cause);
        await setTimeout(this.#o.pause?.() ?? 1_000 + 4_000 * Math.random(), undefined, { signal }).catch(() => {}); // it was aborted
      }
    }
  }
}
