// The first steps of a labeller: five keys, learned by using them. They are shown once to each user in each browser.

/** What is said of each key, in the order of the work; keys stand between backquotes. */
export const TOUR: readonly string[] = [
  '`n` claims the next item: it is yours for a while.',
  '`1` to `9` choose what it is, as the numbers show. Or type a part of the name, and press `Enter`.',
  '`Ctrl`+`Enter` finishes it, and the next item comes.',
  '`u` takes the last finish back, within five minutes. In a field, press `Esc` first.',
  '`s` skips an item that you cannot label. In a field, press `Esc` first. `?` shows all keys.',
];

/** The text of a step, in parts, of which every second one is a key. */
export const partsOf = (step: string) => step.split('`');

/** What the user has done since the step that is shown began. */
export interface Deeds {
  holds: boolean;
  hasChosen: boolean;
  hasFinished: boolean;
}

/** The step that follows by what the user has done; the same one if nothing leads further. */
export function stepAfter(step: number, { holds, hasChosen, hasFinished }: Deeds): number {
  const isDone = [holds, hasChosen || hasFinished, hasFinished][step];
  return isDone ? step + 1 : step;
}

const keyOf = (viewer: string) => `taggie:tour:${viewer}`;

/** Whether the user has seen them in this browser. */
export const hasSeenTour = (viewer: string, storage: Storage = window.localStorage) => storage.getItem(keyOf(viewer)) !== null;

/** Remembers that the user has seen them, or does not want to. */
export function endTour(viewer: string, storage: Storage = window.localStorage) {
  try {
    storage.setItem(keyOf(viewer), 'seen');
  } catch {
    // full: they are shown once more
  }
}
