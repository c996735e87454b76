import { useEffect, useState } from 'react';
import { useClient } from 'urql';
import { ask } from '../board/client';
import { useFinding } from '../board/finding';
import { useLater } from '../board/hooks';
import { size } from '../board/manage/words';
import { number } from '../board/text';
import { FilePage } from './FilePage';
import { findInLibrary, setsOf, type FileRow } from './files';
import { LibraryTagsDocument, LibraryUsageDocument, type LibraryTagsQuery, type LibraryUsageQuery } from './gql/graphql';
import { useAddress, useDeskState } from './hooks';
import { countOf, Upload } from './Upload';

const TYPING_MS = 250;

/** The user's files, found by name, set and tag as one types; beside them the one that the address names. */
export default function Library() {
  const client = useClient();
  const { viewer, gone } = useDeskState();
  const { address } = useAddress();
  const opened = address.file ?? '';
  const [typed, setTyped] = useState({ name: '', tag: '', set: '' });
  const search = { name: useLater(typed.name, TYPING_MS), tag: useLater(typed.tag, TYPING_MS), set: useLater(typed.set, TYPING_MS) };
  const finding = useFinding(JSON.stringify(search), (after, isNeeded) => findInLibrary(client, viewer!.id, search, after, isNeeded));
  const { found, busy, problem, hasMore, more, again, change } = finding;
  const shown = (found ?? []).filter(({ id }) => !gone.has(id));
  const isSearch = Object.values(search).some((text) => text.trim());
  const changed = (file: FileRow) => change((files) => files.map((one) => (one.id === file.id ? file : one)));

  return (
    <div className={opened ? 'notes has-note is-library' : 'notes is-library'}>
      <section className="note-list" aria-label="Your files">
        <Upload onArrived={() => void again()} />
        <div className="row-form after" role="search">
          <div className="field">
            <label htmlFor="file-name">Name contains</label>
            <input id="file-name" type="search" autoComplete="off" value={typed.name} onChange={(event) => setTyped({ ...typed, name: event.target.value })} />
          </div>
          <div className="field">
            <label htmlFor="file-tag">Your tag begins with</label>
            <input id="file-tag" type="search" autoComplete="off" maxLength={200} value={typed.tag} onChange={(event) => setTyped({ ...typed, tag: event.target.value })} />
          </div>
          <div className="field">
            <label htmlFor="file-set">Set</label>
            <input id="file-set" type="search" list="sets" autoComplete="off" value={typed.set} onChange={(event) => setTyped({ ...typed, set: event.target.value })} />
            <Sets files={shown} />
          </div>
        </div>
        <TagChoice key={search.tag} beginsWith={search.tag.trim()} onChoose={(tag) => setTyped({ ...typed, tag })} />
        <p className="muted" role="status">
          {busy ? 'Searching…' : found && `${countOf(shown.length)} shown${hasMore ? ', there may be more' : ''}`}
        </p>
        {problem && (
          <p className="problem" role="alert">
            {problem}{' '}
            <button type="button" onClick={() => void more()}>
              Try again
            </button>
          </p>
        )}
        <ul className="shots" aria-busy={busy} aria-label="Files">
          {shown.map((file) => (
            <li key={file.id}>
              <FileTile file={file} isOpened={file.id === opened} />
            </li>
          ))}
        </ul>
        {found && !shown.length && !busy && !problem && (
          <p className="muted">{hasMore ? 'None among those that were looked at: look further.' : isSearch ? 'None of your files is like that.' : 'You have no files yet: upload some.'}</p>
        )}
        {hasMore && !problem && (
          <button type="button" aria-disabled={busy} onClick={() => void more()}>
            {search.name.trim() || search.set.trim() ? 'Look further' : 'More files'}
          </button>
        )}
        <Usage key={`${gone.size} ${found?.length}`} />
      </section>
      {opened && <FilePage key={opened} id={opened} sets={setsOf(shown)} onChanged={changed} />}
    </div>
  );
}

/** The names of sets, for completion. */
function Sets({ files }: { files: FileRow[] }) {
  return (
    <datalist id="sets">
      {setsOf(files).map((set) => (
        <option key={set} value={set} />
      ))}
    </datalist>
  );
}

/** The user's tags that begin with what is typed, to choose one of them. */
function TagChoice({ beginsWith, onChoose }: { beginsWith: string; onChoose: (tag: string) => void }) {
  const client = useClient();
  const { viewer } = useDeskState();
  const [values, setValues] = useState<NonNullable<LibraryTagsQuery['itemTagValues']>>([]);
  useEffect(() => {
    if (!beginsWith) return;
    let open = true;
    void ask(client, LibraryTagsDocument, { beginsWith, authorId: viewer!.id }).then(({ data }) => open && setValues(data?.itemTagValues ?? []));
    return () => {
      open = false;
    };
  }, [client, viewer, beginsWith]);
  if (!values.length) return null;
  return (
    <ul className="note-tags" aria-label="Your tags that begin so">
      {values.map(({ value, count }) => (
        <li key={value}>
          <button type="button" onClick={() => onChoose(value)}>
            {value} <span className="muted">{number(count)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function FileTile({ file, isOpened }: { file: FileRow; isOpened: boolean }) {
  const { link } = useAddress();
  return (
    <a className="shot" href={link({ file: file.id })} aria-current={isOpened ? 'true' : undefined}>
      <FileShot file={file} />
      <strong>{file.name}</strong>
      <span className="muted">{[file.setName, size(file.size), file.withdrawnAt && 'withdrawn'].filter(Boolean).join(' · ')}</span>
    </a>
  );
}

/** The small picture of a file, or its type. */
function FileShot({ file }: { file: FileRow }) {
  const [failed, setFailed] = useState(false);
  if (!file.thumbnailUrl || failed) return <span className="shot-none">{file.type}</span>;
  return <img src={file.thumbnailUrl} alt="" loading="lazy" onError={() => setFailed(true)} />;
}

/** How much room the files take. */
function Usage() {
  const client = useClient();
  const [usage, setUsage] = useState<NonNullable<NonNullable<LibraryUsageQuery['viewer']>['itemUsage']>>();
  useEffect(() => {
    let open = true;
    void ask(client, LibraryUsageDocument, {}).then(({ data }) => open && setUsage(data?.viewer?.itemUsage ?? undefined));
    return () => {
      open = false;
    };
  }, [client]);
  if (!usage) return null;
  return (
    <p className="muted after">
      {countOf(usage.itemCount)} of yours, {size(usage.size)}; there is room for {size(Math.max(0, usage.quota - usage.claimed))} more.
    </p>
  );
}
