// Names that people read in place of the values of enums.
import type { FileFormat, ProjectItemStatus, TeamType } from '../gql/graphql';

export const statusNames: Record<ProjectItemStatus, string> = { NEW: 'Waiting', CLAIMED: 'In hands', FINISHED: 'Finished', SKIPPED: 'Skipped' };

export const formatNames: Record<FileFormat, string> = { CSV: 'CSV', JSON_LINES: 'JSON Lines' };

/** What the members of a team may do. */
export const roleNames: Record<TeamType, string> = { TAGGIE: 'label', REVIEWER: 'label and review', MANAGER: 'label, review and manage' };

/** A number of bytes: "1.2 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes;
  let unit = '';
  for (const next of units) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}
