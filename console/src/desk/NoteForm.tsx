import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { useAct } from '../board/act';
import { Confirm, Field, onSubmit, TroubleNote } from '../board/forms';
import { follow, isChanged, isConflict, merge, type Edit } from './edit';
import { UpdateNoteDocument } from './gql/graphql';
import { useDeskState } from './hooks';
import { KeptNote } from './KeptNote';
import type { Whole } from './NotePage';
import { useDraft } from './useDraft';

/** Title and text of a note. When somebody else has changed them, both are shown side by side, and nothing is saved until the user decides. */
export function NoteForm({ note, onChanged, read }: { note: Whole; onChanged: (note: Whole | null | undefined) => void; read: () => Promise<Whole | null | undefined> }) {
  const { kept, say } = useDeskState();
  const keys = useMemo(() => kept.keys(note.id), [kept, note.id]);
  const { act, busy, trouble } = useAct(keys);
  const { draft: edit, change: setEdit, follow: goOn, ...where } = useDraft<Edit>(note.id, { begin: (draft) => follow(draft, note), isWorth: isChanged });
  const [sure, setSure] = useState<'theirs' | 'discard' | null>(null);
  useEffect(goOn, [note]);
  const type = (change: Partial<Edit['typed']>) => setEdit({ ...edit, typed: { ...edit.typed, ...change } });
  const conflict = isConflict(edit, note);
  const text = useRef<HTMLTextAreaElement>(null);

  async function save() {
    if (busy || conflict || !isChanged(edit)) return;
    const { title, content } = edit.typed;
    let after: Whole | null | undefined;
    let base: Whole | Edit['base'] | null | undefined = edit.base;
    // What others have changed besides the text is no conflict: then it is saved on top of that. Else both texts are shown.
    while (!after && base && !isConflict(edit, base)) {
      const expectedVersion = base.version;
      base = null;
      const data = await act(UpdateNoteDocument, { noteId: note.id, title: title.trim(), content, expectedVersion }, async (trouble) => {
        if (trouble.kind !== 'NoteConflict') return trouble;
        base = await read();
        return null;
      });
      after = data?.updateNote?.note;
    }
    if (!after) return;
    const saved = { title: after.title, content: after.content };
    const { version } = after;
    setEdit(({ typed }) => ({ typed: typed.title === title && typed.content === content ? saved : typed, base: { ...saved, version } }));
    onChanged(after);
    say('good', 'Saved.');
  }

  /** Ends a conflict: what is in the form counts, and the cursor goes there, since the button goes. */
  function decide(typed: Edit['typed']) {
    setEdit({ typed, base: note });
    text.current?.focus();
  }

  function mergeBoth() {
    const { title, content, overlaps } = merge(edit, note);
    decide({ title, content });
    say(overlaps ? 'bad' : 'good', overlaps ? 'Both of you changed the same words: yours come first, theirs follow. Look at them before you save.' : 'Both changes are in the text now. Read it, then save.');
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
          {(wiring) => <textarea ref={text} {...wiring} required rows={14} spellCheck value={edit.typed.content} onChange={(event) => type({ content: event.target.value })} />}
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
      <KeptNote {...where} />
      <TroubleNote trouble={trouble} except={['title', 'content']} />
      <div className="actions is-whole">
        {conflict ? (
          <>
            <button type="button" onClick={() => setSure('theirs')}>
              Take theirs
            </button>
            <button type="button" onClick={() => decide(edit.typed)}>
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
