import { useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';

/**
 * A dialog that Esc, a click beside it and its button close; the focus goes back to where it was. It begins at what has
 * data-first, or at the dialog itself: not at the button that closes it.
 */
export function Dialog(props: { title: string; onClose: () => void; onKey?: (key: string) => boolean; children: ReactNode; wide?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    (dialog?.querySelector<HTMLElement>('[data-first]') ?? dialog)?.focus();
    return () => dialog?.close();
  }, []);

  function press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).matches('input, textarea')) return;
    if (props.onKey?.(event.key)) event.preventDefault();
  }

  return (
    <dialog
      ref={element}
      tabIndex={-1}
      className={props.wide ? 'is-wide' : undefined}
      aria-labelledby="dialog-title"
      onClose={() => element.current?.open || props.onClose()}
      onKeyDown={press}
      onClick={(event) => event.target === element.current && props.onClose()}
    >
      <div className="dialog-body">
        <header>
          <h2 id="dialog-title">{props.title}</h2>
          <button type="button" className="quiet" aria-label="Close" onClick={props.onClose}>
            ×
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
