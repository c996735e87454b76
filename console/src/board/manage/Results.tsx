import { useRef, useState } from 'react';
import { CardDialog } from '../CardDialog';
import { ask } from '../client';
import { ByExternalIdDocument, RemoveItemsDocument, ResultsDocument, ReturnSkippedDocument, ReviewDocument, type ProjectItemStatus, type ResultFragment } from '../gql/graphql';
import { useBoard, useBoardState, useLater, useNow } from '../hooks';
import { finding } from '../live';
import { moment, number } from '../text';
import { advise, useAct } from '../act';
import { Exports } from './Exports';
import { Confirm, Field, FormDialog, onSubmit, Select, TroubleNote } from '../forms';
import { Pages, usePages } from './lists';
import { Removals } from './Removals';
import { statusNames } from './words';

const SHOWN = 25;
const MOST = 100; // items that the server removes or brings back at once

/** What was found out, item by item; what to do with items; and files of the results. */
export function Results() {
  const { store } = useBoard();
  const { project, live, viewer } = useBoardState();
  const id = project?.id ?? '';
  const [status, setStatus] = useState<ProjectItemStatus | ''>('');
  const [name, setName] = useState('');
  const namePrefix = useLater(name.trim(), 200);
  const results = usePages(ResultsDocument, { project: id, status: status || null, namePrefix: namePrefix || null, first: SHOWN }, (data) => data.project?.items);
  const [wanted, setWanted] = useState('');
  const [found, setFound] = useState<ResultFragment | null>(null);
  const [missed, setMissed] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ResultFragment | null>(null);
  const [sure, setSure] = useState<'remove' | 'back' | null>(null);
  const [comment, setComment] = useState('');
  const isCancelled = useRef(false); // the dialog was closed while items are put back
  const [removed, setRemoved] = useState(0);
  const { act, busy, trouble, setTrouble } = useAct();

  // Events tell that the list is no longer as it is; reading it for each of them would be too much.
  const [readAt, setReadAt] = useState(live.sequence);
  function readAgain() {
    finds.current += 1;
    setReadAt(store.get().live.sequence);
    setChosen(new Set());
    setFound(null);
    void results.again();
  }

  const finds = useRef(0); // an answer that others have overtaken is not shown
  async function find() {
    const mine = ++finds.current;
    setMissed('');
    const { data, failure } = await ask(store.client, ByExternalIdDocument, { project: id, externalId: wanted.trim() });
    if (mine !== finds.current) return;
    const item = data?.project?.itemByExternalId ?? null;
    setFound(item);
    setChosen(new Set());
    if (!item) setMissed(failure ? advise(failure) : `No item has the external id “${wanted.trim()}”. Look whether it is written in the same way, capitals too.`);
  }

  /** Shows the list in place of the item that was found by its id. */
  function listAgain() {
    finds.current += 1;
    setFound(null);
    setMissed('');
    setChosen(new Set());
  }

  // What events told of an item that is shown, since it was read.
  const current = (item: ResultFragment): ResultFragment => {
    const placed = live.cards.get(item.id);
    return placed && placed.sequence > readAt ? { ...item, ...placed.card } : item;
  };
  const items = (found ? [found] : (results.nodes ?? [])).map(current);
  const picked = items.filter((item) => chosen.has(item.id));
  const skipped = picked.filter((item) => item.status === 'SKIPPED');
  const finished = picked.filter((item) => item.status === 'FINISHED' && finding(item) && finding(item)?.user?.id !== viewer?.id);
  const returning = skipped.length + finished.length;
  const pick = (item: ResultFragment, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(item.id);
    else next.delete(item.id);
    setChosen(next);
  };

  /** Puts what was skipped back, and then, one after another, what was finished: a manager does that by finding the result incorrect. */
  async function putBack() {
    isCancelled.current = false;
    const back = new Set<string>();
    const answer = skipped.length ? await act(ReturnSkippedDocument, { projectId: id, itemIds: skipped.map((item) => item.id) }) : undefined;
    for (const item of answer?.returnSkippedItems?.items ?? []) back.add(item.id);
    let isDone = answer !== null;
    for (const item of finished) {
      if (isCancelled.current) break;
      const { id: effortId, version } = finding(item)!;
      isDone &&= (await act(ReviewDocument, { effortId, verdict: 'INCORRECT', comment: comment.trim(), expectedVersion: version })) !== null;
      if (!isDone) break;
      back.add(item.id);
    }
    const isStopped = isDone && back.size < returning && isCancelled.current;
    if (back.size) store.say('good', `${count(back.size)} back in the queue, before others.${isStopped ? ' You cancelled the rest.' : ''}`);
    const change = (item: ResultFragment): ResultFragment => (back.has(item.id) ? { ...item, status: 'NEW' } : item);
    results.change((nodes) => nodes.map(change));
    if (found) setFound(change(found));
    if (isDone && !isStopped) {
      close();
      setChosen(new Set());
    }
  }

  function close() {
    isCancelled.current = true;
    setSure(null);
    setComment('');
    setTrouble(null);
  }

  async function remove() {
    const ids = picked.map((item) => item.id);
    const data = await act(RemoveItemsDocument, { projectId: id, itemIds: ids });
    if (!data) return;
    setSure(null);
    finds.current += 1; // what is still being looked for may be what was removed
    results.change((nodes) => nodes.filter((item) => !ids.includes(item.id)));
    setFound(null);
    setChosen(new Set());
    setRemoved(removed + 1);
    store.say('plain', `${count(ids.length)} being removed. For 30 days you can bring them back: see “Removed items”.`);
  }

  return (
    <div className="section">
      <section className="panel" aria-label="Results">
        <h2>Results</h2>
        <div className="row-form">
          <Select
            label="Status"
            value={status}
            names={statusNames}
            all="All"
            onChange={(value) => {
              setStatus(value);
              listAgain();
            }}
          />
          <div className="field">
            <label htmlFor="results-name">Name begins with</label>
            <input
              id="results-name"
              type="search"
              autoComplete="off"
              value={name}
              onChange={(event) => {
                setName(event.target.value);
                listAgain();
              }}
            />
          </div>
          <form className="row-form is-grown" onSubmit={onSubmit(find)}>
            <div className="field">
              <label htmlFor="results-id">External id</label>
              <input id="results-id" type="search" required autoComplete="off" value={wanted} onChange={(event) => setWanted(event.target.value)} />
            </div>
            <button type="submit">Find</button>
          </form>
        </div>
        {missed && (
          <p className="problem" role="alert">
            {missed}
          </p>
        )}
        <div className="actions bar-of-list">
          <button type="button" disabled={!picked.length || picked.length > MOST || busy} onClick={() => setSure('remove')}>
            Remove {picked.length > 0 && number(picked.length)}
          </button>
          <button type="button" disabled={!returning || returning > MOST || busy} onClick={() => (finished.length ? setSure('back') : void putBack())}>
            Put back into the queue {returning > 0 && number(returning)}
          </button>
          {found ? (
            <button type="button" onClick={listAgain}>
              Show all again
            </button>
          ) : (
            <button type="button" aria-disabled={results.busy} onClick={readAgain}>
              Read again{live.sequence > readAt && <span className="muted">: something changed</span>}
            </button>
          )}
        </div>
        {picked.length > MOST && <p className="muted">You can remove at most {MOST} items at once.</p>}
        {returning < picked.length && <p className="muted">Skipped and finished items can be put back. What you have finished yourself is for another reviewer.</p>}
        {!sure && <TroubleNote trouble={trouble} />}
        <Pages of={found ? { ...results, hasMore: false } : results}>
          <Table items={items} chosen={chosen} onPick={pick} onPickAll={(all) => setChosen(new Set(all ? items.map((item) => item.id) : []))} onOpen={setOpened} />
          {results.nodes && !items.length && (
            <p className="muted">
              {nothing(status, namePrefix, results.hasMore)}
            </p>
          )}
        </Pages>
      </section>
      <Exports />
      <Removals key={removed} onRestored={readAgain} />
      {opened && <CardDialog card={opened} onClose={() => setOpened(null)} />}
      {sure === 'remove' && (
        <Confirm title={`Remove ${number(picked.length)} ${picked.length === 1 ? 'item' : 'items'}?`} yes={picked.length === 1 ? 'Remove it' : 'Remove them'} busy={busy} trouble={trouble} onYes={remove} onClose={close}>
          <p>What you remove, and what was found out about it, is no longer shown or handed out. You can bring it back for 30 days.</p>
        </Confirm>
      )}
      {sure === 'back' && (
        <FormDialog title={`Put ${number(returning)} ${returning === 1 ? 'item' : 'items'} back into the queue?`} yes="Put back" fields={['comment']} busy={busy} trouble={trouble} onYes={putBack} onClose={close}>
          <p>A finished item counts as found incorrect then. It waits for who finished it, for a day at most; then for everybody.</p>
          <Field label="Why" name="comment" hint="Who finished it reads this. It may stay empty." trouble={trouble}>
            {(wiring) => <textarea {...wiring} data-first rows={3} maxLength={2000} value={comment} onChange={(event) => setComment(event.target.value)} />}
          </Field>
        </FormDialog>
      )}
    </div>
  );
}

