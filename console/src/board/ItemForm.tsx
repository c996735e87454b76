import { useLayoutEffect, useRef, useState, type KeyboardEvent } from 'react';
import { useBoard, useBoardState } from './hooks';
import { useKeys } from './keys';
import { LabelFields } from './LabelFields';
import { canBeNumbered } from './options';
import type { Held } from './types';

/** The form in which one says what an item is. What is typed is kept at once. */
export function ItemForm({ item, onSkip }: { item: Held; onSkip: () => void }) {
  const { store, settings } = useBoard();
  const { project, connection, toForm } = useBoardState();
  const [draft, setDraft] = useState(() => store.work.draft(item.id));
  const [problem, setProblem] = useState('');
  const category = useRef<HTMLInputElement>(null);
  const finishButton = useRef<HTMLButtonElement>(null);

  // Whoever works by keyboard goes on typing at the next item; on a phone the keyboard would cover the picture. It is done at
  // once: a key that is pressed when the form is in sight is meant for it.
  useLayoutEffect(() => {
    if (!toForm) return;
    store.set({ toForm: false });
    if (!window.matchMedia('(pointer: coarse)').matches) category.current?.focus({ preventScroll: true });
  }, [toForm, store]);

  function change(part: Partial<typeof draft>) {
    store.work.type(item.id, part);
    setDraft(store.work.draft(item.id));
    setProblem('');
  }

  const finish = () => settle(store.work.finish(item.id));
  const repeat = () => settle(store.work.repeat(item.id));
  function settle(missing: string) {
    setDraft(store.work.draft(item.id));
    setProblem(missing);
    if (missing) category.current?.focus();
  }

  const categories = project?.categories ?? [];
  const isNumbered = settings.get().singleKeys && canBeNumbered(categories);
  useKeys(settings, {
    ...(isNumbered && Object.fromEntries(categories.slice(0, 9).map(({ id }, i) => [String(i + 1), () => change({ categoryId: id })]))),
    '.': repeat,
    'Ctrl+Enter': finish,
    s: onSkip,
    r: () => void store.work.release(item.id),
    e: () => void store.work.extend(item.id),
  });

  // The cursor is in the empty field of the category when an item is claimed: the key works there, too.
  function press(event: KeyboardEvent) {
    if (event.key !== '.' || event.target !== category.current || category.current.value || !settings.get().singleKeys) return;
    event.preventDefault();
    repeat();
  }

  const last = item.efforts?.nodes[0];
  const returned = last?.review?.verdict === 'INCORRECT' ? last.review : null;
  const sending = Boolean(store.work.draft(item.id).sending); // not of the form: it changes without it
  return (
    <form
      data-kept
      className="item-form"
      aria-label={`What “${item.name}” is`}
      onKeyDown={press}
      onSubmit={(event) => {
        event.preventDefault();
        finish();
      }}
    >
      {returned && (
        <p className="returned" role="note">
          <strong>Found incorrect</strong> by {returned.by?.name ?? 'a reviewer'}: {returned.comment || 'no comment.'}
        </p>
      )}
      <LabelFields value={draft} category={category} isNumbered={isNumbered} onChange={change} />
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <p className="muted kept-note">{sending ? 'Not sent yet. It is kept in this browser, and sent by itself.' : draft.at ? 'Draft kept in this browser.' : ' '}</p>
      <div className="item-actions is-last">
        <button ref={finishButton} type="submit" className="primary" disabled={sending && connection === 'live'}>
          {sending ? 'Send again' : 'Finish'} <kbd>Ctrl ↵</kbd>
        </button>
        <button type="button" onClick={onSkip}>
          Skip… <kbd>s</kbd>
        </button>
        <button type="button" onClick={() => void store.work.release(item.id)}>
          Release <kbd>r</kbd>
        </button>
        <button type="button" onClick={() => void store.work.extend(item.id)}>
          Extend <kbd>e</kbd>
        </button>
      </div>
    </form>
  );
}
