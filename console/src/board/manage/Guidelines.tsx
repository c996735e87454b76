import { useEffect, useMemo, useState } from 'react';
import { follow, isChanged, isConflict, createShelf, type Edit } from '../shelf';
import { useGuidelines } from '../Guidelines';
import { UpdateGuidelinesDocument } from '../gql/graphql';
import { useBoard, useBoardState, useNow } from '../hooks';
import { Markdown } from '../Markdown';
import { ago } from '../text';
import { useAct } from '../act';
import { Confirm, Field, onSubmit, TroubleNote } from '../forms';

/** What members are told about how to label: to write, beside what it looks like. */
export function Guidelines() {
  const { store } = useBoard();
  const { project, viewer } = useBoardState();
  const { found, problem, read } = useGuidelines();
  const { act, busy, trouble } = useAct();
  const shelf = useMemo(() => createShelf(localStorage, viewer!.id, project!.id), [viewer?.id, project?.id]);
  const [edit, setEdit] = useState<Edit | null>(null);
  const [isSafe, setIsSafe] = useState(true);
  const [sure, setSure] = useState<'theirs' | 'discard' | null>(null);
  const time = useNow(30_000);
  const now = found ?? { version: 0, text: '' };

  useEffect(() => {
    if (found !== undefined) setEdit((before) => follow(before ?? shelf.edit(), now));
  }, [found]);
  useEffect(() => {
    if (edit) setIsSafe(shelf.keep(edit));
  }, [edit]);

  async function save() {
    if (!edit || !isChanged(edit)) return;
    const data = await act(UpdateGuidelinesDocument, { projectId: project!.id, text: edit.typed, expectedVersion: edit.base.version }, (found) => (found.kind === 'GuidelinesConflict' ? null : found)); // both texts are shown then
    const after = data?.updateGuidelines?.guidelines;
    if (after) {
      setEdit((now) => now && { typed: now.typed, base: after }); // somebody may have typed on meanwhile
      store.readGuidelines(after.version);
      store.say('good', 'Saved. The members are told.');
      void store.changed();
    }
    await read();
  }

  function replace(edit: Edit) {
    setEdit(edit);
    setSure(null);
  }

  const conflict = edit && found && isConflict(edit, found) ? found : null;
  return (
    <div className="section">
      <section className="panel" aria-label="Guidelines">
        <h2>Guidelines</h2>
        {problem && <p className="problem">{problem}</p>}
        {edit && (
          <form className="guidelines-form" data-kept onSubmit={onSubmit(save)}>
            {conflict && (
              <p className="problem is-whole" role="alert">
                {conflict.updatedBy?.name ?? 'Somebody'} changed the guidelines {ago(conflict.updatedAt, time)}. Nothing of yours is lost: put both texts together, then go on with yours; or take theirs.
              </p>
            )}
            <Field label={conflict ? 'Your text' : 'Text'} name="text" hint="Markdown, up to 64 KiB. What you type is kept in this browser until you save it." trouble={trouble}>
              {(wiring) => <textarea {...wiring} rows={16} spellCheck value={edit.typed} onChange={(event) => setEdit({ ...edit, typed: event.target.value })} />}
            </Field>
            {conflict ? (
              <Field label="Their text" name="theirs" hint={`Version ${conflict.version}; yours was made of version ${edit.base.version}.`}>
                {(wiring) => <textarea {...wiring} rows={16} readOnly value={conflict.text} />}
              </Field>
            ) : (
              <section className="guidelines-preview" aria-label="Preview">
                <h3>Preview</h3>
                {edit.typed.trim() ? <Markdown text={edit.typed} /> : <p className="muted">Members are shown nothing.</p>}
              </section>
            )}
            {!isSafe && <p className="problem is-whole">The browser has no room to keep what you type: save it before you leave.</p>}
            <TroubleNote trouble={trouble} except={['text']} />
            <div className="actions is-whole">
              {conflict ? (
                <>
                  <button type="button" onClick={() => setSure('theirs')}>
                    Take theirs
                  </button>
                  <button type="button" className="primary" onClick={() => setEdit({ ...edit, base: conflict })}>
                    Go on with mine
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
              {found && !isChanged(edit) && (
                <span className="muted">
                  {found.updatedBy?.name ?? 'Somebody'}, {ago(found.updatedAt, time)}
                </span>
              )}
            </div>
          </form>
        )}
      </section>
      {edit && conflict && sure === 'theirs' && (
        <Confirm title="Take their text?" yes="Take theirs" busy={busy} trouble={null} onYes={() => replace({ typed: conflict.text, base: conflict })} onClose={() => setSure(null)}>
          <p>The form shows their text then. Your own changes are lost.</p>
        </Confirm>
      )}
      {edit && !conflict && sure === 'discard' && (
        <Confirm title="Discard your changes?" yes="Discard them" busy={busy} trouble={null} onYes={() => replace({ ...edit, typed: edit.base.text })} onClose={() => setSure(null)}>
          <p>The form shows the text of the project then. What you have typed and not saved is lost.</p>
        </Confirm>
      )}
    </div>
  );
}
