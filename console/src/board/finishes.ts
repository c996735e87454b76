// Finishes on their way to the server. Each is kept with its draft until it was answered, and sent again with the same key.
import type { Client } from '@urql/core';
import { ask } from './client';
import type { Draft, Drafts } from './drafts';
import { FinishDocument } from './gql/graphql';
import type { Hands } from './hands';
import { newKey } from './idempotency';
import type { Closable } from './state';
import type { Held } from './types';

/** How long after a finish it can be undone. */
export const UNDO_MS = 5 * 60_000;

const SEND_AGAIN_MS = 3_000;

/** What messages about a finish are about that is not sent yet. */
const unsent = (id: string) => `unsent ${id}`;

/** What follows from answers. */
export interface Outcome {
  /** A finish that the user asked for needs no more sending. */
  answered: () => void;
  /** A finish counted that the user has taken back before it was answered. */
  unwanted: (effortId: string, item: Pick<Held, 'id' | 'name'>) => void;
}

/** Creates what sends finishes. */
export function createFinishes(client: Client, holder: Closable, hands: Hands, drafts: Drafts, outcome: Outcome) {
  const { get, set, say, settle } = holder;
  /** What was sent and not answered, by key. A claim has a token of its own: what was sent with that of an earlier one is no matter. */
  const unanswered = new Map<string, { token: string; withdrawn: boolean }>();
  let waiting = false;
  let hasEnded = false; // the session: nothing is sent until there is another one

  /** Sends what is in the form; says what is missing. */
  function finish(id: string): string {
    const item = hands.byId(id);
    const token = item?.claim?.token;
    if (!token) return 'This item is not yours any more.';
    const draft = drafts.get(id);
    if (!draft.categoryId) return 'Choose what it is first.';
    const word = draft.word.trim();
    const keywords = word && !draft.keywords.includes(word) ? [...draft.keywords, word] : draft.keywords;
    const sent = { ...draft, keywords, word: '', sending: draft.sending?.token === token ? draft.sending : { token, key: newKey(), at: Date.now() } };
    if (!drafts.put(id, sent)) say('bad', 'This browser has no room left to keep what you type over a reload.');
    set({ hasLeft: false });
    void deliver(item, sent).then((done) => {
      if (done) return outcome.answered();
      const next = get().held.find(hands.isFree);
      if (next && get().selected === id) set({ selected: next.id, toForm: !get().hasLeft });
      later();
    });
    return '';
  }

  /** Sends one finish; reports whether there was an answer. */
  async function deliver(item: Pick<Held, 'id' | 'name'>, draft: Draft): Promise<boolean> {
    if (!draft.sending) return true;
    if (hands.underway.has(item.id)) return false; // it is sent when that is done
    hands.underway.add(item.id);
    const { token, key } = draft.sending;
    const { categoryId, keywords } = draft;
    const sent = { token, withdrawn: false };
    unanswered.set(key, sent);
    const { data, failure } = await ask(client, FinishDocument, {
      input: { itemId: item.id, token, categoryId, subcategoryId: draft.subcategoryId || null, keywords, idempotencyKey: key },
    });
    hands.underway.delete(item.id);
    const isRefused = failure?.code === 'UNAUTHENTICATED'; // the session has ended: it is sent by the next one of the same user
    hasEnded = isRefused;
    const again = failure?.again || isRefused;
    if (again && sent.withdrawn) return !drafts.get(item.id).sending; // or finished anew meanwhile
    if (failure && again) {
      const why = isRefused ? 'your session has ended. It is kept here, and sent when you have signed in.' : `${failure.message} It is kept here, and sent by itself.`;
      say('plain', `“${item.name}” is not sent yet: ${why}`, { about: unsent(item.id) });
      set({ held: [...get().held] });
      return false;
    }
    settle(unsent(item.id));
    unanswered.delete(key);
    if (failure) {
      restore(item.id, key);
      say('bad', `“${item.name}” was not finished: ${failure.message}`);
      return true;
    }
    const othersWithdrawn = forget(token);
    const { effort, problem } = data.finishProjectItem ?? {};
    if (problem?.__typename === 'LeaseLost') {
      const who = problem.current.claim?.user?.name;
      hands.keep(item, who ? `ran out, and ${who} has it now` : 'ran out before it was sent');
      return true;
    }
    const counted = problem?.__typename === 'AlreadyFinished' ? problem.effort : effort;
    if (counted && (sent.withdrawn || (problem && othersWithdrawn))) {
      restore(item.id, key);
      outcome.unwanted(counted.id, item);
      return true;
    }
    hands.drop(item.id, true);
    drafts.remove(item.id);
    if (!counted) return true;
    const category = get().project?.categories?.find(({ id }) => id === categoryId)?.name ?? '';
    const until = Date.parse(counted.finishedAt) + UNDO_MS;
    set({ lasting: '', done: [{ effortId: counted.id, itemId: item.id, name: item.name, category, until }, ...get().done].slice(0, 50) });
    if (problem) say('plain', `“${item.name}” was finished before: ${problem.message}`);
    else say('good', `“${item.name}”: ${category}.`, { undo: { effortId: counted.id, until } });
    return true;
  }

  /** Takes a finish from a draft, so that it is not sent: any, or the one with this key. */
  function restore(id: string, key?: string) {
    const { sending, ...draft } = drafts.get(id);
    if (sending && (!key || sending.key === key)) drafts.put(id, draft);
    set({ held: [...get().held] });
  }

  /** Forgets what was sent with a token, once it is known what became of that; reports whether some of it was taken back. */
  function forget(token: string): boolean {
    const all = [...unanswered].filter(([, sent]) => sent.token === token);
    for (const [key] of all) unanswered.delete(key);
    return all.some(([, sent]) => sent.withdrawn);
  }

  /** Gives the finish that waits for its answer, the last of several, back to the form; reports whether there was one. */
  function withdraw(): boolean {
    const sending = ({ id }: Held) => drafts.get(id).sending;
    const [item] = get().held.filter(sending).sort((a, b) => sending(b)!.at - sending(a)!.at);
    if (!item) return false;
    const sent = unanswered.get(sending(item)!.key);
    if (sent) sent.withdrawn = true;
    restore(item.id);
    settle(unsent(item.id));
    set({ selected: item.id });
    say('plain', `“${item.name}” is in the form again, and is not sent.`);
    return true;
  }

  /** Sends what could not be sent, or was sent by a page that did not live to see the answer, until all of it is. */
  function send() {
    waiting = false;
    const ids = drafts.ids().filter((id) => drafts.get(id).sending);
    void Promise.all(ids.map((id) => deliver({ id, name: drafts.get(id).name }, drafts.get(id)))).then((all) => {
      if (all.includes(true)) outcome.answered();
      if (all.includes(false)) later();
    });
  }

  function later() {
    if (waiting || hasEnded) return;
    waiting = true;
    holder.after(SEND_AGAIN_MS, () => waiting && send());
  }

  return { finish, send, withdraw, forget, restore };
}
