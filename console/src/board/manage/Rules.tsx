import { useEffect, useRef, useState } from 'react';
import { Dialog } from '../Dialog';
import { ask } from '../client';
import { DeleteProjectDocument, RulesDocument, UpdateProjectDocument, type RulesQuery, type UpdateProjectInput } from '../gql/graphql';
import { useBoard, useBoardState } from '../hooks';
import { advise, useAct } from './act';
import { Categories } from './Categories';
import { DeletedProjects } from './DeletedProjects';
import { Field, lines, onSubmit, TroubleNote } from './forms';

type Known = NonNullable<RulesQuery['project']>;

/** The fields of the form, as text. */
const textsOf = (known: Known) => ({
  name: known.name,
  description: known.description,
  leaseMinutes: String(known.leaseMinutes),
  queueSize: known.queue ? String(known.queue.size) : '',
  reviewPercent: String(known.reviewPercent),
  newcomerDays: String(known.newcomerDays),
  suggestedKeywords: known.suggestedKeywords.join('\n'),
});
type Texts = ReturnType<typeof textsOf>;

/** What was changed in the form, as the server takes it. */
export function changes(before: Texts, after: Texts): Omit<UpdateProjectInput, 'projectId'> {
  const changed = (name: keyof Texts) => before[name] !== after[name];
  const numbers = ['leaseMinutes', 'queueSize', 'reviewPercent', 'newcomerDays'] as const;
  return {
    ...(changed('name') && { name: after.name.trim() }),
    ...(changed('description') && { description: after.description }),
    ...(changed('suggestedKeywords') && { suggestedKeywords: lines(after.suggestedKeywords) }),
    ...Object.fromEntries(numbers.filter(changed).map((name) => [name, Number(after[name] || 0)])),
  };
}

/** How the project is called and how it works; its lists; and its end. */
export function Rules() {
  const { store } = useBoard();
  const { project, live } = useBoardState();
  const id = project?.id ?? '';
  const [known, setKnown] = useState<Known | null>(null);
  const [problem, setProblem] = useState('');
  const open = useRef(true);

  async function read() {
    const { data, failure } = await ask(store.client, RulesDocument, { project: id });
    if (!open.current) return;
    if (data?.project) setKnown(data.project);
    setProblem(data?.project ? '' : failure ? advise(failure) : 'There is nothing to show. Reload the page.');
  }
  useEffect(() => {
    open.current = true;
    void read();
    return () => {
      open.current = false;
    };
  }, [id]);

  return (
    <div className="section">
      {problem && <p className="problem">{problem}</p>}
      {known && <RulesForm known={known} onChange={setKnown} />}
      <section className="panel" aria-label="Handing out">
        <h2>Handing out</h2>
        <p>{live.paused ? 'Nothing is handed out at the moment. Members can go on with items that they have.' : 'Items are handed out. While you pause that, members can go on with items that they have.'}</p>
        <div className="actions after">
          <button type="button" onClick={() => void store.pause(!live.paused)}>
            {live.paused ? 'Resume' : 'Pause'} handing out
          </button>
        </div>
      </section>
      <Categories />
      <section className="panel" aria-label="The end of the project">
        <h2>Delete the project</h2>
        <Delete />
        <DeletedProjects />
      </section>
    </div>
  );
}

