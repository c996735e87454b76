// The keys of the board: what they do, for the help, and how they are listened to.
import { useEffect, useRef } from 'react';
import type { SettingsStore } from './settings';

/** The keys as the help shows them, and docs/board.md. */
export const KEYS: { title: string; keys: [string, string][] }[] = [
  {
    title: 'Everywhere',
    keys: [
      ['1 – 6', 'Work, Board, Statistics, Review, History; for managers also Manage'],
      ['u', 'Undo the last finish: before it is sent, or within five minutes'],
      ['g', 'Guidelines: open or close them'],
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
      ['c / b / w', 'To category, subcategory or keywords'],
      ['↑ ↓ Enter', 'In a field: choose, and go on to the next field'],
      ['Ctrl+Enter', 'Finish, from any field'],
      ['s', 'Skip: then l for later, o for others, x for nobody, which asks once more: Tab, Enter'],
      ['r', 'Release: give it back to the queue'],
      ['e', 'Begin its time again'],
      ['z', 'Picture: fit or full size'],
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
      ['a', 'Accept: it is correct'],
      ['i', 'Incorrect: then say why, Ctrl+Enter sends it'],
      ['u', 'Look again at what you reviewed last'],
    ],
  },
];

/** What keys do: names as in KeyboardEvent.key, "Ctrl+Enter" for that one. */
export type Bindings = Record<string, (() => void) | undefined>;

const inField = (target: EventTarget | null) => target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select');

/** Listens for keys while the component is shown. Single keys do nothing in a field, in a dialog, and where the user has switched them off. */
export function useKeys(settings: SettingsStore, bindings: Bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  useEffect(() => {
    function press(event: KeyboardEvent) {
      if (event.defaultPrevented || event.isComposing || event.altKey || document.querySelector('dialog[open]')) return;
      const control = event.ctrlKey || event.metaKey;
      const single = !control && event.key.length === 1;
      if (single && (inField(event.target) || !settings.get().singleKeys)) return;
      if (event.repeat && !['j', 'k'].includes(event.key)) return;
      // Escape leaves the field, so that single keys work again.
      if (event.key === 'Escape' && inField(event.target)) (event.target as HTMLElement).blur();
      const act = current.current[control ? `Ctrl+${event.key}` : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [settings]);
}
