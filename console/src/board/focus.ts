// Keeps the cursor in the page: what has it may go, because it was removed, or because there is nothing to do with it any more.
import { useEffect, useRef } from 'react';

/** Returns the ref of an element in which the cursor is kept: when what had it goes, the cursor goes to the heading of its panel. */
export function useKeptFocus<Kept extends HTMLElement>() {
  const box = useRef<Kept>(null);
  useEffect(() => {
    const root = box.current;
    if (!root) return;
    let last: HTMLElement | null = null;
    let around: Element[] = []; // what is around it: nothing knows that once it is removed
    const learn = ({ target }: FocusEvent) => {
      last = target as HTMLElement;
      around = [];
      for (let element = last.parentElement; element && element !== root; element = element.parentElement) around.push(element);
    };
    const forget = () => {
      last = null; // the user clicks elsewhere
    };
    const look = () => {
      if (!last || document.activeElement !== document.body || (last.isConnected && !last.matches(':disabled'))) return;
      const panel = around.find((element) => element.isConnected && element.matches('.panel')) ?? root;
      const heading = panel.querySelector<HTMLElement>('h2');
      last = null;
      heading?.setAttribute('tabindex', '-1');
      heading?.focus({ preventScroll: true });
    };
    root.addEventListener('focusin', learn);
    window.addEventListener('pointerdown', forget, true);
    const observer = new MutationObserver(look);
    observer.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] });
    return () => {
      root.removeEventListener('focusin', learn);
      window.removeEventListener('pointerdown', forget, true);
      observer.disconnect();
    };
  }, []);
  return box;
}
