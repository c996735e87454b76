// Finding some of the user's files in the library.
import type { Client } from '@urql/core';
import { ask } from '../board/client';
import { findFitting, folded, type Finding } from '../board/finding';
import { LibraryFilesDocument, LibraryTaggedDocument, type FileRowFragment } from './gql/graphql';

export type FileRow = FileRowFragment;

/** What is looked for; an empty text finds all. */
export interface Search {
  /** A part of the name. */
  name: string;
  /** The beginning of a tag of the user's own. */
  tag: string;
  /** The set, whole. */
  set: string;
}

/** Finds files of the viewer behind a cursor. The server knows files by their tags; for names and sets, one page after another is looked at. */
export function findInLibrary(client: Client, viewer: string, search: Search, after: string | null, isNeeded: () => boolean): Promise<Finding<FileRow>> {
  const name = folded(search.name.trim());
  const set = folded(search.set.trim());
  const beginsWith = search.tag.trim();
  const read = async (first: number, after: string | null) => {
    const { data, failure } = beginsWith
      ? await ask(client, LibraryTaggedDocument, { beginsWith, authorId: viewer, first, after })
      : await ask(client, LibraryFilesDocument, { first, after });
    return { page: data && ('taggedItems' in data ? data.taggedItems : data.viewer?.items), failure };
  };
  // One may have tagged pages of others' scores, too.
  const fits = (file: FileRow) => file.owner?.id === viewer && folded(file.name).includes(name) && (!set || folded(file.setName) === set);
  return findFitting(read, fits, name !== '' || set !== '', after, isNeeded);
}

/** The sets of these files, each once, in order. */
export const setsOf = (files: FileRow[]) => [...new Set(files.map(({ setName }) => setName).filter(Boolean))].sort(new Intl.Collator(undefined, { numeric: true }).compare);
