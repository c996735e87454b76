import { useState } from 'react';
import { ask } from '../client';
import {
  CreateExportDocument,
  ExportLinkDocument,
  ExportProgressDocument,
  ExportsDocument,
  ExportStateDocument,
  type ExportFragment,
  type FileFormat,
  type ProjectItemStatus,
} from '../gql/graphql';
import { useBoard, useBoardState, useNow } from '../hooks';
import { ago, number } from '../text';
import { advise, useAct } from './act';
import { onSubmit, TroubleNote } from './forms';
import { useProgress, usePages } from './lists';
import { formatNames, size, statusNames } from './words';

const SHOWN = 5;

/** Has the browser save a file. It opens another tab, which closes by itself: this page is not left, so that nothing which it sends is asked about. */
function save(url: string) {
  const link = document.createElement('a');
  link.href = url;
  link.target = '_blank';
  link.rel = 'noreferrer';
  document.body.append(link);
  link.click();
  link.remove();
}

/** Writes results into files, and lists them. */
export function Exports() {
  const { project } = useBoardState();
  const id = project?.id ?? '';
  const exports = usePages(ExportsDocument, { project: id, first: SHOWN }, (data) => data.project?.exports);
  const { act, busy, trouble } = useAct();
  const [format, setFormat] = useState<FileFormat>('CSV');
  const [status, setStatus] = useState<ProjectItemStatus | ''>('FINISHED');

  async function create() {
    const data = await act(CreateExportDocument, { projectId: id, format, status: status || null });
    const made = data?.createProjectExport?.export;
    if (made) exports.change((nodes) => [made, ...nodes.filter((node) => node.id !== made.id)]);
  }

  return (
    <section className="panel" aria-label="Exports">
      <h2>Export the results</h2>
      <form className="row-form" onSubmit={onSubmit(create)}>
        <div className="field is-short">
          <label htmlFor="export-format">Format</label>
          <select id="export-format" value={format} onChange={(event) => setFormat(event.target.value as FileFormat)}>
            {Object.entries(formatNames).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="field is-short">
          <label htmlFor="export-status">Items</label>
          <select id="export-status" value={status} onChange={(event) => setStatus(event.target.value as ProjectItemStatus | '')}>
            <option value="">All</option>
            {Object.entries(statusNames).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" className="primary" aria-disabled={busy}>
          Export
        </button>
      </form>
      <TroubleNote trouble={trouble} />
      {exports.problem && <p className="problem">{exports.problem}</p>}
      <ul className="entries">
        {exports.nodes?.map((entry) => (
          <Export key={entry.id} entry={entry} onChange={(changed) => exports.change((nodes) => nodes.map((node) => (node.id === changed.id ? changed : node)))} />
        ))}
      </ul>
      {exports.hasMore && (
        <button type="button" aria-disabled={exports.busy} onClick={() => void exports.more()}>
          Earlier exports
        </button>
      )}
    </section>
  );
}

function Export({ entry, onChange }: { entry: ExportFragment; onChange: (entry: ExportFragment) => void }) {
  const { store } = useBoard();
  const now = useNow(5_000);
  const [problem, setProblem] = useState('');
  const runs = entry.state === 'QUEUED' || entry.state === 'RUNNING';
  useProgress(entry.id, runs, ExportProgressDocument, ExportStateDocument, onChange);

  /** A link is valid for an hour, so it is asked for when it is needed. The answer is a download: this page stays. */
  async function download() {
    setProblem('');
    const { data, failure } = await ask(store.client, ExportLinkDocument, { id: entry.id });
    const url = data?.node && 'url' in data.node ? data.node.url : null;
    if (url) save(url);
    else setProblem(failure ? advise(failure) : 'The file is no longer there: files are kept for 30 days. Export again.');
  }

  return (
    <li className="entry">
      <p role="status">
        <strong>
          {formatNames[entry.format]}, {entry.status ? statusNames[entry.status].toLowerCase() : 'all items'}
        </strong>{' '}
        {runs ? `${number(entry.items)} items written…` : entry.state === 'DONE' ? `${number(entry.items)} ${entry.items === 1 ? 'item' : 'items'}, ${size(entry.bytes ?? 0)}` : `${entry.message ?? 'It failed.'} Export again.`}{' '}
        <span className="muted">
          {entry.createdBy?.name}, {ago(entry.createdAt, now)}
        </span>
      </p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {entry.state === 'DONE' && (
        <div className="actions">
          <button type="button" onClick={() => void download()}>
            Download
          </button>
        </div>
      )}
    </li>
  );
}