/** Why the list is empty. */
function nothing(status: ProjectItemStatus | '', name: string, hasMore: boolean) {
  if (hasMore) return 'None so far: see more.';
  if (name) return `No item has a name that begins with “${name}”${status && ' and this status'}.`;
  return status ? `No item is ${statusNames[status].toLowerCase()}.` : 'The project has no items yet. Bring some from a file: see Items.';
}

const count = (items: number) => `${number(items)} ${items === 1 ? 'item is' : 'items are'}`;

function Table(props: {
  items: ResultFragment[];
  chosen: ReadonlySet<string>;
  onPick: (item: ResultFragment, isChosen: boolean) => void;
  onPickAll: (all: boolean) => void;
  onOpen: (item: ResultFragment) => void;
}) {
  const { items, chosen } = props;
  const now = useNow(30_000);
  if (!items.length) return null;
  const all = items.every((item) => chosen.has(item.id));
  return (
    <table className="stacked results">
      <thead>
        <tr>
          <th scope="col">
            <label>
              <input type="checkbox" aria-label="All that are shown" checked={all} onChange={() => props.onPickAll(!all)} /> <span className="narrow-only">All</span>
            </label>
          </th>
          <th scope="col">Item</th>
          <th scope="col">External id</th>
          <th scope="col">Status</th>
          <th scope="col">Found to be</th>
          <th scope="col">By</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => {
          const last = finding(item);
          const verdict = last?.review?.verdict;
          return (
            <tr key={item.id}>
              <td>
                <input type="checkbox" aria-label={`Choose ${item.name}`} checked={chosen.has(item.id)} onChange={(event) => props.onPick(item, event.target.checked)} />
              </td>
              <td>
                <button type="button" className="link" onClick={() => props.onOpen(item)}>
                  {item.name}
                </button>
              </td>
              <td className="muted">{item.externalId}</td>
              <td>
                <span className="tag">{statusNames[item.status]}</span>{' '}
                {verdict && <span className={verdict === 'CORRECT' ? 'tag is-good' : 'tag is-bad'}>{verdict === 'CORRECT' ? 'correct' : 'incorrect'}</span>}
              </td>
              <td>
                {[item.category?.name, item.subcategory?.name].filter(Boolean).join(' · ')} <span className="muted">{item.keywords.join(', ')}</span>
              </td>
              <td className="muted">{last && `${last.user?.name ?? 'Somebody'}, ${moment(last.finishedAt, now)}`}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
