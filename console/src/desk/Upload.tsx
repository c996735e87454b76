import { useEffect, useRef, useState, useSyncExternalStore, type DragEvent } from 'react';
import { chosenIn, filesOf } from '../board/manage/dropped';
import type { Folder } from '../board/manage/folder';
import { look, type Found } from '../board/manage/picked';
import { Thumbs } from '../board/manage/Thumbs';
import { size } from '../board/manage/words';
import { number } from '../board/text';
import { useDesk, useDeskState } from './hooks';

const REFUSED = 100; // as many as are listed

export const countOf = (files: number) => (files === 1 ? '1 file' : `${number(files)} files`);

/** Brings files into the library: chosen or dropped, looked at, sent a few at a time. */
export function Upload({ onArrived }: { onArrived: () => void }) {
  const { folders } = useDesk();
  const { viewer } = useDeskState();
  const folder = useSyncExternalStore(folders.subscribe, folders.get);
  const heading = useRef<HTMLHeadingElement>(null);
  const isOver = folder?.phase === 'done' || folder?.phase === 'stopped';
  useEffect(() => {
    if (isOver) onArrived();
  }, [isOver]);
  return (
    <section className="panel" aria-label="Upload">
      <h3 ref={heading} tabIndex={-1}>
        Upload files
      </h3>
      {folder ? <Underway folder={folder} onClear={() => (folders.clear(), heading.current?.focus())} /> : <Choice left={folders.unfinished(viewer!.id, '')} />}
    </section>
  );
}

function Choice({ left }: { left: string }) {
  const { folders } = useDesk();
  const { viewer } = useDeskState();
  const [isOver, setIsOver] = useState(false);
  const [isReading, setIsReading] = useState(false);
  const [problem, setProblem] = useState('');
  const tree = useRef<HTMLInputElement>(null);
  useEffect(() => tree.current?.setAttribute('webkitdirectory', ''), []);

  async function take(finding: Promise<Found[]>) {
    setIsReading(true);
    setProblem('');
    try {
      const found = await finding;
      const picked = look(found, 'all');
      const [top, ...below] = found[0]?.path.split('/') ?? [];
      if (picked.length) return await folders.choose(viewer!.id, '', below.length ? top! : countOf(picked.length), picked);
      setProblem('There are no files in it. Choose another folder.');
    } catch {
      setProblem('The browser cannot read all of it. Choose it again, or another folder.');
    }
    setIsReading(false);
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setIsOver(false);
    void take(filesOf(event.dataTransfer));
  }

  const field = (event: { target: HTMLInputElement }) => event.target.files?.length && void take(Promise.resolve(chosenIn(event.target.files)));
  return (
    <>
      {left && (
        <p role="note">
          <strong>“{left}” was not uploaded to its end.</strong> Choose or drop it again: only what is missing goes up.
        </p>
      )}
      <div
        className={isOver ? 'drop is-over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <div className="row-form">
          <div className="field">
            <label htmlFor="upload-files">Files</label>
            <input id="upload-files" type="file" multiple onChange={field} />
          </div>
          <div className="field">
            <label htmlFor="upload-folder">A folder</label>
            <input id="upload-folder" ref={tree} type="file" multiple onChange={field} />
          </div>
        </div>
        <p className="muted hint">Or drop them here. Each may have up to 100 MiB. The files of a folder go into a set of its name. You see them before anything goes up.</p>
      </div>
      <p role="status">{isReading && 'Reading the files…'}</p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

/** Files that were chosen: what they are, and how far they are. */
function Underway({ folder, onClear }: { folder: Folder; onClear: () => void }) {
  const { folders } = useDesk();
  const { phase, total, up, before, refused, problem } = folder;
  const faulty = folder.pictures.length - total;
  const first = useRef<HTMLButtonElement>(null);
  // The cursor follows to what can be done next; the button that had it may be gone.
  useEffect(() => first.current?.focus(), [phase]);

  return (
    <div className="file">
      <p>
        <strong>{folder.name}</strong>: {folder.name !== countOf(total) && `${countOf(total)}, `}
        {size(folder.bytes)}.
        {faulty > 0 && ` ${countOf(faulty)} cannot be uploaded: ${faulty === 1 ? 'it comes' : 'they come'} first below.`}
        {before > 0 && ` This browser has uploaded ${number(before)} of them before.`}
      </p>
      {phase !== 'chosen' && (
        <p>
          <progress aria-label="How much of the files is up" value={folder.sent} max={folder.bytes || 1} /> {number(up)} of {number(total)} up, {size(folder.sent)} of {size(folder.bytes)}
        </p>
      )}
      <p role="status">
        {phase === 'stopped' && !problem && 'Stopped. What is up stays; go on when you like, also after a reload.'}
        {phase === 'done' && (refused ? `${countOf(up)} of ${number(total)} are in your library; the server did not take the others.` : `All ${countOf(total)} are in your library.`)}
      </p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {refused > 0 && (
        <details open>
          <summary>Files that the server did not take</summary>
          <ul className="faults">
            {folder.pictures
              .filter(({ state, picked }) => state === 'refused' && !picked.fault)
              .slice(0, REFUSED)
              .map(({ picked, reason }) => (
                <li key={picked.path}>
                  <strong>{picked.path}</strong> {reason}
                </li>
              ))}
          </ul>
          {refused > REFUSED && <p className="muted">These are the first {number(REFUSED)}.</p>}
        </details>
      )}
      <div className="actions">
        {phase === 'chosen' && total > up && (
          <button ref={first} type="button" className="primary" onClick={folders.start}>
            Upload {countOf(total - up)}
          </button>
        )}
        {phase === 'going' && (
          <button ref={first} type="button" onClick={folders.stop}>
            Stop
          </button>
        )}
        {phase === 'stopped' && (
          <button ref={first} type="button" className="primary" onClick={folders.start}>
            Go on
          </button>
        )}
        {phase === 'chosen' && before > 0 && (
          <button type="button" title="If you have deleted them since, for example" onClick={() => void folders.uploadAgain()}>
            Upload all again
          </button>
        )}
        {phase !== 'going' && (
          <button ref={phase === 'done' || (phase === 'chosen' && total === up) ? first : undefined} type="button" onClick={onClear}>
            {phase === 'stopped' ? 'Give up' : 'Other files'}
          </button>
        )}
      </div>
      {phase !== 'done' && <Thumbs folder={folder} />}
    </div>
  );
}
