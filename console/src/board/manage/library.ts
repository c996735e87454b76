// Finding some of a user's own files, to make items of them.
import type { Client } from '@urql/core';
import { ask } from '../client';
import { findFitting, folded, type Finding } from '../finding';
import { OwnFilesDocument, TaggedFilesDocument, type FileFragment } from '../gql/graphql';

/** What is looked for; an empty text finds all. */
export interface Wanted {
  /** A part of the name. */
  name: string;
  /** The beginning of a tag of the user's own. */
  tag: string;
}

/** Finds files of the viewer behind a cursor. The server knows files by their tags, not by their names. With isNeeded false it ends. */
export function findFiles(client: Client, viewer: string, wanted: Wanted, after: string | null, isNeeded: () => boolean = () => true): Promise<Finding<FileFragment>> {
  const name = folded(wanted.name.trim());
  const beginsWith = wanted.tag.trim();
  const read = async (first: number, after: string | null) => {
    const { data, failure } = beginsWith
      ? await ask(client, TaggedFilesDocument, { beginsWith, authorId: viewer, first, after })
      : await ask(client, OwnFilesDocument, { first, after });
    return { page: data && ('taggedItems' in data ? data.taggedItems : data.viewer?.items), failure };
  };
  // Tags are also on pages of others' scores; what was withdrawn is for nobody else.
  const fits = (file: FileFragment) => file.owner?.id === viewer && !file.withdrawnAt && folded(file.name).includes(name);
  return findFitting(read, fits, name !== '', after, isNeeded);
}
