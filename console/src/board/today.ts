// What the user has finished today, in figures.
import type { Client } from '@urql/core';
import { ask, type Answer } from './client';
import { TodayDocument, type TodayQuery } from './gql/graphql';

type Efforts = NonNullable<NonNullable<NonNullable<TodayQuery['project']>['viewerMember']>['efforts']>;

/** A finish, and what became of it. */
export type OwnFinish = Efforts['nodes'][number];

/** The figures of a day. */
export interface Figures {
  /** Finishes that were not taken back. */
  finished: number;
  /** How many an hour, without breaks; null while that says nothing. */
  perHour: number | null;
  /** How many of them were reviewed. */
  reviewed: number;
  /** How many of those are correct. */
  right: number;
  /** Whether there are more than were read. */
  isPart: boolean;
}

const PAGE = 100;
const PAGES = 10;
const NEWEST = 10; // what was finished or taken back a moment ago is among them
const BREAK_MS = 15 * 60_000; // as long as a claim usually lasts
const LEAST_MS = 5 * 60_000; // of work, before a rate says something
const FINISHED_MS = 1_500; // many finishes are one question
const REVIEWED_MS = 10_000; // many reviews, too: for them the whole day is read
const AGAIN_MS = 5 * 60_000; // what was done in another tab

/** The beginning of the day of a moment, where the browser is. */
export const midnight = (now: number) => new Date(now).setHours(0, 0, 0, 0);

/** The figures of what was finished since the day began. Gaps of more than 15 minutes are breaks. */
export function figuresOf(efforts: Iterable<OwnFinish>, day: number, isPart = false): Figures {
  const counted = [...efforts].filter(({ finishedAt, undoneAt }) => !undoneAt && Date.parse(finishedAt) >= day);
  const times = counted.map(({ finishedAt }) => Date.parse(finishedAt)).sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, i) => time - times[i]!).filter((gap) => gap <= BREAK_MS);
  const worked = gaps.reduce((all, gap) => all + gap, 0);
  const reviewed = counted.filter(({ review }) => review);
  return {
    finished: counted.length,
    perHour: worked < LEAST_MS ? null : Math.round((gaps.length * 3600_000) / worked),
    reviewed: reviewed.length,
    right: reviewed.filter(({ review }) => review!.verdict === 'CORRECT').length,
    isPart,
  };
}

/**
 * Reads the user's finishes since the day began, newest first: until one comes that is known, or else up to 1,000. Null if there is no answer;
 * isPart says that there are more.
 */
async function readDay(client: Client, project: string, day: number, known: ReadonlyMap<string, OwnFinish>) {
  const first = known.size ? NEWEST : PAGE;
  const efforts: OwnFinish[] = [];
  let after: string | null = null;
  for (let page = 0; page < PAGES; page += 1) {
    const answer: Answer<TodayQuery> = await ask(client, TodayDocument, { project, first, after });
    const found: Efforts | null | undefined = answer.data?.project?.viewerMember?.efforts;
    if (!found) return null;
    efforts.push(...found.nodes);
    const isOver = found.nodes.some(({ id, finishedAt }) => Date.parse(finishedAt) < day || known.has(id));
    if (isOver || !found.pageInfo.hasNextPage) return { efforts, isPart: false };
    after = found.pageInfo.endCursor;
  }
  return { efforts, isPart: true };
}

/** Reads the user's finishes of a day, follows them until it is closed, and shows their figures. It reads one thing after another. */
export function followDay(client: Client, project: string, day: number, show: (figures: Figures) => void) {
  const efforts = new Map<string, OwnFinish>();
  const waiting = new Map<'newest' | 'all', ReturnType<typeof setTimeout>>();
  let isPart = false;
  let isOpen = true;
  let reading = Promise.resolve();

  async function read(what: 'newest' | 'all') {
    const found = isOpen && (await readDay(client, project, day, what === 'newest' ? efforts : new Map()));
    if (!isOpen || !found) return;
    for (const effort of found.efforts) efforts.set(effort.id, effort);
    isPart = found.isPart || (what === 'newest' && isPart);
    show(figuresOf(efforts.values(), day, isPart));
  }

  const next = (what: 'newest' | 'all') => void (reading = reading.then(() => read(what)));

  /** What comes meanwhile does not put it off. */
  function soon(what: 'newest' | 'all', delay: number) {
    if (waiting.has(what)) return;
    const timer = setTimeout(() => {
      waiting.delete(what);
      next(what);
    }, delay);
    waiting.set(what, timer);
  }

  next('all');
  const again = setInterval(() => next('all'), AGAIN_MS);
  return {
    /** The user has finished something, or taken it back. */
    finished: () => soon('newest', FINISHED_MS),
    /** Somebody has reviewed a finish of the user. */
    reviewed: () => soon('all', REVIEWED_MS),
    close() {
      isOpen = false;
      clearInterval(again);
      for (const timer of waiting.values()) clearTimeout(timer);
    },
  };
}
