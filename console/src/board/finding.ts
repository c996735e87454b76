// Finding files in lists that the server gives in pages: as it orders them, and by looking at one page after another for what it does not know.
import { useEffect, useRef, useState } from 'react';
import { advise } from './act';
import type { Failure } from './client';

/** What was found, and where to go on. */
export interface Finding<File> {
  files: File[];
  /** Where the next search begins; null at the end. */
  next: string | null;
  /** Why it ended before its time; empty if it did not. */
  problem: string;
}

/** One page of a list; a place whose file is gone is null. */
interface Page<File> {
  nodes: (File | null)[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

type Read<File> = (first: number, after: string | null) => Promise<{ page: Page<File> | null | undefined; failure?: Failure }>;

const ENOUGH = 50; // found, to be shown
const PAGE = 50;
const SCAN_PAGE = 500; // docs/limits.md: elements of a page
const PAGES = 8; // looked at before the user is asked whether to look on

/** A text as it is compared: case and form do not matter. */
export const folded = (text: string) => text.normalize('NFKC').toLowerCase();

/**
 * Finds the files that fit behind a cursor. If the server does not know what is looked for, isScan has long pages read: up to 4,000 files are
 * looked at, until there are enough. With isNeeded false it ends.
 */
export async function findFitting<File>(read: Read<File>, fits: (file: File) => boolean, isScan: boolean, after: string | null, isNeeded: () => boolean): Promise<Finding<File>> {
  const files: File[] = [];
  let next = after;
  for (let at = 0; at < PAGES && isNeeded(); at += 1) {
    const { page, failure } = await read(isScan ? SCAN_PAGE : PAGE, next);
    if (!page) return { files, next, problem: failure ? advise(failure) : 'There is nothing to show. Reload the page.' };
    for (const file of page.nodes) if (file && fits(file)) files.push(file);
    next = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    if (next === null || files.length >= ENOUGH) break;
  }
  return { files, next, problem: '' };
}

/** Searches as the question says, again when it changes, a page at a time; the last question wins. */
export function useFinding<File extends { id: string }>(question: string, find: (after: string | null, isNeeded: () => boolean) => Promise<Finding<File>>) {
  const [found, setFound] = useState<File[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const latest = useRef(0);

  async function read(after: string | null, before: File[]) {
    const mine = ++latest.current;
    setBusy(true);
    const finding = await find(after, () => mine === latest.current);
    if (mine !== latest.current) return;
    setBusy(false);
    setProblem(finding.problem);
    const known = new Set(before.map(({ id }) => id));
    setFound([...before, ...finding.files.filter(({ id }) => !known.has(id))]);
    setNext(finding.next);
  }

  useEffect(() => {
    void read(null, []);
    return () => {
      latest.current += 1;
    };
  }, [question]);

  return {
    /** null until the first page is there. */
    found,
    busy,
    problem,
    hasMore: next !== null,
    more: () => (busy ? undefined : read(next, found ?? [])),
    /** Searches from the beginning; what is shown stays until there is an answer. */
    again: () => read(null, []),
    change: (to: (files: File[]) => File[]) => setFound((before) => before && to(before)),
  };
}
