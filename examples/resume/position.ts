/** What is read of a message, whatever else is selected. */
export type ProjectMessage =
  | { __typename: 'ProjectSnapshot' | 'ProjectEvent'; cursor: string }
  | { __typename: 'ProjectGap' };

const REMEMBERED = 1_000;

/** How far somebody has come in the events of a project. */
export class Position {
  /** Where to go on; none means with a snapshot. */
  after: string | null;
  #seen = new Set<string>();

  constructor(after?: string | null) {
    this.after = after ?? null;
  }

  /** Moves on to a message; false when it has been there before. */
  take(message: ProjectMessage): boolean {
    if (message.__typename === 'ProjectGap') {
      // The old position is of no use any more. Cut off right now, one begins with the snapshot that is still to come.
      this.after = null;
      this.#seen.clear();
      return true;
    }
    const { __typename: type, cursor } = message;
    if (type === 'ProjectEvent') {
      if (this.#seen.has(cursor)) return false;
      this.#seen.add(cursor);
      for (const oldest of this.#seen) {
        if (this.#seen.size <= REMEMBERED) break;
        this.#seen.delete(oldest);
      }
    }
    this.after = cursor;
    return true;
  }
}
