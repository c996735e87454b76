import { useRef, useState } from 'react';
import { ask } from '../client';
import { CreateProjectDocument, UpdateProjectDocument } from '../gql/graphql';
import { useBoard } from '../hooks';
import { newKey } from '../idempotency';
import { sentence } from '../text';
import { advise, useAct } from '../act';
import { Field, lines, onSubmit, TroubleNote } from '../forms';

const LEASE = 15; // the server's own

/** Makes a project, and opens it. */
export function NewProject({ onDone, onCancel }: { onDone: () => void; onCancel?: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble } = useAct();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [categories, setCategories] = useState('');
  const [subcategories, setSubcategories] = useState('');
  const [lease, setLease] = useState(String(LEASE));
  const [size, setSize] = useState('');
  const [isMaking, setIsMaking] = useState(false);
  const making = useRef(false); // from the first question to the last answer: a second Enter makes no second project

  async function create() {
    if (making.current) return;
    making.current = true;
    setIsMaking(true);
    try {
      await make();
    } finally {
      making.current = false;
      setIsMaking(false);
    }
  }

  async function make() {
    const data = await act(CreateProjectDocument, { name: name.trim(), description, categories: lines(categories), subcategories: lines(subcategories) });
    const project = data?.createProject?.project;
    if (!project) return;
    // These two have fields of their own in updateProject only.
    const rules = { leaseMinutes: Number(lease) === LEASE ? undefined : Number(lease), queueSize: size ? Number(size) : undefined };
    if (rules.leaseMinutes !== undefined || rules.queueSize !== undefined) {
      const { data, failure } = await ask(store.client, UpdateProjectDocument, { input: { projectId: project.id, ...rules, idempotencyKey: newKey() } });
      const problem = data?.updateProject?.problem;
      const why = failure ? advise(failure) : problem && sentence(problem.message);
      if (why) store.say('bad', `The project is there, but lease and queue have their usual values: ${why} You can set them under Manage, Rules.`);
    }
    onDone();
    await store.enter(project);
  }

  return (
    <form className="form" data-keep onSubmit={onSubmit(create)}>
      <Field label="Name" name="name" trouble={trouble}>
        {(wiring) => <input {...wiring} data-first autoFocus required maxLength={100} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Description" name="description" hint="Members see it. It may stay empty." trouble={trouble}>
        {(wiring) => <textarea {...wiring} rows={2} value={description} onChange={(event) => setDescription(event.target.value)} />}
      </Field>
      <div className="form-pair">
        <Field label="Categories" name="categories" hint="What an item can be: one on each line." trouble={trouble}>
          {(wiring) => <textarea {...wiring} required rows={4} value={categories} onChange={(event) => setCategories(event.target.value)} />}
        </Field>
        <Field label="Subcategories" name="subcategories" hint="What else it can be, if you need that." trouble={trouble}>
          {(wiring) => <textarea {...wiring} rows={4} value={subcategories} onChange={(event) => setSubcategories(event.target.value)} />}
        </Field>
      </div>
      <div className="form-pair">
        <Field label="Minutes for an item" name="leaseMinutes" hint="Then it goes back to the queue. 1 to 1,440." trouble={trouble}>
          {(wiring) => <input {...wiring} type="number" data-begin={LEASE} required min={1} max={1440} value={lease} onChange={(event) => setLease(event.target.value)} />}
        </Field>
        <Field label="Items in the queue" name="queueSize" hint="At most 10,000; usually 1,000." trouble={trouble}>
          {(wiring) => <input {...wiring} type="number" min={1} max={10000} placeholder="1,000" value={size} onChange={(event) => setSize(event.target.value)} />}
        </Field>
      </div>
      <TroubleNote trouble={trouble} except={['name', 'description', 'categories', 'subcategories']} />
      <div className="actions">
        {onCancel && (
          <button type="button" data-cancel onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" aria-disabled={busy || isMaking}>
          Create the project
        </button>
      </div>
    </form>
  );
}
