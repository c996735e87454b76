import { useMemo } from 'react';
import { useAct } from '../board/act';
import { Field, onSubmit, TroubleNote } from '../board/forms';
import { CreateNoteDocument } from './gql/graphql';
import { useAddress, useDeskState } from './hooks';
import { blank, worthKeeping, type Begun } from './kept';
import { KeptNote } from './KeptNote';
import { NoteHead } from './Notes';
import { fromField, tagsOf } from './times';
import { useDraft } from './useDraft';

/** The form of a new note. What is typed is kept in the browser until the note is saved. */
export function NewNote() {
  const { kept, told, say } = useDeskState();
  const { go } = useAddress();
  const keys = useMemo(() => kept.keys('new'), [kept]);
  const { act, busy, trouble } = useAct(keys);
  const { draft: begun, change, ...where } = useDraft<Begun>('new', { begin: (draft) => ({ ...blank, ...draft }), isWorth: worthKeeping });
  const set = (some: Partial<Begun>) => change({ ...begun, ...some });

  async function save() {
    const data = await act(CreateNoteDocument, { title: begun.title.trim(), content: begun.content, deadline: fromField(begun.deadline), tags: tagsOf(begun.tags) });
    const note = data?.createNote?.note;
    if (!note) return;
    kept.put('new', null);
    told(note.id, note);
    say('good', `“${note.title}” is saved.`);
    go({ note: note.id });
  }

  return (
    <article className="note panel" aria-label="New note">
      <NoteHead title="New note" />
      <form className="form" data-kept onSubmit={onSubmit(() => !busy && save())}>
        <Field label="Title" name="title" trouble={trouble}>
          {(wiring) => <input {...wiring} required maxLength={200} readOnly={busy} value={begun.title} onChange={(event) => set({ title: event.target.value })} />}
        </Field>
        <Field label="Text" name="content" hint="What you type is kept in this browser until you save it." trouble={trouble}>
          {(wiring) => <textarea {...wiring} required readOnly={busy} rows={12} spellCheck value={begun.content} onChange={(event) => set({ content: event.target.value })} />}
        </Field>
        <div className="form-pair">
          <Field label="Deadline" name="deadline" trouble={trouble}>
            {(wiring) => <input {...wiring} type="datetime-local" readOnly={busy} value={begun.deadline} onChange={(event) => set({ deadline: event.target.value })} />}
          </Field>
          <Field label="Tags" name="tags" hint="With commas between them." trouble={trouble}>
            {(wiring) => <input {...wiring} autoComplete="off" readOnly={busy} value={begun.tags} onChange={(event) => set({ tags: event.target.value })} />}
          </Field>
        </div>
        <KeptNote {...where} />
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