function RulesForm({ known, onChange }: { known: Known; onChange: (known: Known) => void }) {
  const { store } = useBoard();
  const { project } = useBoardState();
  const { act, busy, trouble, setTrouble } = useAct();
  const before = textsOf(known);
  const [texts, setTexts] = useState(before);
  // What was saved, or read again, takes the place of what was typed.
  useEffect(() => setTexts(textsOf(known)), [known]);
  const change = changes(before, texts);
  const isChanged = Object.keys(change).length > 0;
  const put = (name: keyof Texts) => (event: { target: { value: string } }) => setTexts({ ...texts, [name]: event.target.value });

  async function save() {
    if (!isChanged) return;
    const data = await act(UpdateProjectDocument, { projectId: project!.id, expectedVersion: known.version, ...change });
    const after = data?.updateProject?.project;
    if (!after) {
      setTrouble((found) =>
        found?.kind === 'ProjectConflict' ? { field: '', message: 'Somebody else changed the project meanwhile. Reload the page, then change it again.' } : found,
      );
      return;
    }
    const size = 'queueSize' in change && change.queueSize ? { size: change.queueSize } : known.queue;
    onChange({ ...after, queue: size });
    store.say('good', 'Saved.');
    void store.changed();
  }

  const wired = (name: keyof Texts, type: 'text' | 'number', label: string, hint?: string, most?: number) => (
    <Field label={label} name={name} hint={hint} trouble={trouble}>
      {(wiring) => <input {...wiring} type={type} required={name === 'name'} max={most} min={type === 'number' ? 0 : undefined} autoComplete="off" value={texts[name]} onChange={put(name)} />}
    </Field>
  );
  return (
    <section className="panel" aria-label="Rules">
      <h2>Rules</h2>
      <form className="form" onSubmit={onSubmit(save)}>
        {wired('name', 'text', 'Name')}
        <Field label="Description" name="description" trouble={trouble}>
          {(wiring) => <textarea {...wiring} rows={3} value={texts.description} onChange={put('description')} />}
        </Field>
        <div className="form-pair">
          {wired('leaseMinutes', 'number', 'Minutes for an item', 'Then it goes back to the queue. Those in hand keep their time.', 1440)}
          {known.queue && wired('queueSize', 'number', 'Items in the queue', 'At most 10,000; 0 is the usual size.', 10000)}
          {wired('reviewPercent', 'number', 'Percent to review', 'How many of 100 results await a review.', 100)}
          {wired('newcomerDays', 'number', 'Days for newcomers', 'All results of new members await a review for so long.', 365)}
        </div>
        <Field label="Suggested keywords" name="suggestedKeywords" hint="One on each line." trouble={trouble}>
          {(wiring) => <textarea {...wiring} rows={4} value={texts.suggestedKeywords} onChange={put('suggestedKeywords')} />}
        </Field>
        <TroubleNote trouble={trouble} except={Object.keys(before)} />
        <div className="actions">
          <button
            type="button"
            aria-disabled={!isChanged}
            onClick={() => {
              setTexts(before);
              setTrouble(null);
            }}
          >
            Discard changes
          </button>
          <button type="submit" className="primary" aria-disabled={busy || !isChanged}>
            Save
          </button>
        </div>
      </form>
    </section>
  );
}

function Delete() {
  const { store } = useBoard();
  const { project } = useBoardState();
  const { act, busy, trouble, setTrouble } = useAct();
  const [sure, setSure] = useState(false);
  const [typed, setTyped] = useState('');

  function close() {
    setSure(false);
    setTyped('');
    setTrouble(null);
  }

  async function remove() {
    const { id } = project!;
    if (await act(DeleteProjectDocument, { projectId: id })) store.gone(id);
  }

  return (
    <>
      <p>At once nobody sees it any more, and nobody can work on it. For 30 days, those who manage it now can bring it back with everything it has.</p>
      <div className="actions after">
        <button type="button" className="danger" onClick={() => setSure(true)}>
          Delete this project…
        </button>
      </div>
      {sure && (
        <Dialog title="Delete this project?" onClose={close}>
          <form onSubmit={onSubmit(remove)}>
            <Field label={`Type the name of the project: ${project!.name}`} name="typed" trouble={trouble}>
              {(wiring) => <input {...wiring} data-first autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />}
            </Field>
            <TroubleNote trouble={trouble} />
            <div className="actions">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <button type="submit" className="danger" disabled={busy || typed.trim() !== project!.name.trim()}>
                Delete the project
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
