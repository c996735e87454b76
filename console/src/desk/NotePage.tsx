import { useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { advise, useAct } from '../board/act';
import { ask, type Failure } from '../board/client';
import { Confirm } from '../board/forms';
import { newKey } from '../board/idempotency';
import { sentence } from '../board/text';
import { Deadline, Tags } from './Details';
import { DeleteNoteDocument, NoteDocument, OpenSharedNoteDocument, UndeleteNoteDocument, type WholeFragment } from './gql/graphql';
import { useAddress, useDesk, useDeskState } from './hooks';
import { NoteForm } from './NoteForm';
import { NoteHead } from './Notes';
import { Shares } from './Shares';
import { when } from './times';
import { Unsaved } from './Unsaved';
import { Versions } from './Versions';

const AGAIN_MS = 3_000;

export type Whole = WholeFragment;

/** Reads a note, and reads it again when it was told that there is a later version. */
function useNote(id: string) {
  const client = useClient();
  const { news, told } = useDeskState();
  const [note, setNote] = useState<Whole | null | undefined>();
  const [failure, setFailure] = useState<Failure | null>(null); // another one at each reading that fails
  const latest = useRef(0); // an answer that another question has overtaken is not shown
  const row = news.get(id);

  /** Resolves to the note as it is now; to undefined when it could not be read. */
  async function read(): Promise<Whole | null | undefined> {
    const mine = ++latest.current;
    const { data, failure } = await ask(client, NoteDocument, { id });
    if (mine === latest.current) {
      setFailure(failure ?? null);
      if (data) setNote(data.note);
    }
    return data?.note;
  }

  /** Shows the note as a mutation has left it. */
  function changed(whole: Whole | null | undefined) {
    if (!whole) return;
    latest.current += 1;
    setNote((before) => (before && before.version > whole.version ? before : whole));
    told(whole.id, whole);
  }

  const isBehind = row != null && note != null && row.version > note.version;
  useEffect(() => {
    if (note === undefined || isBehind) void read();
  }, [id, isBehind, row?.version]);
  useEffect(() => {
    if (!failure) return;
    const timer = setTimeout(() => void read(), Math.max((failure.retryAfter ?? 0) * 1000, AGAIN_MS));
    return () => clearTimeout(timer);
  }, [failure]);
  // What does not change the version: what the user may do with it.
  const shown = note && row && row.version === note.version ? { ...note, viewerPermission: row.viewerPermission } : note;
  return { note: row === null ? null : shown, problem: failure ? `${sentence(failure.message)} It is tried again by itself.` : '', read, changed };
}

/** One note: what it says, when it is due, its tags, who reads it, and what it was. */
export function NotePage({ id }: { id: string }) {
  const client = useClient();
  const { note, problem, read, changed } = useNote(id);
  const isOthers = Boolean(note && note.viewerPermission !== 'OWNER');
  useEffect(() => {
    if (isOthers) void ask(client, OpenSharedNoteDocument, { input: { noteId: id, idempotencyKey: newKey() } });
  }, [client, id, isOthers]);

  if (!note) {
    return (
      <article className="note panel" aria-label="Note">
        <NoteHead title={note === null ? 'This note is gone' : 'One moment…'} />
        {note === null && (
          <>
            <p>It was deleted, or is no longer shared with you.</p>
            <Unsaved id={id} />
          </>
        )}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
      </article>
    );
  }
  const mayEdit = note.viewerPermission !== 'VIEW';
  return (
    <article className="note panel" aria-label="Note">
      <NoteHead title={note.title} />
      <p className="muted">
        {isOthers && `From ${note.owner?.name ?? 'somebody'}. `}
        Version {note.version}, {note.updatedBy?.name ?? 'somebody'}, {when(note.updatedAt)}
      </p>
      {problem && <p className="problem">{problem}</p>}
      {!mayEdit && <Unsaved id={id} />}
      {mayEdit ? <NoteForm note={note} onChanged={changed} read={read} /> : <div className="note-text">{note.content}</div>}
      <Deadline note={note} mayEdit={mayEdit} onChanged={changed} read={read} />
      <Tags note={note} mayEdit={mayEdit} onChanged={changed} />
      <Shares note={note} />
      <Versions note={note} mayEdit={mayEdit} onChanged={changed} read={read} />
      {!isOthers && <Delete note={note} read={read} />}
    </article>
  );
}

function Delete({ note, read }: { note: Whole; read: () => Promise<unknown> }) {
  const { client } = useDesk();
  const { told, say } = useDeskState();
  const { go } = useAddress();
  const { act, busy, trouble, setTrouble } = useAct();
  const [isAsked, setIsAsked] = useState(false);

  /** Brings it back. The key stays the same when the answer was lost. */
  async function undo(title: string, idempotencyKey = newKey()) {
    const { data, failure } = await ask(client, UndeleteNoteDocument, { input: { noteId: note.id, idempotencyKey } });
    if (failure) return say('bad', `“${title}” was not brought back. ${advise(failure)}`, () => void undo(title, failure.again ? idempotencyKey : undefined));
    const back = data.undeleteNote?.note;
    if (back) told(back.id, back);
    say('good', `“${title}” is back.`);
  }

  async function remove() {
    const data = await act(DeleteNoteDocument, { noteId: note.id, expectedVersion: note.version }, async (trouble) => {
      if (trouble.kind === 'NoteConflict') await read(); // to show what has changed
      return trouble;
    });
    const deleted = data?.deleteNote?.deletedNote;
    if (!deleted) return;
    setIsAsked(false);
    told(note.id, null);
    say('good', `“${note.title}” is deleted. It can be brought back until ${when(deleted.undoUntil)}.`, () => void undo(note.title));
    go({ note: '' });
  }

  return (
    <div className="actions after">
      <button
        type="button"
        className="danger"
        onClick={() => {
          setTrouble(null);
          setIsAsked(true);
        }}
      >
        Delete…
      </button>
      {isAsked && (
        <Confirm title={`Delete “${note.title}”?`} yes="Delete" busy={busy} trouble={trouble} onYes={remove} onClose={() => setIsAsked(false)}>
          <p>Those with whom you share it lose it, too. You can bring it back with all it has by the button in the message that follows.</p>
        </Confirm>
      )}
    </div>
  );
}
