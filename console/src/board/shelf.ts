// Guidelines of a project: what the user has read of them, and what a manager has typed and not saved. Both are kept in the browser.

/** A text at its version; 0 is that nobody has written any. */
export interface Version {
  version: number;
  text: string;
}

/** What a manager has typed, and the text that it was made of. */
export interface Edit {
  typed: string;
  base: Version;
}

export const isChanged = ({ typed, base }: Edit) => typed !== base.text;

/** Whether somebody else has changed the text since the manager began. */
export const isConflict = ({ base }: Edit, now: Version) => base.version < now.version;

/** What is edited when the text is as it is now: what was typed stays, else it is the text as it is. */
export function follow(edit: Edit | null, now: Version): Edit {
  if (edit && edit.base.version > now.version) return edit; // an answer that a later one has overtaken
  return edit && isChanged(edit) && edit.typed !== now.text ? edit : { typed: now.text, base: now };
}

/** What is kept of the guidelines of a project for a user. */
export function createShelf(storage: Storage, viewer: string, project: string) {
  const readKey = `taggie:guidelines-read:${viewer}:${project}`;
  const editKey = `taggie:guidelines-edit:${viewer}:${project}`;
  let mine: string | null = null; // what was kept here; another tab may keep something else since
  function put(key: string, text: string): boolean {
    try {
      storage.setItem(key, text);
      return true;
    } catch {
      return false; // full
    }
  }
  return {
    /** The version that the user has read last; 0 for none. */
    read: () => Number(storage.getItem(readKey)) || 0,
    markRead: (version: number) => put(readKey, String(version)),
    edit(): Edit | null {
      try {
        return JSON.parse(storage.getItem(editKey) ?? 'null');
      } catch {
        return null; // written by another version
      }
    },
    /** Keeps what differs from the text it was made of; reports whether it is safe. When nothing differs, it removes what it kept, but not what another tab keeps. */
    keep(edit: Edit): boolean {
      if (!isChanged(edit)) {
        if (mine !== null && storage.getItem(editKey) === mine) storage.removeItem(editKey);
        return true;
      }
      const text = JSON.stringify(edit);
      const isKept = put(editKey, text);
      if (isKept) mine = text;
      return isKept;
    },
  };
}
