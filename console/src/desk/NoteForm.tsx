import { useEffect, useMemo, useState, type KeyboardEvent } from 'react';
import { useAct } from '../board/act';
import { Confirm, Field, onSubmit, TroubleNote } from '../board/forms';
import { follow, isChanged, isConflict, merge, type Edit } from './edit';
import { UpdateNoteDocument } from './gql/graphql';
import { useDesk, useDeskState } from './hooks';
import type { Whole } from './NotePage';

/** Title and text of a note. When somebody else has changed them, both are shown side by side, and nothing is saved until the user decides. */
export function NoteForm({ note, onChanged, read }: { note: Whole; onChanged: (note: Whole | null | undefined) => void; read: () => Promise<void> }) {
  const { say } = useDesk();
  const { kept } = useDeskState();
  const keys = useMemo(() => kept.keys(note.id), [kept, note.id]);
  const { act, busy, trouble } = useAct(keys);
  const [edit, setEdit] = useState<Edit>(() => follow(kept.edit(note.id), note));
  const [isSafe, setIsSafe] = useState(true);
  const [sure, setSure] = useState<'theirs' | 'discard' | null>(null);
  useEffect(() => setEdit((before) => follow(before, note)), [note]);
  useEffect(() => setIsSafe(kept.putEdit(note.id, isChanged(edit) ? edit : null)), [kept, note.id, edit]);
  const type = (change: Partial<Edit['typed']>) => setEdit({ ...edit, typed: { ...edit.typed, ...change } });
  const conflict = isConflict(edit, note);

  async function save() {
    if (busy || conflict || !isChanged(edit)) return;
    const { title, content } = edit.typed;
    const data = await act(UpdateNoteDocument, { noteId: note.id, title: title.trim(), content, expectedVersion: edit.base.version }, async (trouble) => {
      if (trouble.kind !== 'NoteConflict') return trouble;
      await read(); // both are shown then
      return null;
    });
    const after = data?.updateNote?.note;
    if (!after) return;
    const { version } = after;
    setEdit((now) => ({ typed: now.typed.title === title && now.typed.content === content ? { title: after.title, content: after.content } : now.typed, base: { title: after.title, content: after.content, version } }));
    onChanged(after);
    say('good', 'Saved.');
  }

  function mergeBoth() {
    const { title, content, overlaps } = merge(edit, note);
    setEdit({ typed: { title, content }, base: note });
    say(overlaps ? 'bad' : 'good', overlaps ? 'Both of you changed the same lines: yours come first, theirs follow. Look at them before you save.' : 'Both changes are in the text now. Read it, then save.');
  }

  function replace(edit: Edit) {
    setEdit(edit);
    setSure(null);
  }

  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void save();
  };

  return (
    <form className={conflict ? 'note-form is-conflict' : 'note-form'} data-kept onKeyDown={press} onSubmit={onSubmit(save)}>
      {conflict && (
        <p className="problem is-whole" role="alert">
          {note.updatedBy?.name ?? 'Somebody'} changed this note while you typed. Nothing of yours is lost: take theirs, go on with yours, or put both together.
        </p>
      )}
      <div className="side">
        {conflict && <h3>Yours</h3>}
        <Field label="Title" name="title" trouble={trouble}>
          {(wiring) => <input {...wiring} required maxLength={200} value={edit.typed.title} onChange={(event) => type({ title: event.target.value })} />}
        </Field>
        <Field label="Text" name="content" hint="Ctrl+Enter saves. What you type is kept in this browser until then." trouble={trouble}>
          {(wiring) => <textarea {...wiring} required rows={14} spellCheck value={edit.typed.content} onChange={(event) => type({ content: event.target.value })} />}
        </Field>
      </div>
      {conflict && (
        <div className="side">
          <h3>Theirs</h3>
          <Field label="Their title" name="their-title">
            {(wiring) => <input {...wiring} readOnly value={note.title} />}
          </Field>
          <Field label="Their text" name="their-content" hint={`Version ${note.version}; yours was made of version ${edit.base.version}.`}>
            {(wiring) => <textarea {...wiring} readOnly rows={14} value={note.content} />}
          </Field>
        </div>
      )}
      {!isSafe && <p className="problem is-whole">The browser has no room to keep what you type: save it before you leave.</p>}
      <TroubleNote trouble={trouble} except={['title', 'content']} />
      <div className="actions is-whole">
        {conflict ? (
          <>
            <button type="button" onClick={() => setSure('theirs')}>
              Take theirs
            </button>
            <button type="button" onClick={() => setEdit({ ...edit, base: note })}>
              Go on with mine
            </button>
            <button type="button" className="primary" onClick={mergeBoth}>
              Put both together
            </button>
          </>
        ) : (
          <>
            <button type="button" aria-disabled={!isChanged(edit)} onClick={() => isChanged(edit) && setSure('discard')}>
              Discard changes
            </button>
            <button type="submit" className="primary" aria-disabled={busy || !isChanged(edit)}>
              Save
            </button>
          </>
        )}
      </div>
      {sure === 'theirs' && (
        <Confirm title="Take their text?" yes="Take theirs" busy={busy} trouble={null} onYes={() => replace(follow(null, note))} onClose={() => setSure(null)}>
          <p>The form shows their text then. Your own changes are lost.</p>
        </Confirm>
      )}
      {sure === 'discard' && (
        <Confirm title="Discard your changes?" yes="Discard them" busy={busy} trouble={null} onYes={() => replace(follow(null, note))} onClose={() => setSure(null)}>
          <p>What you have typed and not saved is lost.</p>
        </Confirm>
      )}
    </form>
  );
}
