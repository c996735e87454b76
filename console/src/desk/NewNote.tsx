import { useEffect, useMemo, useState } from 'react';
import { useAct } from '../board/act';
import { Field, onSubmit, TroubleNote } from '../board/forms';
import { CreateNoteDocument } from './gql/graphql';
import { useAddress, useDesk, useDeskState } from './hooks';
import { blank, worthKeeping } from './kept';
import { NoteHead } from './Notes';
import { fromField, tagsOf } from './times';

/** The form of a new note. What is typed is kept in the browser until the note is saved. */
export function NewNote() {
  const { told, say } = useDesk();
  const { kept } = useDeskState();
  const { go } = useAddress();
  const keys = useMemo(() => kept.keys('new'), [kept]);
  const { act, busy, trouble } = useAct(keys);
  const [begun, setBegun] = useState(kept.begun);
  const [isSafe, setIsSafe] = useState(true);
  useEffect(() => setIsSafe(kept.putBegun(worthKeeping(begun) ? begun : null)), [kept, begun]);
  const set = (change: Partial<typeof begun>) => setBegun({ ...begun, ...change });

  async function save() {
    const data = await act(CreateNoteDocument, { title: begun.title.trim(), content: begun.content, deadline: fromField(begun.deadline), tags: tagsOf(begun.tags) });
    const note = data?.createNote?.note;
    if (!note) return;
    kept.putBegun(null);
    setBegun(blank);
    told(note.id, note);
    say('good', `“${note.title}” is saved.`);
    go({ note: note.id });
  }

  return (
    <article className="note panel" aria-label="New note">
      <NoteHead title="New note" />
      <form className="form" data-kept onSubmit={onSubmit(() => !busy && save())}>
        <Field label="Title" name="title" trouble={trouble}>
          {(wiring) => <input {...wiring} required maxLength={200} value={begun.title} onChange={(event) => set({ title: event.target.value })} />}
        </Field>
        <Field label="Text" name="content" hint="What you type is kept in this browser until you save it." trouble={trouble}>
          {(wiring) => <textarea {...wiring} required rows={12} spellCheck value={begun.content} onChange={(event) => set({ content: event.target.value })} />}
        </Field>
        <div className="form-pair">
          <Field label="Deadline" name="deadline" trouble={trouble}>
            {(wiring) => <input {...wiring} type="datetime-local" value={begun.deadline} onChange={(event) => set({ deadline: event.target.value })} />}
          </Field>
          <Field label="Tags" name="tags" hint="With commas between them." trouble={trouble}>
            {(wiring) => <input {...wiring} autoComplete="off" value={begun.tags} onChange={(event) => set({ tags: event.target.value })} />}
          </Field>
        </div>
        {!isSafe && <p className="problem">The browser has no room to keep what you type: save it before you leave.</p>}
        <TroubleNote trouble={trouble} except={['title', 'content', 'deadline', 'tags']} />
        <div className="actions">
          <button type="submit" className="primary" aria-disabled={busy}>
            Save
          </button>
        </div>
      </form>
    </article>
  );
}
