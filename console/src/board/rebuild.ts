// Follows the rebuild of a queue, from when the server said that something is unavailable until the queue is there.
import type { Client } from '@urql/core';
import { ask } from './client';
import { RebuildDocument } from './gql/graphql';
import type { Holder } from './state';

const AGAIN_MS = 1_000;
const MOST_FAILURES = 30;

/** Returns what is to be called when something is unavailable: it looks whether the queue is being rebuilt, and tells how far that is. */
export function createRebuilds(client: Client, { get, set }: Pick<Holder, 'get' | 'set'>) {
  let following: string | undefined;

  return async function follow(): Promise<void> {
    const project = get().project?.id;
    if (!project || following === project) return;
    following = project;
    const isShown = () => get().project?.id === project;
    for (let failures = 0; failures < MOST_FAILURES; ) {
      const { data, failure } = await ask(client, RebuildDocument, { project });
      if (!isShown()) break;
      if (failure?.again) failures += 1; // what is shown stays
      else {
        const rebuild = data?.project?.queueRebuild ?? null;
        set({ rebuild });
        if (!rebuild) break;
        failures = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    if (isShown()) set({ rebuild: null });
    if (following === project) following = undefined;
  };
}
