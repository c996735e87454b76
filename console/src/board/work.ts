// What the user does with items of a project: claim, finish, skip, release, extend, undo.
import type { Client } from '@urql/core';
import { ask, type Failure } from './client';
import { serverNow } from './clock';
import { blank, worthKeeping, type Draft, type Drafts } from './drafts';
import { createFinishes } from './finishes';
import { ClaimDocument, ClaimsDocument, ExtendDocument, ReleaseDocument, SkipDocument, UndoDocument } from './gql/graphql';
import { createHands } from './hands';
import { newKey } from './idempotency';
import type { SettingsStore } from './settings';
import { closable, PAUSED, UNREACHED, type Holder } from './state';
import { sentence } from './text';
import type { Event, Held, SkipReason } from './types';

const EXTEND_BEFORE_MS = 5 * 60_000;
const ACTIVE_MS = 10 * 60_000;
const AGAIN_MS = 3_000;
const RELOAD_MS = 300;

/**
 * Creates the actions of a user in a project, whose drafts these are. When it is closed because another project or user is shown, an
 * answer that comes still settles its draft, and shows nothing.
 */
export function createWork(client: Client, shared: Holder, settings: SettingsStore, project: string, drafts: Drafts) {
  const holder = closable(shared);
  const { get, set, say } = holder;
  const hands = createHands(holder, drafts);
  const { byId, drop, keep, underway } = hands;
  const finishes = createFinishes(client, holder, hands, drafts, {
    answered: refill,
    unwanted: (effortId, item) => void takeBack(effortId, item),
  });

  /** Begins with what is in the user's hands, and what was typed before. */
  async function begin() {
    await load();
    if (holder.isOpen()) finishes.send();
  }

  async function load(): Promise<void> {
    const before = get().held;
    const { data, failure } = await ask(client, ClaimsDocument, { project });
    if (!holder.isOpen()) return;
    if (get().held !== before) return load(); // of what changed meanwhile the answer may not know
    if (failure && !failure.again) return sorry(failure, 'Your items could not be read');
    if (data && !data.project) return; // who is no member any more is told by the subscription
    const claims = data?.project?.viewerClaims;
    if (!claims) return holder.after(AGAIN_MS, () => void load()); // while the queue is being rebuilt
    const gone = (id: string) => !claims.some((item) => item.id === id) && !drafts.get(id).sending;
    for (const item of get().held.filter(({ id }) => gone(id) && !underway.has(id))) {
      if (item.claim && Date.parse(item.claim.until) <= serverNow()) hands.expire(item);
      else keep(item, 'is not yours any more');
    }
    hands.hold(claims);
    const known = new Set(get().kept.map(({ id }) => id));
    const others = drafts.ids().filter((id) => gone(id) && !known.has(id) && worthKeeping(drafts.get(id)));
    set({ kept: [...get().kept, ...others.map((id) => ({ id, name: drafts.get(id).name || 'An item', reason: 'is not yours any more' }))] });
  }

  function sorry(failure: Failure, what: string) {
    say('bad', `${what}: ${failure.message}`, { about: failure.again ? UNREACHED : undefined });
  }

  async function claim(count: number, quiet = false) {
    if (get().busy || !holder.isOpen()) return;
    const input = { projectId: project, count, idempotencyKey: newKey() };
    set(quiet ? { busy: 'claim' } : { busy: 'claim', hasLeft: false });
    const { data, failure } = await ask(client, ClaimDocument, { input });
    if (!holder.isOpen()) return;
    set({ busy: '' });
    if (failure) return quiet ? undefined : sorry(failure, 'Nothing was claimed');
    holder.settle(UNREACHED);
    const payload = data.claimProjectItems;
    const problem = payload?.problem;
    if (problem) return say('bad', sentence(problem.message), { about: problem.__typename === 'ProjectPaused' ? PAUSED : undefined });
    const items = payload?.items ?? [];
    const before = get().selected;
    hands.add(items);
    if (!quiet && get().selected !== before) set({ toForm: !get().hasLeft });
    if (!quiet && items.length) set({ expired: [] });
    if (!items.length) say('plain', 'Nothing waits in the queue at the moment.');
    else if (!quiet && items.length > 1) say('plain', `${items.length} items are yours.`);
  }

  /** Keeps as many items ready as the user wants. */
  function refill() {
    const missing = settings.get().ahead - get().held.filter(hands.isFree).length;
    if (missing > 0 && !get().live.paused && get().connection === 'live') void claim(missing, true);
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

  /** What was found out about the last item that was finished here. */
  let last: Pick<Draft, 'categoryId' | 'subcategoryId' | 'keywords'> | undefined;

  /** Finishes an item with what is in its form; says what is missing. */
  function finish(id: string): string {
    const missing = finishes.finish(id);
    const { categoryId, subcategoryId, keywords } = drafts.get(id);
    if (!missing) last = { categoryId, subcategoryId, keywords };
    return missing;
  }

  /** Finishes an item with the same as the last one; says why that cannot be. */
  function repeat(id: string): string {
    if (!last) return 'There is no answer to repeat yet: finish an item first.';
    const { categoryId } = last;
    if (!get().project?.categories?.some((category) => category.id === categoryId)) return 'The category of your last answer cannot be chosen any more.';
    type(id, { ...last, word: '' });
    return finish(id);
  }

  /** Keeps what is typed. What was sent already is not what is typed now. */
  function type(id: string, change: Partial<Draft>) {
    const { sending: _, ...draft } = drafts.get(id);
    const name = byId(id)?.name ?? draft.name;
    if (!drafts.put(id, { ...draft, ...change, name, at: Date.now() })) say('bad', 'This browser has no room left to keep what you type over a reload.');
  }

  /** Takes away an item that was given up, and a finish that waited for that. */
  function gone(id: string) {
    finishes.restore(id);
    drop(id);
  }

  async function skip(id: string, reason: SkipReason, minutes?: number) {
    const name = byId(id)?.name;
    const done = await change(id, 'It was not skipped', async (item, token) => {
      const input = { itemId: item.id, token, reason, minutes: reason === 'TO_ME_LATER' ? minutes : undefined, idempotencyKey: newKey() };
      const { data, failure } = await ask(client, SkipDocument, { input });
      return { failure, problem: data?.skipProjectItem?.problem?.message };
    });
    if (!done) return;
    gone(id);
    if (reason !== 'TO_ME_LATER') drafts.remove(id);
    const to = { TO_ME_LATER: `comes back to you in ${minutes} minutes`, TO_OTHERS: 'goes to somebody else', FOR_NOBODY: 'is marked as one that cannot be labelled' };
    say('plain', `“${name}” ${to[reason]}.`);
    set({ lasting: 'A skip cannot be undone: only a finish can.' });
    refill();
  }

  async function release(id: string) {
    const name = byId(id)?.name;
    const done = await change(id, 'It was not given back', async (item, token) => {
      const { data, failure } = await ask(client, ReleaseDocument, { input: { itemId: item.id, token, idempotencyKey: newKey() } });
      return { failure, problem: data?.releaseProjectItem?.problem?.message };
    });
    if (!done) return;
    gone(id);
    say('plain', `“${name}” is back in the queue.`);
    set({ lasting: 'What was given back cannot be taken back: only a finish can be undone.' });
  }

  async function extend(id: string, quiet = false) {
    const done = await change(id, 'The time was not extended', async (item, token) => {
      const { data, failure } = await ask(client, ExtendDocument, { input: { itemId: item.id, token, idempotencyKey: newKey() } });
      if (quiet && failure) return {};
      return { failure, problem: data?.extendClaim?.problem?.message, item: data?.extendClaim?.item ?? undefined };
    });
    if (done && !quiet) say('plain', 'The time for it begins again.');
  }

  /** Takes back what was finished last, before it is sent or within five minutes. */
  function undoLast() {
    if (finishes.withdraw()) return;
    const last = get().done.find(({ until }) => until > serverNow());
    const { lasting } = get();
    if (lasting) {
      set({ lasting: '' });
      return say('plain', last ? `${lasting} Press u again to undo the finish of “${last.name}”.` : lasting);
    }
    if (last) void undo(last.effortId);
    else say('plain', 'There is nothing to undo: five minutes after a finish it stays.');
  }

  /** Undoes a finish that counted although the user took it out of what is sent; what was finished since is sent then. */
  async function takeBack(effortId: string, item: Pick<Held, 'id' | 'name'>) {
    underway.add(item.id);
    const done = await undo(effortId, true);
    underway.delete(item.id);
    if (!holder.isOpen()) return finishes.restore(item.id);
    if (!done) return keep(item, 'was finished before you took it back');
    if (drafts.get(item.id).sending) finishes.finish(item.id);
  }

  /** By effort, what is being undone or was: that an effort was finished is no news any more then. */
  const undoes = new Map<string, Promise<boolean>>();

  /** Takes a finish back, once. What was found is in the form again, or what was typed since. */
  function undo(effortId: string, typed = false): Promise<boolean> {
    const begun = undoes.get(effortId);
    if (begun) return begun;
    const done = askToUndo(effortId, typed);
    undoes.set(effortId, done);
    void done.then((worked) => worked || undoes.delete(effortId));
    return done;
  }

  async function askToUndo(effortId: string, typed: boolean): Promise<boolean> {
    const { data, failure } = await ask(client, UndoDocument, { input: { effortId, idempotencyKey: newKey() } });
    if (failure) {
      sorry(failure, 'It was not undone');
      return false;
    }
    const { item, effort, problem } = data.undoFinish ?? {};
    set({ done: get().done.filter((done) => done.effortId !== effortId), notices: get().notices.filter((notice) => notice.undo?.effortId !== effortId) });
    if (problem || !item) {
      say('bad', problem?.message ?? 'It was not undone.');
      return false;
    }
    const found = { categoryId: effort?.category?.id ?? '', subcategoryId: effort?.subcategory?.id ?? '', keywords: effort?.keywords ?? [] };
    if (!typed) drafts.put(item.id, { ...blank, ...found, name: item.name, at: Date.now() });
    hands.add([item]);
    if (!typed) set({ selected: item.id });
    say('plain', `“${item.name}” is yours again.`);
    return true;
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
    if (event.type === 'EXPIRED') return hands.expire(here);
    if (event.type === 'FINISHED' && event.user?.id === viewer?.id) {
      const effort = item.efforts?.nodes[0];
      if (effort && undoes.has(effort.id)) return;
      if (effort && finishes.forget(here.claim?.token ?? '')) return void takeBack(effort.id, here);
      drafts.remove(item.id);
      return drop(item.id);
    }
    reload(); // the event may be from before the claim: what is stored says whose the item is
  }

  let reloading = false;
  function reload() {
    if (reloading) return;
    reloading = true;
    holder.after(RELOAD_MS, () => {
      reloading = false;
      if (!get().busy) void load();
    });
  }

  /** Extends what is being typed about; called again and again. */
  function watch() {
    const item = byId(get().selected ?? '');
    if (!item?.claim) return;
    const draft = drafts.get(item.id);
    const left = Date.parse(item.claim.until) - serverNow();
    if (left < Math.min(EXTEND_BEFORE_MS, ((get().project?.leaseMinutes ?? 15) * 60_000) / 3) && Date.now() - draft.at < ACTIVE_MS && get().connection === 'live') void extend(item.id, true);
  }

  return {
    begin,
    close: holder.close,
    load,
    send: finishes.send,
    claim,
    finish,
    repeat,
    skip,
    release,
    extend,
    undo,
    undoLast,
    follow,
    watch,
    /** Works on an item: in its form, or going through the list. */
    select: (id: string, toForm = false) => set({ selected: id, toForm }),
    /** The user has left the form: an answer that comes later does not move the cursor there again. */
    leaveForm: () => set({ toForm: false, hasLeft: true }),
    /** Forgets what was typed about an item that is gone. */
    forget(id: string) {
      drafts.remove(id);
      set({ kept: get().kept.filter((kept) => kept.id !== id) });
    },
    draft: (id: string) => drafts.get(id),
    type,
  };
}

export type Work = ReturnType<typeof createWork>;
