import { useEffect, useRef, useState } from 'react';
import { ask } from '../client';
import { DeleteProjectDocument, RulesDocument, UpdateProjectDocument, type RulesQuery, type UpdateProjectInput } from '../gql/graphql';
import { useBoard, useBoardState } from '../hooks';
import { advise, useAct, type Trouble } from '../act';
import { Categories } from './Categories';
import { DeletedProjects } from './DeletedProjects';
import { Field, FormDialog, lines, onSubmit, TroubleNote } from '../forms';

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
const names = ['name', 'description', 'leaseMinutes', 'queueSize', 'reviewPercent', 'newcomerDays', 'suggestedKeywords'] as const satisfies (keyof Texts)[];

/** What was changed in the form, as the server takes it. */
export function changes(before: Texts, after: Texts): Omit<UpdateProjectInput, 'projectId'> {
  const changed = (name: keyof Texts) => before[name] !== after[name];
  const numbers = ['leaseMinutes', 'queueSize', 'reviewPercent', 'newcomerDays'] as const;
  return {
    ...(changed('name') && { name: after.name.trim() }),
    ...(changed('description') && { description: after.description }),
    ...(changed('suggestedKeywords') && { suggestedKeywords: lines(after.suggestedKeywords) }),
    ...Object.fromEntries(numbers.filter((name) => changed(name) && after[name] !== '').map((name) => [name, Number(after[name])])),
  };
}

/** What the form shows when the project was read again: what the user has changed stays, the rest is as it is now. Tells what somebody else changed. */
export function merged(before: Texts, typed: Texts, now: Texts): { texts: Texts; others: (keyof Texts)[] } {
  const texts = Object.fromEntries(names.map((name) => [name, typed[name] === before[name] ? now[name] : typed[name]])) as Texts;
  return { texts, others: names.filter((name) => now[name] !== before[name] && now[name] !== typed[name]) };
}

const labels: Record<keyof Texts, string> = {
  name: 'Name',
  description: 'Description',
  leaseMinutes: 'Minutes for an item',
  queueSize: 'Items in the queue',
  reviewPercent: 'Percent to review',
  newcomerDays: 'Days for newcomers',
  suggestedKeywords: 'Suggested keywords',
};

/** What somebody else changed, as a sentence. */
function changedBy(others: (keyof Texts)[], now: Texts): string {
  const said = others.map((name) => `“${labels[name]}” is ${now[name] === '' ? 'empty' : name === 'description' || name === 'suggestedKeywords' ? 'another one' : `“${now[name]}”`} now`);
  return said.length ? `${said.join('; ')}.` : 'None of these fields is another one now.';
}

/** How the project is called and how it works; its lists; and its end. */
export function Rules() {
  const { store } = useBoard();
  const { project, live } = useBoardState();
  const id = project?.id ?? '';
  const [known, setKnown] = useState<Known | null>(null);
  const [problem, setProblem] = useState('');
  const open = useRef(true);

  const latest = useRef(0); // a failure that another question has overtaken is not shown
  /** Reads the rules; resolves to them, or to null if that failed. */
  async function read(): Promise<Known | null> {
    const mine = ++latest.current;
    const { data, failure } = await ask(store.client, RulesDocument, { project: id });
    if (!open.current) return null;
    const now = data?.project;
    if (now) setKnown((shown) => (shown && shown.version > now.version ? shown : now));
    if (mine === latest.current) setProblem(now ? '' : failure ? advise(failure) : 'There is nothing to show. Reload the page.');
    return now ?? null;
  }
  useEffect(() => {
    open.current = true;
    void read();
    return () => {
      open.current = false;
    };
  }, [id]);
  // Whoever pauses, resumes or changes the lists, it makes another version of the project, which a form that is saved has to know.
  const seen = useRef({ paused: live.paused, project });
  useEffect(() => {
    if (seen.current.paused !== live.paused || seen.current.project !== project) void read();
    seen.current = { paused: live.paused, project };
  }, [live.paused, project]);

  return (
    <div className="section">
      {problem && <p className="problem">{problem}</p>}
      {known && <RulesForm known={known} onRead={read} />}
      <section className="panel" aria-label="Handing out">
        <h2>Handing out</h2>
        <p>{live.paused ? 'Nothing is handed out at the moment. Members can go on with items that they have.' : 'Items are handed out. While you pause that, members can go on with items that they have.'}</p>
        <div className="actions after">
          <button type="button" onClick={() => void store.pause(!live.paused).then(read)}>
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

function RulesForm({ known, onRead }: { known: Known; onRead: () => Promise<Known | null> }) {
  const { store } = useBoard();
  const { project } = useBoardState();
  const { act, busy, trouble, setTrouble } = useAct();
  const before = textsOf(known);
  const [texts, setTexts] = useState(before);
  // What is read again takes the place of what was there; what was typed stays. A save would then replace what somebody else wrote in the same
  // field: that is said first.
  const base = useRef(before);
  useEffect(() => {
    const from = base.current;
    base.current = textsOf(known);
    setTexts((typed) => merged(from, typed, base.current).texts);
    const clashes = merged(from, texts, base.current).others.filter((name) => texts[name] !== from[name]);
    if (clashes.length) setTrouble({ field: '', message: `Somebody else changed the project meanwhile. ${changedBy(clashes, base.current)} What you typed is kept: look at it, then save.` });
  }, [known]);
  const change = changes(before, texts);
  const isChanged = names.some((name) => texts[name] !== before[name]);
  const put = (name: keyof Texts) => (event: { target: { value: string } }) => setTexts({ ...texts, [name]: event.target.value });

  async function save() {
    if (!isChanged) return;
    const data = await act(UpdateProjectDocument, { projectId: project!.id, expectedVersion: known.version, ...change }, explain);
    if (!data) return;
    // What was saved is not typed any more: the form shows what the server has.
    base.current = { ...texts };
    store.say('good', 'Saved.');
    void store.changed();
    await onRead();
  }

  /** When the project is another one now: reads it, and says what to look at before it is saved again. */
  async function explain(found: Trouble): Promise<Trouble> {
    if (found.kind !== 'ProjectConflict') return found;
    const now = await onRead();
    if (!now) return { field: '', message: 'The project was changed meanwhile, and cannot be read at the moment. What you typed is kept: try again.' };
    const { others } = merged(before, texts, textsOf(now));
    return { field: '', message: `The project was changed meanwhile, so nothing was saved. ${changedBy(others, textsOf(now))} What you typed is kept: look at it, then save again.` };
  }

  const wired = (name: keyof Texts, type: 'text' | 'number', label: string, hint?: string, most?: number) => (
    <Field label={label} name={name} hint={hint} trouble={trouble}>
      {(wiring) => <input {...wiring} type={type} required={name === 'name' || type === 'number'} max={most} min={type === 'number' ? 0 : undefined} autoComplete="off" value={texts[name]} onChange={put(name)} />}
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
        <FormDialog title="Delete this project?" yes="Delete the project" isDanger fields={['typed']} isReady={typed.trim() === project!.name.trim()} busy={busy} trouble={trouble} onYes={remove} onClose={close}>
          <Field label={`Type the name of the project: ${project!.name}`} name="typed" trouble={trouble}>
            {(wiring) => <input {...wiring} data-first autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />}
          </Field>
        </FormDialog>
      )}
    </>
  );
}
