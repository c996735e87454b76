// What somebody has typed in a note while others may change it. Pure: the page keeps it, tests feed it.
import { diff3Merge } from 'node-diff3';

export interface Text {
  title: string;
  content: string;
}

/** A text at the version of its note. */
export interface Saved extends Text {
  version: number;
}

/** What was typed, and what it was made of. */
export interface Edit {
  typed: Text;
  base: Saved;
}

const isSame = (one: Text, other: Text) => one.title === other.title && one.content === other.content;

export const isChanged = ({ typed, base }: Edit) => !isSame(typed, base);

/** Whether others have changed the text since. A change of tags or deadline is no conflict. */
export const isConflict = ({ base }: Edit, now: Saved) => base.version < now.version && !isSame(base, now);

/** What is edited when the note is as it is now: what was typed stays, else it is the text as it is. */
export function follow(edit: Edit | null, now: Saved): Edit {
  if (edit && edit.base.version > now.version) return edit; // an answer that a later one has overtaken
  const base = { title: now.title, content: now.content, version: now.version };
  if (!edit || !isChanged(edit) || isSame(edit.typed, now)) return { typed: { title: now.title, content: now.content }, base };
  return isSame(edit.base, now) ? { ...edit, base } : edit;
}

/** Both changes in one text. Where both changed the title or the same lines, mine come first and theirs follow; `overlaps` says so. */
export function merge({ typed, base }: Edit, theirs: Text): Text & { overlaps: boolean } {
  const isBoth = ![base.title, theirs.title].includes(typed.title) && theirs.title !== base.title;
  const title = isBoth ? `${typed.title} / ${theirs.title}` : typed.title === base.title ? theirs.title : typed.title;
  const lines = (text: string) => text.split('\n');
  const parts = diff3Merge(lines(typed.content), lines(base.content), lines(theirs.content));
  const content = parts.flatMap(({ ok, conflict }) => ok ?? [...conflict!.a, ...conflict!.b]).join('\n');
  return { title, content, overlaps: isBoth || parts.some(({ conflict }) => conflict) };
}
