// Somebody at work on the first project of the caller, so that there are events to see.

import { ClaimItemsDocument, ProjectsDocument, RebuildQueueDocument, ReleaseItemDocument } from '../operations/generated/documents.ts';
import { send } from './server.ts';

/** The id of the caller's first project. */
export async function firstProject(): Promise<string> {
  const { viewer } = await send(ProjectsDocument, { first: 1 });
  const project = viewer?.projects?.nodes[0];
  if (!project) throw new Error('the caller is in no project');
  return project.id;
}

/** Claims an item and gives it back: two events, after which all is as before. */
export async function work(projectId: string): Promise<void> {
  const { claimProjectItems } = await send(ClaimItemsDocument, { input: { projectId } });
  const item = claimProjectItems?.items?.[0];
  if (!item?.claim?.token) throw new Error(`nothing to claim: ${claimProjectItems?.problem?.message ?? 'the queue is empty'}`);
  await send(ReleaseItemDocument, { input: { itemId: item.id, token: item.claim.token } });
}

/** Makes the queue anew: whoever had a position in its events has lost it. */
export async function rebuild(projectId: string): Promise<void> {
  const { rebuildProjectQueue } = await send(RebuildQueueDocument, { input: { projectId } });
  if (rebuildProjectQueue?.problem) throw new Error(rebuildProjectQueue.problem.message);
}
