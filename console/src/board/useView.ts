import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent } from 'react';
import { FIT, fitting, held, lit, moved, turned, zoomed, type Size, type View } from './view';

const STEP_PX = 60; // of an arrow key
const STEP_ZOOM = 1.3; // of a key
const A_CLICK_PX = 4; // what moves no further was no drag

const sizeOf = (element: HTMLElement): Size => ({ width: element.clientWidth, height: element.clientHeight });

/** How the picture in the frame is looked at, with what the frame and the picture need for that; from the start again when it is of another item. */
export function useView(item: string) {
  const frame = useRef<HTMLDivElement>(null);
  const picture = useRef<HTMLImageElement>(null);
  const drag = useRef<{ x: number; y: number; far: boolean } | null>(null);
  const [view, setView] = useState<View>(FIT);
  useEffect(() => setView(FIT), [item]);

  function look(change: (view: View) => View) {
    setView((now) => {
      const next = change(now);
      return frame.current && picture.current ? held(next, sizeOf(picture.current), sizeOf(frame.current)) : next;
    });
  }

  /** As it fits, or as large as it is; twice as large as it fits if it is no larger. */
  function toggle() {
    const { naturalWidth = 0, clientWidth = 1 } = picture.current ?? {};
    look((now) => (now.zoom > 1 ? { ...now, zoom: 1 } : zoomed(now, Math.max(naturalWidth / clientWidth, 2))));
  }

  // React listens to wheels in a way that cannot keep the page from scrolling.
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    function wheel(event: WheelEvent) {
      const isFit = view.zoom === 1 && event.deltaY > 0; // the page scrolls then
      if (!picture.current || isFit) return;
      event.preventDefault();
      const box = element!.getBoundingClientRect();
      const at = { x: event.clientX - box.x - box.width / 2, y: event.clientY - box.y - box.height / 2 };
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
      look((now) => zoomed(now, Math.exp(-pixels / 500), at));
    }
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  });

  const isZoomed = view.zoom > 1;
  const style: CSSProperties = {
    transform: `translate(${view.x}px, ${view.y}px) scale(${view.zoom * (frame.current && picture.current ? fitting(view.turn, sizeOf(picture.current), sizeOf(frame.current)) : 1)}) rotate(${view.turn}deg)`,
    filter: view.light === 1 ? undefined : `brightness(${view.light})`,
  };
  return {
    isZoomed,
    isChanged: view !== FIT && Object.keys(FIT).some((part) => view[part as keyof View] !== FIT[part as keyof View]),
    toggle,
    reset: () => setView(FIT),
    nearer: () => look((now) => zoomed(now, STEP_ZOOM)),
    farther: () => look((now) => zoomed(now, 1 / STEP_ZOOM)),
    turn: (quarters: 1 | -1) => look((now) => turned(now, quarters)),
    light: (steps: number) => look((now) => lit(now, steps)),
    frame: {
      ref: frame,
      onKeyDown(event: KeyboardEvent) {
        const by = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!isZoomed || !by) return;
        event.preventDefault();
        look((now) => moved(now, by[0]! * STEP_PX, by[1]! * STEP_PX));
      },
      onPointerDown(event: PointerEvent) {
        if (event.button !== 0 || event.target !== picture.current) return;
        event.preventDefault(); // or the browser drags the picture away
        frame.current?.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, y: event.clientY, far: false };
      },
      onPointerMove(event: PointerEvent) {
        const from = drag.current;
        if (!from) return;
        const [x, y] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.far && Math.hypot(x, y) < A_CLICK_PX) return;
        drag.current = { x: event.clientX, y: event.clientY, far: true };
        look((now) => moved(now, x, y));
      },
      onPointerUp() {
        if (drag.current && !drag.current.far) toggle();
        drag.current = null;
      },
      onPointerCancel() {
        drag.current = null;
      },
    },
    picture: { ref: picture, style },
  };
}
