// The keys of the board: what they do, for the help, and how they are listened to.
import { useEffect, useRef, useState } from 'react';
import type { SettingsStore } from './settings';

/** The keys as the help shows them, and docs/board.md. */
export const KEYS: { title: string; keys: [string, string][] }[] = [
  {
    title: 'Everywhere',
    keys: [
      ['g', 'Then w, b, s, r, h or m: go to Work, Board, Statistics, Review, History, Manage'],
      ['u', 'Undo the last finish: before it is sent, or within five minutes'],
      ['g g', 'Guidelines: open or close them'],
      ['p', 'Choose another project'],
      ['?', 'This help'],
      ['Esc', 'Leave a field, close a dialog'],
    ],
  },
  {
    title: 'Work',
    keys: [
      ['n', 'Claim the next item'],
      ['Shift+N', 'Claim five items'],
      ['j / k', 'To the next or previous one of your items; Enter or c goes to its form'],
      ['1 – 9', 'Category: the first to the ninth, as their numbers show, also in its empty field'],
      ['.', 'The same as your last answer: fill it in and finish'],
      ['c / b / w', 'To category, subcategory or keywords'],
      ['↑ ↓ Enter', 'In a field: choose, and go on to the next field'],
      ['Ctrl+Enter', 'Finish, from any field'],
      ['s', 'Skip: then l for later, o for others, x for nobody, which asks once more: Tab, Enter'],
      ['r', 'Release: give it back to the queue'],
      ['e', 'Begin its time again'],
    ],
  },
  {
    title: 'Picture',
    keys: [
      ['z', 'Fit or full size; a click does the same'],
      ['+ / -', 'Nearer or farther, as the wheel does; drag it, or move it by arrow keys when the cursor is on it'],
      ['t / Shift+T', 'Turn it to the right or left'],
      ['l / Shift+L', 'Lighter or darker'],
      ['0', 'As it was'],
      ['m', 'Play or pause a sound or a film'],
      ['o', 'Open the original in another tab'],
    ],
  },
  {
    title: 'Board',
    keys: [['/', 'Find a card by its name; Enter or ↓ goes to the first one, Enter on a card opens it']],
  },
  {
    title: 'Review',
    keys: [
      ['j / k', 'To the next or previous result'],
      ['a', 'Accept: it is correct; in the grid, all that are chosen'],
      ['i', 'Incorrect: then say why, Ctrl+Enter sends it'],
      ['e', 'Correct it yourself: say what it is, Ctrl+Enter sends it'],
      ['u', 'Look again at what you reviewed last'],
      ['v', 'One result at a time, or many as a grid'],
      ['x', 'In the grid: choose all or none; Space chooses one, arrow keys go to the next'],
    ],
  },
];

/** What keys do: names as in KeyboardEvent.key, "Ctrl+Enter" for that one. */
export type Bindings = Record<string, (() => void) | undefined>;

const inField = (target: EventTarget | null) => target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select');

/** Whether a key is meant for the page: not for a field or a dialog, and, if it is a single one, only if the user wants those. */
function isMeant(event: KeyboardEvent, settings: SettingsStore) {
  if (event.defaultPrevented || event.isComposing || event.altKey || document.querySelector('dialog[open]')) return false;
  const single = !event.ctrlKey && !event.metaKey && event.key.length === 1;
  return !single || (!inField(event.target) && settings.get().singleKeys);
}

/** Listens for keys while the component is shown. Single keys do nothing in a field, in a dialog, and where the user has switched them off. */
export function useKeys(settings: SettingsStore, bindings: Bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  useEffect(() => {
    function press(event: KeyboardEvent) {
      if (!isMeant(event, settings)) return;
      if (event.repeat && !['j', 'k', '+', '-'].includes(event.key)) return;
      // Escape leaves the field, so that single keys work again.
      if (event.key === 'Escape' && inField(event.target)) (event.target as HTMLElement).blur();
      const act = current.current[event.ctrlKey || event.metaKey ? `Ctrl+${event.key}` : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [settings]);
}

const SECOND_KEY_MS = 2_000;

/** Listens for two keys, one after the other: the first one, then one of the bindings. What else is pressed second does nothing. Returns whether a second one is awaited. */
export function useTwoKeys(settings: SettingsStore, first: string, bindings: Bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  const [isWaiting, setIsWaiting] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    function wait(on: boolean) {
      clearTimeout(timer);
      timer = on ? setTimeout(() => wait(false), SECOND_KEY_MS) : undefined;
      setIsWaiting(on);
    }
    function press(event: KeyboardEvent) {
      if (event.key === 'Shift' || event.repeat || !isMeant(event, settings) || event.ctrlKey || event.metaKey) return;
      if (!timer && event.key !== first) return;
      event.preventDefault();
      event.stopImmediatePropagation(); // what the key does alone is not meant
      if (!timer) return wait(true);
      wait(false);
      current.current[event.key]?.();
    }
    window.addEventListener('keydown', press, true);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('keydown', press, true);
    };
  }, [settings, first]);
  return isWaiting;
}
