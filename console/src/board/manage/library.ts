// Finding some of a user's own files: by the server as far as it can, else by looking at one page after another.
import type { Client } from '@urql/core';
import { advise } from '../act';
import { ask } from '../client';
import { OwnFilesDocument, TaggedFilesDocument, type FileFragment } from '../gql/graphql';

/** What is looked for; an empty text finds all. */
export interface Wanted {
  /** A part of the name. */
  name: string;
  /** The beginning of a tag of the user's own. */
  tag: string;
}

/** What was found, and where to go on. */
export interface Finding {
  files: FileFragment[];
  /** Where the next search begins; null at the end. */
  next: string | null;
  /** Why it ended before its time; empty if it did not. */
  problem: string;
}

const ENOUGH = 50; // found, to be shown
const PAGE = 50;
const NAMED_PAGE = 500; // docs/limits.md: elements of a page
const PAGES = 8; // looked at before the user is asked whether to look on

/** The name as it is compared: case and form do not matter. */
const folded = (text: string) => text.normalize('NFKC').toLowerCase();

/**
 * Finds files of the viewer behind a cursor. The server knows files by their tags, not by their names: for a name, up to 4,000 files are
 * looked at, until there are enough. With isNeeded false it ends.
 */
export async function findFiles(client: Client, viewer: string, wanted: Wanted, after: string | null, isNeeded: () => boolean = () => true): Promise<Finding> {
  const files: FileFragment[] = [];
  const name = folded(wanted.name.trim());
  const tag = wanted.tag.trim();
  const first = name ? NAMED_PAGE : PAGE;
  let next = after;
  for (let page = 0; page < PAGES && isNeeded(); page += 1) {
    const { data, failure } = tag
      ? await ask(client, TaggedFilesDocument, { beginsWith: tag, authorId: viewer, first, after: next })
      : await ask(client, OwnFilesDocument, { first, after: next });
    const found = data && ('taggedItems' in data ? data.taggedItems : data.viewer?.items);
    if (!found) return { files, next, problem: failure ? advise(failure) : 'There is nothing to show. Reload the page.' };
    for (const file of found.nodes) {
      // Tags are also on pages of others' scores; what was withdrawn is for nobody else.
      if (file && file.owner?.id === viewer && !file.withdrawnAt && folded(file.name).includes(name)) files.push(file);
    }
    next = found.pageInfo.hasNextPage ? found.pageInfo.endCursor : null;
    if (next === null || files.length >= ENOUGH) break;
  }
  return { files, next, problem: '' };
}
