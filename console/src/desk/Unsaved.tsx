import { useMemo, useState } from 'react';
import { useAct } from '../board/act';
import { TroubleNote } from '../board/forms';
import type { Edit } from './edit';
import { CreateNoteDocument } from './gql/graphql';
import { useAddress, useDeskState } from './hooks';

/** What somebody typed in a note that they may not change any more; nothing if there is nothing. It can become a note of their own. */
export function Unsaved({ id }: { id: string }) {
  const { kept, told, say } = useDeskState();
  const { go } = useAddress();
  const keys = useMemo(() => kept.keys(id), [kept, id]);
  const { act, busy, trouble } = useAct(keys);
  const [edit, setEdit] = useState(() => kept.draft<Edit>(id));
  if (!edit) return null;

  function forget() {
    kept.put(id, null);
    setEdit(null);
  }

  async function save({ title, content }: { title: string; content: string }) {
    const data = await act(CreateNoteDocument, { title: title.trim(), content, deadline: null, tags: [] });
    const note = data?.createNote?.note;
    if (!note) return;
    forget();
    told(note.id, note);
    say('good', `“${note.title}” is a note of yours now.`);
    go({ note: note.id });
  }

  return (
    <section aria-label="What you typed" className="after">
      <p className="problem">You typed this and did not save it. You may not change the note any more.</p>
      <h3>{edit.typed.title}</h3>
      <div className="note-text" tabIndex={0} role="region" aria-label="Text that you typed">
        {edit.typed.content}
      </div>
      <TroubleNote trouble={trouble} />
      <div className="actions">
        <button type="button" onClick={forget}>
          Discard it
        </button>
        <button type="button" className="primary" aria-disabled={busy} onClick={() => void save(edit.typed)}>
          Make it a note of my own
        </button>
      </div>
    </section>
  );
}
