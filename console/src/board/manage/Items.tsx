import { useEffect, useRef, useState, type DragEvent } from 'react';
import { useQuery } from 'urql';
import {
  CancelImportDocument,
  FaultsDocument,
  ImportProgressDocument,
  ImportsDocument,
  ImportStateDocument,
  RemoveItemsDocument,
  type FileFormat,
  type ImportFragment,
} from '../gql/graphql';
import { useBoard, useBoardState, useNow } from '../hooks';
import { ago, number, percent } from '../text';
import { useAct } from '../act';
import { Confirm, TroubleNote } from '../forms';
import { Pages, replaced, useProgress, usePages } from './lists';
import { filesOf } from './dropped';
import { BringPictures, useFolder, useTaking } from './Folder';
import { isPicture } from './picked';
import { PickFromLibrary } from './Library';
import { formatOf, preview, type Preview } from './preview';
import { Removals } from './Removals';
import type { Upload } from './uploads';

const SHOWN = 10;
const BEGINNING = 64 * 1024; // as much of a file as the preview reads

/** Brings items from a file, and shows what was brought before. */
export function Items() {
  const { project, uploads } = useBoardState();
  const id = project?.id ?? '';
  const imports = usePages(ImportsDocument, { project: id, first: SHOWN }, (data) => data.project?.imports);
  const [removed, setRemoved] = useState(0);
  const own = uploads.filter((upload) => upload.project === id);

  // An upload that has become an import is shown in the list; so is a batch of pictures.
  const folder = useFolder();
  const started = [...own.map((upload) => upload.started), folder?.project === id && folder.batches].join(' ');
  const shown = useRef(started);
  useEffect(() => {
    if (shown.current !== started) void imports.again();
    shown.current = started;
  }, [started]);

  return (
    <div className="section">
      <section className="panel" aria-label="Bring items">
        <h2>Bring items from a file</h2>
        <FileChoice project={id} />
        {own.filter((upload) => !upload.started).map((upload) => (
          <Sending key={upload.id} upload={upload} />
        ))}
      </section>
      <BringPictures />
      <PickFromLibrary onImported={() => void imports.again()} />
      <section className="panel" aria-label="Imports">
        <h2>Imports</h2>
        <Pages of={imports} more="Earlier imports">
          {imports.nodes?.length === 0 && <p className="muted">Nothing was imported yet.</p>}
          <ul className="entries">
            {imports.nodes?.map((entry) => (
              <Import
                key={entry.id}
                entry={entry}
                isNew={own.some((upload) => upload.started === entry.id)}
                onChange={(changed) => imports.change(replaced(changed))}
                onRemoved={() => setRemoved(removed + 1)}
              />
            ))}
          </ul>
        </Pages>
      </section>
      <Removals key={removed} />
    </div>
  );
}

