import { useEffect } from 'react';

const TOGGLES = '.graphiql-explorer-root span[style*="cursor: pointer"]';
const TICKED = 'svg circle + path, svg[style*="rotate"]'; // a ticked box, an open arrow

/**
 * Lets fields and arguments in the explorer be reached by Tab, and ticked by Enter or Space: the plugin knows the mouse only.
 */
export function ExplorerKeys() {
  useEffect(() => {
    let at = -1; // which toggle has the focus: it may be drawn anew, without it
    const toggles = () => [...document.querySelectorAll(TOGGLES)];

    function mark() {
      const all = toggles();
      for (const toggle of all) {
        toggle.tabIndex = 0;
        toggle.setAttribute('role', 'checkbox');
        toggle.setAttribute('aria-checked', String(toggle.querySelector(TICKED) !== null));
      }
      if (document.activeElement === document.body) all[at]?.focus();
    }
    const observer = new MutationObserver(mark);
    observer.observe(document.body, { childList: true, subtree: true });

    const listening = new AbortController();
    const listen = (type, listener) => document.addEventListener(type, listener, { signal: listening.signal });
    listen('focusin', ({ target }) => {
      at = toggles().indexOf(target);
    });
    listen('pointerdown', () => {
      at = -1;
    });
    listen('keydown', (event) => {
      if (!['Enter', ' '].includes(event.key) || event.ctrlKey || event.metaKey || !event.target.matches?.(TOGGLES)) return;
      event.preventDefault();
      event.target.click();
    });
    mark();
    return () => {
      observer.disconnect();
      listening.abort();
    };
  }, []);
  return null;
}
