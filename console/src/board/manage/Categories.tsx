import { useEffect, useRef, useState } from 'react';
import { ask } from '../client';
import { AddCategoriesDocument, CategoriesDocument, UpdateCategoryDocument, UpdateSubcategoryDocument, type CategoriesQuery } from '../gql/graphql';
import { useBoard, useBoardState } from '../hooks';
import { advise, useAct } from '../act';
import { Field, FormDialog, lines, onSubmit, Rename, TroubleNote } from '../forms';

type Lists = NonNullable<CategoriesQuery['project']>;
type Category = NonNullable<Lists['categories']>[number];
type Kind = 'categories' | 'subcategories';

/** What items can be: to add, rename, retire and merge. */
export function Categories() {
  const { store } = useBoard();
  const { project } = useBoardState();
  const [lists, setLists] = useState<Lists | null>(null);
  const [problem, setProblem] = useState('');
  const open = useRef(true);

  async function read() {
    const { data, failure } = await ask(store.client, CategoriesDocument, { project: project!.id });
    if (!open.current) return;
    if (data?.project) setLists(data.project);
    setProblem(data?.project ? '' : failure ? advise(failure) : 'There is nothing to show. Reload the page.');
  }
  // Read again when the list that is offered for labelling changes, whoever changed it.
  const offered = JSON.stringify([project?.categories, project?.subcategories]);
  useEffect(() => {
    open.current = true;
    void read();
    return () => {
      open.current = false;
    };
  }, [offered]);

  return (
    <>
      {problem && <p className="problem">{problem}</p>}
      {lists && <List title="Categories" kind="categories" all={lists.categories ?? []} onDone={read} />}
      {lists && <List title="Subcategories" kind="subcategories" all={lists.subcategories ?? []} onDone={read} />}
    </>
  );
}

function List({ title, kind, all, onDone }: { title: string; kind: Kind; all: Category[]; onDone: () => void }) {
  const { project } = useBoardState();
  const { act, busy, trouble } = useAct();
  const [names, setNames] = useState('');

  async function add() {
    if (!(await act(AddCategoriesDocument, { projectId: project!.id, [kind]: lines(names) }))) return;
    setNames('');
    onDone();
  }

  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <ul className="entries">
        {all.map((category) => (
          <Entry key={category.id} category={category} kind={kind} others={all.filter(({ id, retiredAt }) => id !== category.id && !retiredAt)} onDone={onDone} />
        ))}
      </ul>
      {!all.length && <p className="muted">There are none.</p>}
      <form className="row-form after" onSubmit={onSubmit(add)}>
        <Field label={`More ${kind}`} name={kind} hint="One on each line." trouble={trouble}>
          {(wiring) => <textarea {...wiring} required rows={2} value={names} onChange={(event) => setNames(event.target.value)} />}
        </Field>
        <button type="submit" aria-disabled={busy}>
          Add
        </button>
      </form>
      <TroubleNote trouble={trouble} except={[kind]} />
    </section>
  );
}

function Entry({ category, kind, others, onDone }: { category: Category; kind: Kind; others: Category[]; onDone: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble, setTrouble } = useAct();
  const [dialog, setDialog] = useState<'rename' | 'merge' | null>(null);
  const [into, setInto] = useState('');

  function close() {
    setDialog(null);
    setInto('');
    setTrouble(null);
  }

  async function update(change: { name?: string; retired?: boolean; mergeInto?: string }, said: string) {
    const done =
      kind === 'categories'
        ? await act(UpdateCategoryDocument, { categoryId: category.id, ...change })
        : await act(UpdateSubcategoryDocument, { subcategoryId: category.id, ...change });
    if (!done) return;
    close();
    store.say('good', said);
    onDone();
  }

  return (
    <li className="entry is-row">
      <p>
        <strong className={category.retiredAt ? 'is-retired' : undefined}>{category.name}</strong> {category.retiredAt && <span className="tag">retired</span>}
      </p>
      <div className="actions">
        <button type="button" aria-label={`Rename ${category.name}`} onClick={() => setDialog('rename')}>
          Rename
        </button>
        {category.retiredAt ? (
          <button type="button" aria-disabled={busy} aria-label={`Use ${category.name} again`} onClick={() => void update({ retired: false }, `“${category.name}” can be chosen again.`)}>
            Use again
          </button>
        ) : (
          <button type="button" aria-disabled={busy} aria-label={`Retire ${category.name}`} onClick={() => void update({ retired: true }, `“${category.name}” can no longer be chosen. What is labelled stays.`)}>
            Retire
          </button>
        )}
        {others.length > 0 && (
          <button type="button" aria-label={`Merge ${category.name}`} onClick={() => setDialog('merge')}>
            Merge…
          </button>
        )}
      </div>
      {!dialog && <TroubleNote trouble={trouble} />}
      {dialog === 'rename' && <Rename name={category.name} busy={busy} trouble={trouble} onYes={(name) => update({ name }, `“${category.name}” is called “${name}” now.`)} onClose={close} />}
      {dialog === 'merge' && (
        <FormDialog
          title={`Merge ${category.name}`}
          yes="Merge"
          isDanger
          fields={['mergeInto']}
          isReady={Boolean(into)}
          busy={busy}
          trouble={trouble}
          onYes={() => update({ mergeInto: into }, `“${category.name}” is merged. Its items follow in the background.`)}
          onClose={close}
        >
          <Field label="Into" name="mergeInto" hint="It disappears from the list; its items and statistics follow. Nothing undoes that." trouble={trouble}>
            {(wiring) => (
              <select {...wiring} data-first value={into} onChange={(event) => setInto(event.target.value)}>
                <option value="">Choose…</option>
                {others.map((other) => (
                  <option key={other.id} value={other.id}>
                    {other.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </FormDialog>
      )}
    </li>
  );
}
