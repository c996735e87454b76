// What the board knows of a project's queue, made of what the subscription tells. Pure: the store keeps it, tests feed it.
import { number } from './text';
import type { Card, Counts, Event, Message } from './types';

/** A line of the list of what happened. */
export interface Happening {
  cursor: string;
  event: Event;
}

/** The queue as the last message left it. */
export interface Live {
  counts: Counts | null;
  queued: number;
  size: number;
  paused: boolean;
  /** The newest events first. */
  feed: Happening[];
  /** Cards by the ids of their items. */
  cards: Map<string, Placed>;
  /** Grows with each event, so that it can be told what came after a question was asked. */
  sequence: number;
  /** When items were finished since the snapshot, in milliseconds. */
  finishes: number[];
  /** Why events are missing, until the snapshot that follows is there. */
  gap: string;
}

/** A card, and after which event it was put where it is. */
export interface Placed {
  card: Card;
  sequence: number;
}

const FEED = 200;
const CARDS = 600;
const FINISHES = 5000;

export const nothing: Live = { counts: null, queued: 0, size: 0, paused: false, feed: [], cards: new Map(), sequence: 0, finishes: [], gap: '' };

/** Takes a message in. One that came before, which happens after a reconnection, changes nothing. */
export function receive(live: Live, message: Message): Live {
  switch (message.__typename) {
    case 'ProjectGap':
      return { ...live, gap: message.message };
    case 'ProjectSnapshot': {
      const { counts, queued, size, paused } = message.queue;
      return { ...live, counts, queued, size, paused, finishes: [], gap: '' }; // what came before it is not known
    }
    case 'ProjectEvent':
      return live.feed.some(({ cursor }) => cursor === message.cursor) ? live : follow(live, message);
  }
}

function follow(live: Live, event: Event): Live {
  const sequence = live.sequence + 1;
  const next: Live = {
    ...live,
    sequence,
    counts: event.counts,
    queued: event.queued,
    feed: [{ cursor: event.cursor, event }, ...live.feed].slice(0, FEED),
  };
  if (event.type === 'PAUSED') next.paused = true;
  if (event.type === 'RESUMED') next.paused = false;
  if (event.type === 'FINISHED') next.finishes = [...live.finishes, Date.parse(event.at)].slice(-FINISHES);
  if (event.type === 'UNDONE') next.finishes = without(live.finishes, event.item?.efforts?.nodes[0]?.finishedAt);
  if (event.type === 'REMOVED' && event.itemId) {
    next.cards = new Map(live.cards);
    next.cards.delete(event.itemId);
  }
  if (event.item) {
    next.cards = new Map(live.cards);
    next.cards.delete(event.item.id); // to the end: the newest come last
    next.cards.set(event.item.id, { card: { ...event.item, status: event.status ?? event.item.status }, sequence });
    for (const id of next.cards.keys()) {
      if (next.cards.size <= CARDS) break;
      next.cards.delete(id);
    }
  }
  return next;
}

/** The finishes without one of that time; all of them if it was before they were counted. */
function without(finishes: number[], time = ''): number[] {
  const at = finishes.lastIndexOf(Date.parse(time));
  return at < 0 ? finishes : finishes.filter((_, i) => i !== at);
}

/** Puts cards in place of those that are there; what events told since the question was asked stays. */
export function lay(live: Live, cards: Card[], asked: number): Live {
  const next = new Map<string, Placed>();
  for (const card of cards) next.set(card.id, { card, sequence: asked });
  for (const [id, placed] of live.cards) {
    if (placed.sequence <= asked) continue;
    next.delete(id);
    next.set(id, placed);
  }
  return { ...live, cards: next };
}

/** The columns of the board. */
export interface Columns {
  waiting: Card[];
  claimed: Card[];
  finished: Card[];
  reviewed: Card[];
  skipped: Card[];
}

/** Sorts the cards whose names contain what is looked for into columns, the newest first; who came first in the queue first in "waiting". */
export function columns(live: Live, wanted = ''): Columns {
  const part = wanted.trim().toLocaleLowerCase();
  const sorted: Columns = { waiting: [], claimed: [], finished: [], reviewed: [], skipped: [] };
  for (const { card } of live.cards.values()) {
    if (!card.name.toLocaleLowerCase().includes(part)) continue;
    switch (card.status) {
      case 'NEW':
        sorted.waiting.push(card);
        break;
      case 'CLAIMED':
        sorted.claimed.push(card);
        break;
      case 'FINISHED':
        (review(card) ? sorted.reviewed : sorted.finished).push(card);
        break;
      case 'SKIPPED':
        sorted.skipped.push(card);
        break;
    }
  }
  const newest = (time: (card: Card) => string) => (a: Card, b: Card) => time(b).localeCompare(time(a));
  sorted.claimed.sort(newest((card) => card.claim?.since ?? ''));
  sorted.finished.sort(newest((card) => finding(card)?.finishedAt ?? ''));
  sorted.reviewed.sort(newest((card) => review(card)?.at ?? ''));
  sorted.skipped.sort(newest((card) => card.updatedAt));
  return sorted;
}

/** How many items wait in the queue, and where the others are. */
export function queueNote({ paused, queued, size, counts }: Live): string {
  if (paused) return 'Paused';
  const others = (counts?.new ?? 0) - queued;
  const note = `${number(queued)} of at most ${number(size)} are queued`;
  if (others <= 0) return note;
  return queued < size ? `${note}, ${number(others)} kept for their author or for later` : `${note}, ${number(others)} come after them`;
}

/** The last effort that counts. */
export function finding(card: Card) {
  const last = card.efforts?.nodes[0];
  return last && !last.undoneAt ? last : undefined;
}

/** What a reviewer said of it. */
export function review(card: Card) {
  return finding(card)?.review ?? undefined;
}

/** Finishes in each of the last minutes, the oldest first; the last one is the minute that runs. */
export function pace(finishes: number[], now: number, minutes: number): number[] {
  const counted = new Array<number>(minutes).fill(0);
  for (const at of finishes) {
    const ago = Math.floor((now - at) / 60_000);
    if (ago < minutes) counted[minutes - 1 - Math.max(ago, 0)]! += 1;
  }
  return counted;
}
