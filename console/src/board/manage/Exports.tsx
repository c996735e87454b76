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
import { advise, useAct } from '../act';
import { onSubmit, Select, TroubleNote } from '../forms';
import { Pages, replaced, useProgress, usePages } from './lists';
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
        <Select label="Format" value={format} names={formatNames} onChange={(value) => setFormat(value as FileFormat)} />
        <Select label="Items" value={status} names={statusNames} all="All" onChange={setStatus} />
        <button type="submit" className="primary" aria-disabled={busy}>
          Export
        </button>
      </form>
      <TroubleNote trouble={trouble} />
      <Pages of={exports} more="Earlier exports">
        <ul className="entries">
          {exports.nodes?.map((entry) => (
            <Export key={entry.id} entry={entry} onChange={(changed) => exports.change(replaced(changed))} />
          ))}
        </ul>
      </Pages>
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
