import { useEffect, useId, useRef, type KeyboardEvent, type ReactNode, type SyntheticEvent } from 'react';

/**
 * A dialog that Esc, a click beside it and its button close; the focus goes back to where it was. It begins at what has
 * data-first, or at the dialog itself: not at the button that closes it. Once something is typed in a form with
 * data-keep, only a button closes it: Esc goes to the one with data-cancel.
 */
export function Dialog(props: { title: string; onClose: () => void; onKey?: (key: string) => boolean; children: ReactNode; wide?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  const title = useId(); // a dialog may open another one
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    (dialog?.querySelector<HTMLElement>('[data-first]') ?? dialog)?.focus();
    return () => dialog?.close();
  }, []);

  const began = useRef(false); // beside the dialog: a click that began in it, to mark text, closes nothing
  const keeps = () => [...(element.current?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>('form[data-keep] :is(input, textarea, select)') ?? [])].some((field) => field.value !== (field.dataset.begin ?? ''));

  /** Does not close what would be lost, but goes to the button that does. */
  function stay(event: SyntheticEvent) {
    if (!keeps()) return;
    event.preventDefault();
    element.current?.querySelector<HTMLElement>('[data-cancel]')?.focus();
  }

  function press(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    // A browser closes a dialog at the second Esc, whatever the page says; not if the key does nothing.
    if (event.key === 'Escape' && keeps()) {
      return stay(event);
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).matches('input, textarea')) return;
    if (props.onKey?.(event.key)) event.preventDefault();
  }

  return (
    <dialog
      ref={element}
      tabIndex={-1}
      className={props.wide ? 'is-wide' : undefined}
      aria-labelledby={title}
      onClose={() => element.current?.open || props.onClose()}
      onKeyDown={press}
      onCancel={stay}
      onPointerDown={(event) => (began.current = event.target === element.current)}
      onClick={(event) => event.target === element.current && began.current && !keeps() && props.onClose()}
    >
      <div className="dialog-body">
        <header>
          <h2 id={title}>{props.title}</h2>
          <button type="button" className="quiet" aria-label="Close" onClick={props.onClose}>
            ×
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
