// What the user does with items: claim, finish, skip, release, extend, undo. What was typed outlives each way in which that can fail.
import type { Client } from '@urql/core';
import { ask, type Failure } from './client';
import { serverNow } from './clock';
import { blank, createDrafts, worthKeeping, type Draft, type Drafts } from './drafts';
import { ClaimDocument, ClaimsDocument, ExtendDocument, FinishDocument, ReleaseDocument, SkipDocument, UndoDocument } from './gql/graphql';
import { newKey } from './idempotency';
import type { SettingsStore } from './settings';
import type { Holder } from './state';
import type { Event, Held, SkipReason } from './types';

const UNDO_MS = 5 * 60_000;
const EXTEND_BEFORE_MS = 5 * 60_000;
const ACTIVE_MS = 10 * 60_000;
const SEND_AGAIN_MS = 3_000;

/** Creates the actions of the user in the project that is chosen. */
export function createWork(client: Client, holder: Holder, settings: SettingsStore) {
  const { get, set, say } = holder;
  let drafts: Drafts = createDrafts(localStorage, '', '');
  let sending: ReturnType<typeof setTimeout> | undefined;
  const underway = new Set<string>(); // items with which something is being done: their events are no news

  const byId = (id: string) => get().held.find((item) => item.id === id);

  /** Begins with what is in the user's hands, and what was typed before. */
  async function open(viewer: string, project: string) {
    drafts = createDrafts(localStorage, viewer, project);
    await load();
    send();
  }

  async function load() {
    const project = get().project;
    if (!project) return;
    const { data, failure } = await ask(client, ClaimsDocument, { project: project.id });
    if (get().project?.id !== project.id) return;
    if (failure) return void setTimeout(load, SEND_AGAIN_MS); // while the queue is being rebuilt
    const claims = data.project?.viewerClaims;
    if (!claims) return void setTimeout(load, SEND_AGAIN_MS);
    const gone = (id: string) => !claims.some((item) => item.id === id) && !drafts.get(id).sending;
    for (const item of get().held) if (gone(item.id) && !underway.has(item.id)) keep(item, 'is not yours any more');
    hold(claims);
    const known = new Set(get().kept.map(({ id }) => id));
    const others = drafts.ids().filter((id) => gone(id) && !known.has(id) && worthKeeping(drafts.get(id)));
    set({ kept: [...get().kept, ...others.map((id) => ({ id, name: drafts.get(id).name || 'An item', reason: 'is not yours any more' }))] });
  }

  /** Shows these items as the user's, and one of them as the one that is worked on. */
  function hold(held: Held[]) {
    const { selected, kept } = get();
    const free = held.find(({ id }) => !drafts.get(id).sending);
    set({
      held,
      selected: held.some(({ id }) => id === selected) ? selected : (free?.id ?? null),
      kept: kept.filter(({ id }) => !held.some((item) => item.id === id)), // it came back, and its draft is in the form
    });
  }

  function add(items: Held[]) {
    const { held } = get();
    hold([...held.filter(({ id }) => !items.some((item) => item.id === id)), ...items]);
  }

  /** Takes an item from the list; the next one in it is worked on then. */
  function drop(id: string) {
    const { held, selected } = get();
    const at = held.findIndex((item) => item.id === id);
    if (at < 0) return;
    const rest = held.filter((item) => item.id !== id);
    const next = [...rest.slice(at), ...rest.slice(0, at)].find((item) => !drafts.get(item.id).sending);
    set({ held: rest, selected: selected === id ? (next?.id ?? null) : selected });
  }

  /** The item is gone, but not what was typed about it. */
  function keep(item: { id: string; name: string }, reason: string) {
    drop(item.id);
    const draft = drafts.get(item.id);
    if (!worthKeeping(draft)) {
      drafts.remove(item.id);
      return say('plain', `“${item.name}” ${reason}.`);
    }
    drafts.put(item.id, { ...draft, sending: undefined });
    if (get().kept.some(({ id }) => id === item.id)) return;
    set({ kept: [...get().kept, { id: item.id, name: item.name, reason }] });
    say('bad', `“${item.name}” ${reason}. What you typed is kept, and will be in the form when you get it again.`);
  }

  function sorry(failure: Failure, what: string) {
    say('bad', `${what}: ${failure.message}`);
  }

  async function claim(count: number, quiet = false) {
    const { project, busy } = get();
    if (!project || busy) return;
    const input = { projectId: project.id, count, idempotencyKey: newKey() };
    set({ busy: 'claim' });
    const { data, failure } = await ask(client, ClaimDocument, { input });
    set({ busy: '' });
    if (get().project?.id !== project.id) return;
    if (failure) return quiet ? undefined : sorry(failure, 'Nothing was claimed');
    const payload = data.claimProjectItems;
    if (payload?.problem) return say('bad', payload.problem.message);
    const items = payload?.items ?? [];
    add(items);
    if (!items.length) say('plain', 'Nothing waits in the queue at the moment.');
    else if (!quiet && items.length > 1) say('plain', `${items.length} items are yours.`);
  }

  /** Keeps as many items ready as the user wants. */
  function refill() {
    const missing = settings.get().ahead - get().held.filter(({ id }) => !drafts.get(id).sending).length;
    if (missing > 0 && !get().live.paused && get().connection === 'live') void claim(missing, true);
  }

  /** Sends what is in the form; says what is missing. */
  function finish(id: string): string {
    const item = byId(id);
    if (!item?.claim?.token) return 'This item is not yours any more.';
    const draft = drafts.get(id);
    if (!draft.categoryId) return 'Choose what it is first.';
    const word = draft.word.trim();
    const keywords = word && !draft.keywords.includes(word) ? [...draft.keywords, word] : draft.keywords;
    const sent = { ...draft, keywords, word: '', sending: draft.sending ?? { token: item.claim.token, key: newKey() } };
    if (!drafts.put(id, sent)) say('bad', 'This browser has no room left to keep what you type over a reload.');
    void deliver(item, sent).then((done) => {
      if (done) return refill();
      if (get().selected === id) set({ selected: get().held.find((other) => !drafts.get(other.id).sending)?.id ?? id });
      later();
    });
    return '';
  }

  /** Sends one finish; reports whether there was an answer. */
  async function deliver(item: Pick<Held, 'id' | 'name'>, draft: Draft): Promise<boolean> {
    if (!draft.sending || underway.has(item.id)) return true;
    underway.add(item.id);
    const { token, key } = draft.sending;
    const { categoryId, keywords } = draft;
    const { data, failure } = await ask(client, FinishDocument, {
      input: { itemId: item.id, token, categoryId, subcategoryId: draft.subcategoryId || null, keywords, idempotencyKey: key },
    });
    underway.delete(item.id);
    if (failure?.again) {
      say('plain', `“${item.name}” is not sent yet: ${failure.message} It is kept here, and sent by itself.`);
      set({ held: [...get().held] });
      return false;
    }
    if (failure) {
      drafts.put(item.id, { ...draft, sending: undefined });
      set({ held: [...get().held] });
      sorry(failure, `“${item.name}” was not finished`);
      return true;
    }
    const { effort, problem } = data.finishProjectItem ?? {};
    if (problem?.__typename === 'LeaseLost') {
      const who = problem.current.claim?.user?.name;
      keep(item, who ? `ran out, and ${who} has it now` : 'ran out before it was sent');
      return true;
    }
    const counted = problem?.__typename === 'AlreadyFinished' ? problem.effort : effort;
    drop(item.id);
    drafts.remove(item.id);
    if (!counted) return true;
    const category = get().project?.categories?.find(({ id }) => id === categoryId)?.name ?? '';
    const until = Date.parse(counted.finishedAt) + UNDO_MS;
    set({ done: [{ effortId: counted.id, itemId: item.id, name: item.name, category, until }, ...get().done].slice(0, 50) });
    if (problem) say('plain', `“${item.name}” was finished before: ${problem.message}`);
    else say('good', `“${item.name}”: ${category}.`, { effortId: counted.id, until });
    return true;
  }

  /** Sends what could not be sent, or was sent by a page that did not live to see the answer, until all of it is. */
  function send() {
    clearTimeout(sending);
    sending = undefined;
    const waiting = drafts.ids().filter((id) => drafts.get(id).sending);
    void Promise.all(waiting.map((id) => deliver({ id, name: drafts.get(id).name }, drafts.get(id)))).then((answered) => {
      if (answered.includes(false)) later();
    });
  }

  function later() {
    sending ??= setTimeout(send, SEND_AGAIN_MS);
  }

  /** Does one thing with an item of the user; what is `gone` leaves the list when it worked. */
  async function change(id: string, what: string, act: (item: Held, token: string) => Promise<{ failure?: Failure; problem?: string | null; item?: Held }>) {
    const item = byId(id);
    const token = item?.claim?.token;
    if (!item || !token || underway.has(id)) return false;
    underway.add(id);
    const { failure, problem, item: after } = await act(item, token);
    underway.delete(id);
    if (failure) sorry(failure, what);
    else if (problem) keep(item, 'is not yours any more');
    else if (after) set({ held: get().held.map((other) => (other.id === id ? after : other)) });
    return !failure && !problem;
  }

  async function skip(id: string, reason: SkipReason, minutes?: number) {
    const name = byId(id)?.name;
    const done = await change(id, 'It was not skipped', async (item, token) => {
      const input = { itemId: item.id, token, reason, minutes: reason === 'TO_ME_LATER' ? minutes : undefined, idempotencyKey: newKey() };
      const { data, failure } = await ask(client, SkipDocument, { input });
      return { failure, problem: data?.skipProjectItem?.problem?.message };
    });
    if (!done) return;
    drop(id);
    if (reason !== 'TO_ME_LATER') drafts.remove(id);
    const to = { TO_ME_LATER: `comes back to you in ${minutes} minutes`, TO_OTHERS: 'goes to somebody else', FOR_NOBODY: 'is marked as one that cannot be labelled' };
    say('plain', `“${name}” ${to[reason]}.`);
    refill();
  }

  async function release(id: string) {
    const name = byId(id)?.name;
    const done = await change(id, 'It was not given back', async (item, token) => {
      const { data, failure } = await ask(client, ReleaseDocument, { input: { itemId: item.id, token, idempotencyKey: newKey() } });
      return { failure, problem: data?.releaseProjectItem?.problem?.message };
    });
    if (!done) return;
    drop(id);
    say('plain', `“${name}” is back in the queue.`);
  }

  async function extend(id: string, quiet = false) {
    const done = await change(id, 'The time was not extended', async (item, token) => {
      const { data, failure } = await ask(client, ExtendDocument, { input: { itemId: item.id, token, idempotencyKey: newKey() } });
      if (quiet && failure) return {};
      return { failure, problem: data?.extendClaim?.problem?.message, item: data?.extendClaim?.item ?? undefined };
    });
    if (done && !quiet) say('plain', 'You have another 15 minutes for it.');
  }

  /** Takes a finish back, the last one without an id. */
  async function undo(effortId = get().done.find(({ until }) => until > serverNow())?.effortId) {
    if (!effortId) return say('plain', 'There is nothing to undo: five minutes after a finish it stays.');
    const { data, failure } = await ask(client, UndoDocument, { input: { effortId, idempotencyKey: newKey() } });
    if (failure) return sorry(failure, 'It was not undone');
    const { item, effort, problem } = data.undoFinish ?? {};
    set({ done: get().done.filter((done) => done.effortId !== effortId), notices: get().notices.filter((notice) => notice.undo?.effortId !== effortId) });
    if (problem || !item) return say('bad', problem?.message ?? 'It was not undone.');
    // What was found is in the form again.
    const found = { categoryId: effort?.category?.id ?? '', subcategoryId: effort?.subcategory?.id ?? '', keywords: effort?.keywords ?? [] };
    drafts.put(item.id, { ...blank, ...found, name: item.name, at: Date.now() });
    add([item]);
    set({ selected: item.id });
    say('plain', `“${item.name}” is yours again.`);
  }

  /** Follows an event: what another page of the user did, and claims that ended. */
  function follow(event: Event) {
    const { viewer, held } = get();
    const item = event.item;
    if (!item) return;
    const mine = item.status === 'CLAIMED' && item.claim?.user?.id === viewer?.id;
    const here = byId(item.id);
    if (mine && !here && event.type !== 'FINISHED') return reload();
    if (mine && here && item.claim) {
      const { since, until } = item.claim;
      if (until !== here.claim?.until) set({ held: held.map((other) => (other.id === item.id && other.claim ? { ...other, claim: { ...other.claim, since, until } } : other)) });
      return;
    }
    if (mine || !here || underway.has(item.id)) return;
    if (event.type === 'EXPIRED') return keep(here, 'was in your hands for too long');
    if (event.type === 'FINISHED' && event.user?.id === viewer?.id) {
      drafts.remove(item.id);
      return drop(item.id);
    }
    keep(here, 'is not yours any more');
  }

  let reloading: ReturnType<typeof setTimeout> | undefined;
  function reload() {
    reloading ??= setTimeout(() => {
      reloading = undefined;
      if (!get().busy) void load();
    }, 300);
  }

  /** Extends what is being typed about; called again and again. */
  function watch() {
    const item = byId(get().selected ?? '');
    if (!item?.claim) return;
    const draft = drafts.get(item.id);
    const left = Date.parse(item.claim.until) - serverNow();
    if (left < EXTEND_BEFORE_MS && Date.now() - draft.at < ACTIVE_MS && get().connection === 'live') void extend(item.id, true);
  }

  return {
    open,
    load,
    send,
    claim,
    finish,
    skip,
    release,
    extend,
    undo,
    follow,
    watch,
    select: (id: string) => set({ selected: id }),
    /** Forgets what was typed about an item that is gone. */
    forget(id: string) {
      drafts.remove(id);
      set({ kept: get().kept.filter((kept) => kept.id !== id) });
    },
    draft: (id: string) => drafts.get(id),
    /** Keeps what is typed. What was sent already is not what is typed now. */
    type(id: string, change: Partial<Draft>) {
      const { sending: _, ...draft } = drafts.get(id);
      const name = byId(id)?.name ?? draft.name;
      if (!drafts.put(id, { ...draft, ...change, name, at: Date.now() })) say('bad', 'This browser has no room left to keep what you type over a reload.');
    },
  };
}

export type Work = ReturnType<typeof createWork>;
