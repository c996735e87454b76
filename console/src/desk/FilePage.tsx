import { useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { advise, useAct } from '../board/act';
import { ask } from '../board/client';
import { Field, onSubmit, TroubleNote } from '../board/forms';
import { size } from '../board/manage/words';
import { LibraryFileDocument, PutIntoSetDocument, RenameFileDocument, TagFileDocument, UntagFileDocument, type WholeFileFragment } from './gql/graphql';
import type { FileRow } from './files';
import { useAddress, useDesk, useDeskState } from './hooks';
import { NoteHead } from './Notes';
import { folded } from './rows';
import { tagsOf, when } from './times';

const TAGS = 20; // docs/limits.md: tags of an author on an item

interface Props {
  id: string;
  sets: string[];
  onChanged: (file: FileRow) => void;
}

/** Reads a file of the user; null when there is none. */
function useFile(id: string) {
  const client = useClient();
  const [file, setFile] = useState<WholeFileFragment | null>();
  const [problem, setProblem] = useState('');
  const latest = useRef(0);

  async function read() {
    const mine = ++latest.current;
    const { data, failure } = await ask(client, LibraryFileDocument, { id });
    if (mine !== latest.current) return;
    setProblem(failure ? advise(failure) : '');
    if (data) setFile(data.node && 'name' in data.node ? (data.node as WholeFileFragment) : null);
  }

  useEffect(() => {
    void read();
    return () => {
      latest.current += 1;
    };
  }, [id]);
  return { file, problem, read };
}

/** One file: what it shows, how it is called, its set and its tags. */
export function FilePage({ id, sets, onChanged }: Props) {
  const { removeFile } = useDesk();
  const { viewer, gone } = useDeskState();
  const { go } = useAddress();
  const { file, problem, read } = useFile(id);
  const isGone = file === null || gone.has(id);
  if (!file || isGone) {
    return (
      <article className="note panel" aria-label="File">
        <NoteHead title={isGone ? 'This file is gone' : 'One moment…'} close={{ file: '' }} />
        {isGone && <p>It was deleted, or is not yours.</p>}
        {problem && (
          <>
            <p className="problem" role="alert">
              {problem}
            </p>
            <button type="button" onClick={() => void read()}>
              Try again
            </button>
          </>
        )}
      </article>
    );
  }
  const facts = [file.type, size(file.size), file.width && file.height && `${file.width} × ${file.height}`, when(file.createdAt)];
  const uses = file.useCount ?? 0;
  const isMine = file.owner?.id === viewer?.id;
  return (
    <article className="note panel" aria-label="File">
      <NoteHead title={file.name} close={{ file: '' }} />
      <Shown file={file} onFail={read} />
      <p className="muted">
        {facts.filter(Boolean).join(' · ')}
        {file.score && ` · uploaded to the score “${file.score.title}”`}
        {file.withdrawnAt && ' · withdrawn: nobody else sees it'}
      </p>
      {problem && <p className="problem">{problem}</p>}
      {file.url && (
        <p>
          <a className="button" href={file.url} target="_blank" rel="noreferrer noopener">
            {file.type.startsWith('image/') ? 'Open the original' : 'Download'}
          </a>
        </p>
      )}
      {isMine && (
        <Names
          file={file}
          sets={sets}
          onChanged={(row) => {
            onChanged(row);
            void read();
          }}
        />
      )}
      <Tags file={file} read={read} />
      {isMine && (
        <div className="actions after">
          {uses > 0 ? (
            <p className="muted">
              {uses === 1 ? '1 score, snapshot or project uses' : `${uses} scores, snapshots or projects use`} it: it cannot be deleted.
            </p>
          ) : (
            <button
              type="button"
              className="danger"
              onClick={() => {
                removeFile(file.id, file.name);
                go({ file: '' });
              }}
            >
              Delete
            </button>
          )}
        </div>
      )}
    </article>
  );
}

/** The picture of a file, as wide as there is room. A link is valid for an hour: one that fails is asked for again, once. */
function Shown({ file, onFail }: { file: WholeFileFragment; onFail: () => void }) {
  const [failures, setFailures] = useState(0);
  const isPicture = file.url && /^image\/(?!tiff|svg)/.test(file.type);
  if (!isPicture) return null;
  if (failures > 1) return <p className="muted">The picture did not load. Open the original.</p>;
  return (
    <img
      className="file-picture"
      src={file.url!}
      alt={file.name}
      width={file.width ?? undefined}
      height={file.height ?? undefined}
      onError={() => {
        setFailures(failures + 1);
        if (!failures) onFail();
      }}
    />
  );
}

/** The name and the set. */
function Names({ file, sets, onChanged }: { file: WholeFileFragment; sets: string[]; onChanged: (row: FileRow) => void }) {
  const { say } = useDeskState();
  const { act, busy, trouble } = useAct();
  const [name, setName] = useState(file.name);
  const [set, setSet] = useState(file.setName);
  const isNamed = name.trim() !== file.name;
  const isPut = set.trim() !== file.setName;

  async function save() {
    if (isNamed) {
      const item = (await act(RenameFileDocument, { itemId: file.id, name: name.trim() }))?.renameItem?.item;
      if (!item) return;
      onChanged(item);
      setName(item.name);
    }
    if (isPut) {
      const item = (await act(PutIntoSetDocument, { itemId: file.id, setName: set.trim() }))?.setItemSetName?.item;
      if (!item) return;
      onChanged(item);
      setSet(item.setName);
    }
    say('good', 'Saved.');
  }

  return (
    <form className="row-form after" onSubmit={onSubmit(() => !busy && save())}>
      <Field label="Name" name="name" trouble={trouble}>
        {(wiring) => <input {...wiring} required maxLength={255} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Set" name="setName" hint="Empty for none." trouble={trouble}>
        {(wiring) => (
          <>
            <input {...wiring} list="sets-of-file" maxLength={64} autoComplete="off" value={set} onChange={(event) => setSet(event.target.value)} />
            <datalist id="sets-of-file">
              {sets.map((value) => (
                <option key={value} value={value} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <button type="submit" disabled={!name.trim() || !(isNamed || isPut)}>
        Save
      </button>
      <TroubleNote trouble={trouble} except={['name', 'setName']} />
    </form>
  );
}

/** The tags: one's own, to add and remove, and the public ones of others. */
function Tags({ file, read }: { file: WholeFileFragment; read: () => Promise<void> }) {
  const { viewer } = useDeskState();
  const { act, busy, trouble } = useAct();
  const [typed, setTyped] = useState('');
  const [visibility, setVisibility] = useState<'PUBLIC' | 'PRIVATE'>('PUBLIC');
  const tags = file.tags?.nodes ?? [];
  const own = tags.filter(({ author }) => author?.id === viewer?.id);
  const others = tags.filter(({ author }) => author?.id !== viewer?.id);

  async function add() {
    const known = new Set(own.map(({ value }) => folded(value)));
    const added = tagsOf(typed).filter((value) => !known.has(folded(value)));
    // The mutation replaces all tags of the user on the file.
    const all = [...own.map(({ value, visibility }) => ({ value, visibility })), ...added.map((value) => ({ value, visibility }))];
    if (added.length && !(await act(TagFileDocument, { itemId: file.id, tags: all }))) return;
    setTyped('');
    await read();
  }

  async function remove(value: string) {
    if (await act(UntagFileDocument, { itemId: file.id, tags: [value] })) await read();
  }

  return (
    <section aria-label="Tags" className="after">
      <h3>Tags</h3>
      <ul className="note-tags">
        {own.map(({ value, visibility }) => (
          <li key={value} className="tag">
            {value}
            {visibility === 'PRIVATE' && <span className="muted"> private</span>}
            <button type="button" className="tag-button" aria-label={`Remove the tag ${value}`} aria-disabled={busy} onClick={() => void remove(value)}>
              ×
            </button>
          </li>
        ))}
        {others.map(({ value, author }) => (
          <li key={`${author?.id} ${value}`} className="tag">
            {value} <span className="muted">{author?.name ?? 'somebody'}</span>
          </li>
        ))}
        {tags.length === 0 && <li className="muted">None</li>}
      </ul>
      <form className="row-form after" onSubmit={onSubmit(() => !busy && add())}>
        <Field label="New tags" name="tags" hint={`With commas between them; you can put ${TAGS} on a file.`} trouble={trouble}>
          {(wiring) => <input {...wiring} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />}
        </Field>
        <div className="field is-short">
          <label htmlFor="tag-visibility">Seen by</label>
          <select id="tag-visibility" value={visibility} onChange={(event) => setVisibility(event.target.value as 'PUBLIC' | 'PRIVATE')}>
            <option value="PUBLIC">who reads the file</option>
            <option value="PRIVATE">you alone</option>
          </select>
        </div>
        <button type="submit" disabled={!typed.trim()}>
          Add
        </button>
      </form>
      <TroubleNote trouble={trouble} except={['tags']} />
    </section>
  );
}
