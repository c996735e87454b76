import { useEffect, useRef, useState } from 'react';
import type { Folder, PictureState } from './folder';
import type { Picked } from './picked';
import { createTurns } from './turns';

const TILE_WIDTH = 128;
const ROW_HEIGHT = 148; // as manage.css has it
const PICTURE_HEIGHT = 84;
const SETTLED_MS = 120; // who scrolls past a picture does not want to see it

// A browser decodes a picture in full size before it makes it small: 100 megapixels need 400 MB.
const decode = createTurns(2);

const states: Record<PictureState, string> = { waiting: '', going: 'on its way', up: 'up', in: 'brought', refused: 'not brought' };

/** The files of a folder as small pictures. Only those in sight are there, however many there are. */
export function Thumbs({ folder }: { folder: Folder }) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, width: TILE_WIDTH, height: ROW_HEIGHT });
  useEffect(() => {
    const element = box.current!;
    const measure = () => setView({ top: element.scrollTop, width: element.clientWidth, height: element.clientHeight });
    const watching = new ResizeObserver(measure);
    watching.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      watching.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  const all = folder.pictures;
  const columns = Math.max(1, Math.floor(view.width / TILE_WIDTH));
  const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - 1);
  const last = Math.ceil((view.top + view.height) / ROW_HEIGHT) + 1;
  const shown = all.slice(first * columns, last * columns);
  return (
    <div className="thumbs" ref={box} tabIndex={0} role="region" aria-label="The files of the folder">
      <ul style={{ height: Math.ceil(all.length / columns) * ROW_HEIGHT, paddingTop: first * ROW_HEIGHT, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
        {shown.map(({ picked, state, reason }, i) => (
          <li key={picked.path} className={`thumb is-${state}`} aria-setsize={all.length} aria-posinset={first * columns + i + 1}>
            {picked.fault ? <span className="thumb-none" aria-hidden="true" /> : <Thumb file={picked.file} />}
            <span className="thumb-name" title={picked.path}>
              {picked.name}
            </span>
            <span className={state === 'refused' ? 'thumb-state problem' : 'thumb-state muted'} title={reason}>
              {reason || states[state]}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A small picture of a file. It is drawn: an address of the whole file would have the browser keep all of it. */
function Thumb({ file }: Pick<Picked, 'file'>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => {
    let wanted = true;
    const draw = async () => {
      try {
        const bitmap = await createImageBitmap(file, { resizeHeight: PICTURE_HEIGHT * 2, resizeQuality: 'medium' });
        const element = canvas.current;
        if (wanted && element) {
          element.width = bitmap.width;
          element.height = bitmap.height;
          element.getContext('2d')?.drawImage(bitmap, 0, 0);
          element.dataset.drawn = '';
        }
        bitmap.close();
      } catch {
        if (wanted) setIsBroken(true);
      }
    };
    const timer = setTimeout(() => void decode(() => wanted, draw), SETTLED_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [file]);
  if (isBroken) return <span className="thumb-none">no preview</span>;
  return <canvas ref={canvas} width={1} height={1} aria-hidden="true" />;
}
