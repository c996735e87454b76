// Whether somebody would lose something if the page were left now.

const EDITABLE = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=textbox]';

/** Watches a document: whether the cursor is in a field, a dialog is open, or something was typed that the page does not keep by itself ([data-kept]). */
export function watchTyping(document) {
  let typed = false;
  document.addEventListener('input', ({ target }) => {
    if (!target.closest('[data-kept]')) typed = true;
  });
  return () => typed || document.activeElement?.matches(EDITABLE) === true || document.querySelector('[role=dialog], [role=alertdialog], dialog[open]') !== null;
}