/** Chooses a file, by button or by dropping it, and shows how it will be read. */
function FileChoice({ project }: { project: string }) {
  const { store } = useBoard();
  const [file, setFile] = useState<File | null>(null);
  const [text, setText] = useState('');
  const [format, setFormat] = useState<FileFormat>('CSV');
  const [isOver, setIsOver] = useState(false);
  const [problem, setProblem] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const send = useRef<HTMLButtonElement>(null);
  const take = useTaking();

  async function choose(chosen: File | undefined) {
    if (!chosen) return;
    try {
      const beginning = await chosen.slice(0, BEGINNING).text();
      setText(beginning);
      setFormat(formatOf(chosen.name, beginning));
      setFile(chosen);
      setProblem(chosen.size ? '' : 'The file is empty. Choose another one.');
    } catch {
      setProblem('The browser cannot read the file. Choose it again, or another one.');
    }
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setIsOver(false);
    const [dropped] = event.dataTransfer.files;
    const isFolder = event.dataTransfer.items[0]?.webkitGetAsEntry?.()?.isDirectory;
    // Pictures that miss their place are taken all the same.
    if (isFolder || (dropped && isPicture(dropped))) void take(filesOf(event.dataTransfer)).then(setProblem, () => setProblem('The browser cannot read all of it. Drop it again.'));
    else void choose(dropped);
  }

  function clear() {
    setFile(null);
    setText('');
    if (input.current) input.current.value = '';
    input.current?.focus();
  }

  const seen = file && !problem ? preview(text, format, file.size <= BEGINNING) : null;
  useEffect(() => {
    if (file) send.current?.focus();
  }, [file]);

  return (
    <>
      <div
        className={isOver ? 'drop is-over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <label htmlFor="items-file">A CSV or JSON Lines file: choose it, or drop it here.</label>
        <input
          id="items-file"
          ref={input}
          type="file"
          accept=".csv,.jsonl,.ndjson,.json,text/csv,application/jsonl"
          onChange={(event) => void choose(event.target.files?.[0])}
        />
        <p className="muted hint">Each item needs “externalId” and “name”; “type” and “url” are understood, too. An item that the project has already changes nothing.</p>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {file && seen && (
        <div className="file">
          <div className="actions">
            <label>
              Format{' '}
              <select value={format} onChange={(event) => setFormat(event.target.value as FileFormat)}>
                <option value="CSV">CSV</option>
                <option value="JSON_LINES">JSON Lines</option>
              </select>
            </label>
            <button
              ref={send}
              type="button"
              className="primary"
              disabled={Boolean(seen.problem)}
              onClick={() => {
                store.uploads.send(project, file, format);
                clear();
              }}
            >
              Import {file.name}
            </button>
            <button type="button" onClick={clear}>
              Another file
            </button>
          </div>
          {seen.problem && (
            <p className="problem" role="alert">
              {seen.problem}
            </p>
          )}
          {seen.warning && (
            <p className="muted" role="status">
              {seen.warning}
            </p>
          )}
          {seen.columns.length > 0 && <FirstRows seen={seen} />}
        </div>
      )}
    </>
  );
}

function FirstRows({ seen }: { seen: Preview }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="The first rows of the file">
      <table>
        <caption className="muted">The first rows, and how each column is understood</caption>
        <thead>
          <tr>
            {seen.columns.map(({ name, meaning }, i) => (
              <th key={i} scope="col">
                {name}
                <span className="muted meaning">{meaning}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {seen.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j}>{cell.length > 80 ? `${cell.slice(0, 80)}…` : cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A file on its way. */
function Sending({ upload }: { upload: Upload }) {
  const { store } = useBoard();
  return (
    <div className="entry" role="status">
      <p>
        <strong>{upload.name}</strong>{' '}
        {!upload.problem && (
          <>
            <progress aria-label={`${upload.name} is being sent`} value={upload.sent} max={upload.bytes} /> {percent(upload.sent, upload.bytes)} sent
          </>
        )}
      </p>
      {upload.problem && <p className="problem">{upload.problem}</p>}
      <div className="actions">
        {upload.problem && (
          <button type="button" onClick={() => store.uploads.again(upload.id)}>
            Try again
          </button>
        )}
        <button type="button" onClick={() => store.uploads.drop(upload.id)}>
          {upload.problem ? 'Give up' : 'Stop'}
        </button>
      </div>
    </div>
  );
}

const states: Record<ImportFragment['state'], string> = {
  AWAITING_UPLOAD: 'waits for its file',
  QUEUED: 'begins in a moment',
  RUNNING: 'in progress',
  DONE: 'done',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
};

const sources: Record<ImportFragment['source'], string> = { FILE: 'A file', ITEMS: 'Files of a user', LIBRARY: 'A library', SCORE: 'A score' };

function Import(props: { entry: ImportFragment; isNew: boolean; onChange: (entry: ImportFragment) => void; onRemoved: () => void }) {
  const { entry, onChange } = props;
  const { store } = useBoard();
  const { project } = useBoardState();
  const now = useNow(5_000);
  const { act, busy, trouble, setTrouble } = useAct();
  const [sure, setSure] = useState(false);
  const runs = entry.state === 'QUEUED' || entry.state === 'RUNNING';
  useProgress(entry.id, runs, ImportProgressDocument, ImportStateDocument, onChange);

  async function cancel() {
    const data = await act(CancelImportDocument, { importId: entry.id });
    const cancelled = data?.cancelProjectImport?.import;
    if (cancelled) onChange(cancelled);
  }

  async function remove() {
    const data = await act(RemoveItemsDocument, { projectId: project!.id, importId: entry.id });
    if (!data) return;
    setSure(false);
    store.say('plain', 'The items of this import are being removed. For 30 days you can bring them back: see “Removed items”.');
    props.onRemoved();
  }

  return (
    <li className="entry">
      <p>
        <strong>{sources[entry.source]}</strong> <span className={entry.state === 'FAILED' ? 'tag is-bad' : entry.state === 'DONE' ? 'tag is-good' : 'tag'}>{states[entry.state]}</span>{' '}
        <span className="muted">
          {entry.createdBy?.name}, {ago(entry.createdAt, now)}
        </span>
      </p>
      {runs && (
        <p>
          <progress aria-label="How much of the file has been read" value={entry.bytesRead} max={entry.bytes || 1} /> {percent(entry.bytesRead, entry.bytes)} read
        </p>
      )}
      <p role="status">
        {number(entry.imported)} imported
        {entry.duplicates > 0 && `, ${number(entry.duplicates)} were there already`}
        {entry.mistakes > 0 && `, ${number(entry.mistakes)} with a mistake`}
        {entry.message && `. ${entry.message}`}
      </p>
      {entry.mistakes > 0 && !runs && <Faults id={entry.id} mistakes={entry.mistakes} open={props.isNew} />}
      <TroubleNote trouble={sure ? null : trouble} />
      <div className="actions">
        {(runs || entry.state === 'AWAITING_UPLOAD') && (
          <button type="button" aria-disabled={busy} onClick={() => void cancel()}>
            Cancel
          </button>
        )}
        {!runs && entry.state !== 'AWAITING_UPLOAD' && entry.imported > 0 && (
          <button type="button" onClick={() => setSure(true)}>
            Remove what this import brought
          </button>
        )}
      </div>
      {sure && (
        <Confirm
          title="Remove these items?"
          yes="Remove them"
          busy={busy}
          trouble={trouble}
          onYes={remove}
          onClose={() => {
            setSure(false);
            setTrouble(null);
          }}
        >
          <p>The {number(entry.imported)} items of this import, and what was found out about them, are no longer shown or handed out. You can bring them back for 30 days.</p>
        </Confirm>
      )}
    </li>
  );
}

/** The lines that were left out; read when they are opened. */
function Faults({ id, mistakes, open }: { id: string; mistakes: number; open: boolean }) {
  const [isOpen, setIsOpen] = useState(open);
  const [{ data, error }, again] = useQuery({ query: FaultsDocument, variables: { id }, pause: !isOpen });
  const faults = data?.node && 'faults' in data.node ? data.node.faults : null;
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Lines with a mistake</summary>
      {error && !faults && (
        <p className="problem">
          The lines cannot be read at the moment.{' '}
          <button type="button" onClick={() => again({ requestPolicy: 'network-only' })}>
            Try again
          </button>
        </p>
      )}
      {faults && (
        <ul className="faults">
          {faults.map(({ line, message }) => (
            <li key={line}>
              <strong>Line {number(line)}</strong> {message}
            </li>
          ))}
        </ul>
      )}
      {faults && mistakes > faults.length && <p className="muted">These are the first {number(faults.length)}. Correct them in the file and import it again: what is there already stays.</p>}
      {faults && mistakes <= faults.length && <p className="muted">Correct them in the file and import it again: what is there already stays.</p>}
    </details>
  );
}
