import { useEffect, useState } from 'react';
import { useClient } from 'urql';
import { advise, useAct } from '../board/act';
import { ask } from '../board/client';
import { Dialog } from '../board/Dialog';
import { TroubleNote } from '../board/forms';
import { Pages, usePages } from '../board/manage/lists';
import { RestoreVersionDocument, VersionsDocument, VersionTextDocument, type VersionsQuery } from './gql/graphql';
import { useDeskState } from './hooks';
import type { Whole } from './NotePage';
import { when } from './times';

const SHOWN = 20;
type Version = NonNullable<NonNullable<VersionsQuery['note']>['versions']>['nodes'][number];
type Props = { note: Whole; mayEdit: boolean; onChanged: (note: Whole | null | undefined) => void; read: () => Promise<unknown> };

/** What the note was: each earlier state can be read, and brought back by who may change the note. */
export function Versions(props: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [opened, setOpened] = useState<Version | null>(null);
  return (
    <details className="after" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Earlier versions</summary>
      {/* Keyed: a change of the note makes another version. */}
      {isOpen && <List key={props.note.version} note={props.note} onOpen={setOpened} />}
      {opened && <Reader key={opened.id} {...props} version={opened} onClose={() => setOpened(null)} />}
    </details>
  );
}

function List({ note, onOpen }: { note: Whole; onOpen: (version: Version) => void }) {
  const versions = usePages(VersionsDocument, { note: note.id, first: SHOWN }, (data) => data.note?.versions);
  return (
    <Pages of={versions}>
      <ul className="entries after">
        {versions.nodes?.map((version) => (
          <li key={version.id} className="entry is-row">
            <span>
              {version.number}: {version.title}
              <span className="muted">
                {' '}
                {version.author?.name ?? 'somebody'}, {when(version.updatedAt)}
              </span>
            </span>
            <button type="button" onClick={() => onOpen(version)}>
              Read<span className="unseen-text"> version {version.number}</span>
            </button>
          </li>
        ))}
        {versions.nodes?.length === 0 && <li className="muted">There are none, or they are hidden from you.</li>}
      </ul>
    </Pages>
  );
}

function Reader({ note, mayEdit, onChanged, read, version, onClose }: Props & { version: Version; onClose: () => void }) {
  const client = useClient();
  const { say } = useDeskState();
  const { act, busy, trouble } = useAct();
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState('');

  useEffect(() => {
    let open = true;
    void ask(client, VersionTextDocument, { note: note.id, number: version.number }).then(({ data, failure }) => {
      if (!open) return;
      const found = data?.note?.versionAt;
      if (found) setText(found.content);
      else setProblem(failure ? advise(failure) : 'This version is not there any more. Reload the page to see what changed.');
    });
    return () => {
      open = false;
    };
  }, [client, note.id, version.number]);

  async function restore() {
    const data = await act(RestoreVersionDocument, { versionId: version.id, expectedVersion: note.version }, async (trouble) => {
      if (trouble.kind === 'NoteConflict') await read();
      return trouble;
    });
    if (!data) return;
    onClose();
    onChanged(data.restoreVersion?.note);
    say('good', `Version ${version.number} is back. The state from before is a version of its own.`);
  }

  return (
    <Dialog title={`Version ${version.number}: ${version.title}`} onClose={onClose} wide>
      {problem && <p className="problem">{problem}</p>}
      {text === null && !problem && <p className="muted">One moment…</p>}
      {text !== null && (
        <div className="note-text" tabIndex={0} role="region" aria-label="Text of this version">
          {text}
        </div>
      )}
      <TroubleNote trouble={trouble} />
      <div className="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
        {mayEdit && text !== null && (
          <button type="button" className="primary" aria-disabled={busy} onClick={() => void restore()}>
            Bring it back
          </button>
        )}
      </div>
    </Dialog>
  );
}
