import { useEffect, useRef, useState, useSyncExternalStore, type DragEvent } from 'react';
import { useBoard, useBoardState } from '../hooks';
import { number } from '../text';
import { chosenIn, filesOf } from './dropped';
import type { Folder as FolderState } from './folder';
import { accepted, type Found } from './picked';
import { files, take } from './taking';
import { Thumbs } from './Thumbs';
import { size } from './words';

const REFUSED = 100; // as many as are listed

const pictures = (count: number) => (count === 1 ? '1 picture' : `${number(count)} pictures`);

/** The folder that is being brought, whichever project it is for. */
export function useFolder() {
  const { store } = useBoard();
  return useSyncExternalStore(store.folders.subscribe, store.folders.get);
}

/** Takes files that were dropped or chosen, to be looked at before they go up. */
export function useTaking() {
  const { store } = useBoard();
  return (finding: Promise<Found[]>) => take(store, finding);
}

/** Brings pictures from a folder: chosen or dropped, looked at, sent a few at a time. */
export function BringPictures() {
  const { store } = useBoard();
  const { viewer, project } = useBoardState();
  const folder = useFolder();
  const heading = useRef<HTMLHeadingElement>(null);
  const isOther = folder && folder.project !== project?.id;
  const left = folder ? '' : store.folders.unfinished(viewer?.id ?? '', project?.id ?? '');
  const [, setForgotten] = useState('');

  function forget() {
    store.folders.dismiss(viewer!.id, project!.id);
    setForgotten(left);
    heading.current?.focus();
  }

  function clear(isGivenUp: boolean) {
    store.folders.clear();
    if (isGivenUp) forget();
    heading.current?.focus();
  }

  return (
    <section className="panel" aria-label="Bring pictures">
      <h2 ref={heading} tabIndex={-1}>
        Bring pictures
      </h2>
      {isOther && folder.phase === 'going' && <p className="muted">Pictures are on their way into another project. Wait until they are there, or stop them there.</p>}
      {(!folder || (isOther && folder.phase !== 'going')) && <PictureChoice left={left} onForget={forget} />}
      {folder && !isOther && <Brought folder={folder} onClear={clear} />}
    </section>
  );
}

function PictureChoice({ left, onForget }: { left: string; onForget: () => void }) {
  const take = useTaking();
  const [isOver, setIsOver] = useState(false);
  const [isReading, setIsReading] = useState(false);
  const [problem, setProblem] = useState('');
  const tree = useRef<HTMLInputElement>(null);
  useEffect(() => tree.current?.setAttribute('webkitdirectory', ''), []);

  async function choose(finding: Promise<Found[]>) {
    setIsReading(true);
    setProblem(await take(finding).catch(() => 'The browser cannot read all of it. Choose it again, or another folder.'));
    setIsReading(false);
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setIsOver(false);
    void choose(filesOf(event.dataTransfer));
  }

  return (
    <>
      {left && (
        <p role="note">
          <strong>“{left}” was not brought to its end.</strong> Choose or drop it again: only what is missing goes up.{' '}
          <button type="button" onClick={onForget}>
            Give it up
          </button>
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
        <p>Drop a folder of pictures here, or choose one.</p>
        <div className="row-form">
          <div className="field">
            <label htmlFor="pictures-folder">A folder</label>
            <input id="pictures-folder" ref={tree} type="file" multiple onChange={(event) => event.target.files?.length && void choose(Promise.resolve(chosenIn(event.target.files)))} />
          </div>
          <div className="field">
            <label htmlFor="pictures-files">Single pictures</label>
            <input id="pictures-files" type="file" multiple accept={accepted} onChange={(event) => event.target.files?.length && void choose(Promise.resolve(chosenIn(event.target.files)))} />
          </div>
        </div>
        <p className="muted hint">JPEG, PNG, GIF, WebP, AVIF and BMP, each up to 100 MiB. Each becomes an item with the name of its file. You see them before anything goes up.</p>
      </div>
      <p role="status">{isReading && 'Reading the folder…'}</p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

/** A folder that was chosen: what is in it, and how far it is. */
function Brought({ folder, onClear }: { folder: FolderState; onClear: (isGivenUp: boolean) => void }) {
  const { store } = useBoard();
  const { phase, total, up, brought, before, refused, problem } = folder;
  const faulty = folder.pictures.length - total;
  const rest = total - brought;
  const first = useRef<HTMLButtonElement>(null);
  const isHere = useRef(true); // the cursor, or nowhere: the field in which the folder was chosen is gone
  // The cursor follows to what can be done next if it was on the button that is gone, and does not leave the field in which the user types.
  useEffect(() => {
    if (isHere.current && document.activeElement === document.body) first.current?.focus();
    isHere.current = document.activeElement === first.current;
  }, [phase]);

  return (
    <div className="file">
      <p>
        <strong>{folder.name}</strong>: {pictures(total)}, {size(folder.bytes)}.
        {faulty > 0 && ` ${files(faulty)} cannot be brought: ${faulty === 1 ? 'it comes' : 'they come'} first below.`}
        {before > 0 && ` ${number(before)} of them ${before === 1 ? 'is' : 'are'} in the project already.`}
      </p>
      {phase !== 'chosen' && (
        <p>
          <progress aria-label="How much of the pictures is up" value={folder.sent} max={folder.bytes || 1} /> {number(up)} of {number(total)} up, {size(folder.sent)} of {size(folder.bytes)}
        </p>
      )}
      <p role="status">
        {phase === 'stopped' && !problem && 'Stopped. What is up stays; go on when you like, also after a reload.'}
        {phase === 'done' && (refused ? `${pictures(brought)} of ${number(total)} are brought; the server did not take the others.` : `All ${pictures(total)} are brought. They become items in a moment: see “Imports”.`)}
      </p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {refused > 0 && <Refused folder={folder} />}
      <div className="actions" onFocus={() => (isHere.current = true)} onBlur={() => (isHere.current = false)}>
        {phase === 'chosen' && rest > 0 && (
          <button ref={first} type="button" className="primary" onClick={store.folders.start}>
            Bring {pictures(rest)}
          </button>
        )}
        {phase === 'going' && (
          <button ref={first} type="button" onClick={store.folders.stop}>
            Stop
          </button>
        )}
        {phase === 'stopped' && (
          <button ref={first} type="button" className="primary" onClick={store.folders.start}>
            Go on
          </button>
        )}
        {phase === 'chosen' && before > 0 && (
          <button type="button" title="If they were removed from the project, for example. What your library still has does not go up again." onClick={() => void store.folders.giveAgain()}>
            Bring all again
          </button>
        )}
        {phase !== 'going' && (
          <button ref={phase === 'done' || (phase === 'chosen' && rest === 0) ? first : undefined} type="button" onClick={() => onClear(phase === 'stopped')}>
            {phase === 'stopped' ? 'Give up' : 'Another folder'}
          </button>
        )}
      </div>
      <Thumbs folder={folder} />
    </div>
  );
}

function Refused({ folder }: { folder: FolderState }) {
  const refused = folder.pictures.filter(({ state, picked }) => state === 'refused' && !picked.fault);
  return (
    <details open>
      <summary>Pictures that the server did not take</summary>
      <ul className="faults">
        {refused.slice(0, REFUSED).map(({ picked, reason }) => (
          <li key={picked.path}>
            <strong>{picked.path}</strong> {reason}
          </li>
        ))}
      </ul>
      {refused.length > REFUSED && <p className="muted">These are the first {number(REFUSED)}.</p>}
    </details>
  );
}
