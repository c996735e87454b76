import { useState } from 'react';
import { useAct } from '../board/act';
import { Field, onSubmit, TroubleNote } from '../board/forms';
import { AddTagsDocument, ChangeDeadlineDocument, RemoveTagsDocument } from './gql/graphql';
import { useDeskState } from './hooks';
import type { Whole } from './NotePage';
import { fromField, tagsOf, toField, when } from './times';

interface Props {
  note: Whole;
  mayEdit: boolean;
  onChanged: (note: Whole | null | undefined) => void;
}

/** When the note is due. It is changed at once, if nobody else has changed the note meanwhile. */
export function Deadline({ note, mayEdit, onChanged, read }: Props & { read: () => Promise<unknown> }) {
  const { say } = useDeskState();
  const { act, busy, trouble } = useAct();
  const before = toField(note.deadline);
  const [changed, setChanged] = useState<string | null>(null); // what the user made of it
  const typed = changed ?? before;
  if (!mayEdit) return <p>{note.deadline ? `Due ${when(note.deadline)}` : 'No deadline'}</p>;

  async function save(deadline: string | null) {
    const data = await act(ChangeDeadlineDocument, { noteId: note.id, deadline, expectedVersion: note.version }, async (trouble) => {
      if (trouble.kind === 'NoteConflict') await read();
      return trouble;
    });
    if (!data) return;
    setChanged(null);
    onChanged(data.changeNoteDeadline?.note);
    say('good', deadline ? `The note is due ${when(deadline)}.` : 'The note has no deadline any more.');
  }

  return (
    <form className="row-form after" onSubmit={onSubmit(() => !busy && fromField(typed) && save(fromField(typed)))}>
      <Field label="Deadline" name="deadline" trouble={trouble}>
        {(wiring) => <input {...wiring} type="datetime-local" required data-begin={before} value={typed} onChange={(event) => setChanged(event.target.value)} />}
      </Field>
      <div className="actions">
        <button type="submit" disabled={!typed || typed === before}>
          Set
        </button>
        {note.deadline && (
          <button type="button" aria-disabled={busy} onClick={() => void save(null)}>
            No deadline
          </button>
        )}
      </div>
      <TroubleNote trouble={trouble} except={['deadline']} />
    </form>
  );
}

/** The tags, which are put on and taken off one by one: such changes of two people do not collide. */
export function Tags({ note, mayEdit, onChanged }: Props) {
  const { act, busy, trouble } = useAct();
  const [typed, setTyped] = useState('');

  async function add() {
    const tags = tagsOf(typed);
    if (!tags.length) return;
    const data = await act(AddTagsDocument, { noteId: note.id, tags });
    if (!data) return;
    setTyped('');
    onChanged(data.addNoteTags?.note);
  }

  async function remove(value: string) {
    onChanged((await act(RemoveTagsDocument, { noteId: note.id, tags: [value] }))?.removeNoteTags?.note);
  }

  return (
    <section aria-label="Tags" className="after">
      <h3>Tags</h3>
      <ul className="note-tags">
        {note.tags.map(({ value }) => (
          <li key={value} className="tag">
            {value}
            {mayEdit && (
              <button type="button" className="tag-button" aria-label={`Remove the tag ${value}`} aria-disabled={busy} onClick={() => void remove(value)}>
                ×
              </button>
            )}
          </li>
        ))}
        {note.tags.length === 0 && <li className="muted">None</li>}
      </ul>
      {mayEdit && (
        <form className="row-form after" onSubmit={onSubmit(() => !busy && add())}>
          <Field label="New tags" name="tags" hint="With commas between them; a note has at most 40." trouble={trouble}>
            {(wiring) => <input {...wiring} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />}
          </Field>
          <button type="submit" disabled={!typed.trim()}>
            Add
          </button>
        </form>
      )}
      <TroubleNote trouble={trouble} except={['tags']} />
    </section>
  );
}
