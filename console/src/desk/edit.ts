// What somebody has typed in a note while others may change it. Pure: the page keeps it, tests feed it.

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

/** Both changes in one text. Where both changed the same lines, mine come first and theirs follow; `overlaps` says so. */
export function merge({ typed, base }: Edit, theirs: Text): Text & { overlaps: boolean } {
  const title = typed.title === base.title ? theirs.title : typed.title;
  const { text, overlaps } = mergeLines(base.content.split('\n'), typed.content.split('\n'), theirs.content.split('\n'));
  return { title, content: text.join('\n'), overlaps };
}

/** The lines of `before` from `from` to `to` became `lines`. */
interface Change {
  from: number;
  to: number;
  lines: string[];
}

/** All that differs, as one change. */
function changeOf(before: string[], after: string[]): Change | null {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < before.length - from && end < after.length - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const [to, last] = [before.length - end, after.length - end];
  return from === to && from === last ? null : { from, to, lines: after.slice(from, last) };
}

function mergeLines(base: string[], mine: string[], theirs: string[]): { text: string[]; overlaps: boolean } {
  const [ours, other] = [changeOf(base, mine), changeOf(base, theirs)];
  if (!ours || !other) return { text: ours ? mine : theirs, overlaps: false };
  if (mine.join('\n') === theirs.join('\n')) return { text: mine, overlaps: false };
  const [first, second] = ours.from <= other.from ? [ours, other] : [other, ours];
  if (first.to <= second.from && first.from !== second.from) {
    return { text: [...base.slice(0, first.from), ...first.lines, ...base.slice(first.to, second.from), ...second.lines, ...base.slice(second.to)], overlaps: false };
  }
  const [from, to] = [Math.min(ours.from, other.from), Math.max(ours.to, other.to)];
  const whole = ({ from: start, to: end, lines }: Change) => [...base.slice(from, start), ...lines, ...base.slice(end, to)];
  return { text: [...base.slice(0, from), ...whole(ours), ...whole(other), ...base.slice(to)], overlaps: true };
}
