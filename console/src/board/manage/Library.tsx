import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { useAct, type Trouble } from '../act';
import { Dialog } from '../Dialog';
import { useFinding } from '../finding';
import { TroubleNote } from '../forms';
import { ImportItemsDocument, type FileFragment } from '../gql/graphql';
import { useBoard, useBoardState, useLater } from '../hooks';
import { stepTo } from '../ReviewGrid';
import { number } from '../text';
import { findFiles } from './library';
import { size } from './words';

const BATCH = 500; // docs/limits.md: items named in importItems
const TYPING_MS = 250;

const files = (count: number) => (count === 1 ? '1 file' : `${number(count)} files`);

/** Makes items of files that the user has uploaded before. */
export function PickFromLibrary({ onImported }: { onImported: () => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // The cursor comes back to where the dialog was opened.
  useEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return (
    <section className="panel" aria-label="Pick from your library">
      <h2>Pick from your library</h2>
      <div className="actions">
        <button ref={opener} type="button" onClick={() => setIsOpen(true)}>
          Choose among your files…
        </button>
        <p className="muted hint">Files that you have uploaded, here or for a score. Those that the project has already change nothing.</p>
      </div>
      {isOpen && <Library onImported={onImported} onClose={() => setIsOpen(false)} />}
    </section>
  );
}

/** Searches the files of the user. */
function useFiles(name: string, tag: string) {
  const { store } = useBoard();
  const viewer = useBoardState().viewer?.id ?? '';
  return useFinding(JSON.stringify([name, tag, viewer]), (after, isNeeded) => findFiles(store.client, viewer, { name, tag }, after, isNeeded));
}

function Library({ onImported, onClose }: { onImported: () => void; onClose: () => void }) {
  const { store } = useBoard();
  const { project } = useBoardState();
  const { act, busy: isSending, trouble } = useAct();
  const [name, setName] = useState('');
  const [tag, setTag] = useState('');
  const search = { name: useLater(name, TYPING_MS), tag: useLater(tag, TYPING_MS) };
  const { found, busy, problem, hasMore, more, change } = useFiles(search.name, search.tag);
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map()); // ids and names; a further search keeps them
  const [at, setAt] = useState(''); // the tile that Tab goes to
  const grid = useRef<HTMLUListElement>(null);
  const shown = found ?? [];
  const current = shown.find(({ id }) => id === at) ?? shown[0];
  const areAll = shown.length > 0 && shown.every(({ id }) => chosen.has(id));

  function choose(which: FileFragment[], isChosen: boolean) {
    const next = new Map(chosen);
    for (const { id, name } of which) {
      if (isChosen) next.set(id, name);
      else next.delete(id);
    }
    setChosen(next);
  }

  function press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tiles = [...(grid.current?.querySelectorAll<HTMLElement>('.shot') ?? [])];
    const from = tiles.indexOf(event.target as HTMLElement);
    if (from < 0) return;
    const columns = tiles.filter((tile) => tile.offsetTop === tiles[0]!.offsetTop).length;
    const to = stepTo(event.key, from, tiles.length, columns);
    if (to === from) return;
    event.preventDefault();
    tiles[to]!.focus();
  }

  /** A file that was deleted meanwhile has its batch refused: it is named, and no longer chosen or shown. */
  function leaveOut(trouble: Trouble): Trouble {
    const { itemId } = trouble;
    const gone = itemId && chosen.get(itemId);
    if (!gone) return trouble;
    setChosen((before) => new Map([...before].filter(([id]) => id !== itemId)));
    change((files) => files.filter(({ id }) => id !== itemId));
    return { ...trouble, message: `“${gone}” is no longer in your library, and no longer chosen. Bring the others.` };
  }

  /** Gives them to the project. What was given is no longer chosen if a later batch fails. */
  async function bring() {
    const ids = [...chosen.keys()];
    for (let begin = 0; begin < ids.length; begin += BATCH) {
      const batch = ids.slice(begin, begin + BATCH);
      if (!(await act(ImportItemsDocument, { projectId: project!.id, itemIds: batch }, leaveOut))) return;
      onImported();
      setChosen((before) => new Map([...before].filter(([id]) => !batch.includes(id))));
    }
    store.say('good', `${files(ids.length)} of your library become items in a moment: see “Imports”.`);
    onClose();
  }

  return (
    <Dialog title="Your files" onClose={onClose} wide>
      <div className="row-form">
        <div className="field">
          <label htmlFor="library-name">Name contains</label>
          <input id="library-name" data-first type="search" autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
        </div>
        <div className="field">
          <label htmlFor="library-tag">One of your tags begins with</label>
          <input id="library-tag" type="search" autoComplete="off" value={tag} onChange={(event) => setTag(event.target.value)} />
        </div>
      </div>
      <div className="actions bar-of-list">
        <button type="button" disabled={!shown.length} onClick={() => choose(shown, !areAll)}>
          {areAll ? 'Choose none of these' : 'Choose all of these'}
        </button>
        <p role="status">{busy ? 'Searching…' : `${number(shown.length)} shown, ${number(chosen.size)} chosen`}</p>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}{' '}
          <button type="button" onClick={() => void more()}>
            Try again
          </button>
        </p>
      )}
      <ul ref={grid} className="shots library" aria-busy={busy} aria-label="Your files" onKeyDown={press}>
        {shown.map((file) => (
          <li key={file.id}>
            <button type="button" className="shot" aria-pressed={chosen.has(file.id)} tabIndex={file.id === current?.id ? 0 : -1} onFocus={() => setAt(file.id)} onClick={() => choose([file], !chosen.has(file.id))}>
              <FileShot file={file} />
              <strong>{file.name}</strong>
              <span className="muted">{[file.setName, size(file.size)].filter(Boolean).join(' · ')}</span>
            </button>
          </li>
        ))}
      </ul>
      {found?.length === 0 && !busy && !problem && (
        <p className="muted">
          {hasMore ? 'None among those that were looked at: look further.' : name.trim() || tag.trim() ? 'None of your files is like that.' : 'You have no files yet. Bring pictures from a folder first.'}
        </p>
      )}
      {hasMore && !problem && (
        <button type="button" aria-disabled={busy} onClick={() => void more()}>
          {name.trim() ? 'Look further' : 'More files'}
        </button>
      )}
      <TroubleNote trouble={trouble} />
      <div className="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="primary" disabled={!chosen.size} aria-disabled={isSending} onClick={() => void bring()}>
          Bring {files(chosen.size)}
        </button>
      </div>
    </Dialog>
  );
}

/** The small picture of a file, or its type. */
function FileShot({ file }: { file: FileFragment }) {
  const { mayShow } = useBoard();
  const [failed, setFailed] = useState(false);
  const url = file.thumbnailUrl;
  if (!url || failed || !mayShow(url)) return <span className="shot-none">{file.type}</span>;
  return <img src={url} alt="" loading="lazy" onError={() => setFailed(true)} />;
}
