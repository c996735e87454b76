// Which notes a list shows: what was read in pages, and what was told since. Pure: the list draws it, tests feed it.
import type { RowFragment } from './gql/graphql';

export type Row = RowFragment;

/** What was told of notes since the page was opened; null for one that is gone. */
export type News = ReadonlyMap<string, Row | null>;

/** Which notes are wanted: one's own, perhaps with a tag, or those of others. */
export interface Wanted {
  list: 'mine' | 'shared';
  tag: string;
}

/** Two spellings of one tag are equal after this. Upper case first: it is how JavaScript knows that "ß" is "ss". */
export const folded = (tag: string) => tag.trim().normalize('NFKC').toUpperCase().toLowerCase();

function isWanted({ list, tag }: Wanted, row: Row): boolean {
  if ((row.viewerPermission === 'OWNER') !== (list === 'mine')) return false;
  return !tag || row.tags.some(({ value }) => folded(value) === folded(tag));
}

/** Adds what was told; an older state than the one that is known is no news. */
export function learn(news: News, id: string, row: Row | null): News {
  const known = news.get(id);
  if (known && row && known.version > row.version) return news;
  return new Map(news).set(id, row);
}

const NEVER = '~'; // after all times

const due = ({ deadline }: Row) => deadline ?? NEVER;

/** The rows to show: those that were read, as they are now, and new ones, if their place is among what was read. */
export function arrange(wanted: Wanted, read: Row[], news: News, hasMore: boolean): Row[] {
  const isDue = wanted.list === 'mine' && !wanted.tag; // the order of this list
  const rows = new Map<string, Row>();
  for (const row of read) {
    const told = news.get(row.id);
    if (told === null) continue;
    const now = told && told.version >= row.version ? told : row;
    if (isWanted(wanted, now)) rows.set(row.id, now);
  }
  const last = read.at(-1);
  for (const [id, row] of news) {
    if (!row || rows.has(id) || !isWanted(wanted, row)) continue;
    const isAmong = !hasMore || (isDue && last && due(row) < due(last));
    if (isAmong) rows.set(id, row);
  }
  const sorted = [...rows.values()];
  // Stable: notes of the same time stay as the server orders them.
  return isDue ? sorted.sort((a, b) => (due(a) < due(b) ? -1 : due(a) > due(b) ? 1 : 0)) : sorted;
}
