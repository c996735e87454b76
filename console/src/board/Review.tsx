import { useCallback, useEffect, useRef, useState } from 'react';
import { ask, type Answer } from './client';
import { ReviewDocument, ToReviewDocument, type ToReviewMutation, type Verdict } from './gql/graphql';
import { useBoard, useBoardState, useNow } from './hooks';
import { newKey } from './idempotency';
import { useKeys } from './keys';
import { finding, review } from './live';
import { Picture } from './Picture';
import { ago } from './text';
import type { Reviewed } from './state';
import type { Held } from './types';

const ENOUGH = 20;
const AGAIN_MS = 3_000;
const KEPT = 50;

/** An item whose result has another version since it was read. */
function seen(item: Held, version = 0): Held {
  return item.efforts ? { ...item, efforts: { ...item.efforts, nodes: item.efforts.nodes.map((effort) => ({ ...effort, version })) } } : item;
}

/** The page on which reviewers look at what others found out. */
export function Review() {
  const { store, settings } = useBoard();
  const { project, live, reviewed } = useBoardState();
  const may = project?.viewerMember.type !== 'TAGGIE';
  const [found, setFound] = useState<Held[] | null>(null);
  const [chosen, setChosen] = useState('');
  const [again, setAgain] = useState<Reviewed | null>(null); // what is looked at once more
  const [comments, setComments] = useState<Record<string, string>>({}); // by item
  const [problem, setProblem] = useState('');
  const [sending, setSending] = useState(false);
  const [failed, setFailed] = useState(''); // why the last look found less than there is
  const [waiting, setWaiting] = useState<number | null>(null); // what awaits a review in all
  const looked = useRef(0); // when the last look began
  const why = useRef<HTMLTextAreaElement>(null);
  const now = useNow(5_000);

  const load = useCallback(async (): Promise<boolean> => {
    if (!project || !may) return true;
    looked.current = Date.now();
    const answer: Answer<ToReviewMutation> = await ask(store.client, ToReviewDocument, { project: project.id, count: ENOUGH });
    const efforts = answer.data?.claimReviews?.efforts;
    setFailed(efforts ? '' : (answer.failure?.message ?? 'The queue is being rebuilt.'));
    if (!efforts) {
      setFound((before) => before ?? []);
      return false;
    }
    setWaiting(answer.data?.claimReviews?.project?.toReviewCount ?? null);
    // What one is looking at stays where it is.
    const fresh = efforts.flatMap(({ item, ...effort }) => (item ? [{ ...item, efforts: { nodes: [effort] } }] : []));
    setFound((before) => {
      const kept = (before ?? []).filter(({ id }) => fresh.some((item) => item.id === id));
      return [...new Map([...kept, ...fresh].map((item) => [item.id, item])).values()];
    });
    return true;
  }, [project, may, store]);

  // At once at first. Then, when somebody finished something and when not all could be read, a few seconds after the look before: finishes that
  // come faster do not put it off.
  const finished = live.finishes.at(-1) ?? 0;
  useEffect(() => {
    let over = false;
    let timer: ReturnType<typeof setTimeout>;
    async function look() {
      const complete = await load();
      if (!complete && !over) timer = setTimeout(() => void look(), AGAIN_MS);
    }
    timer = setTimeout(() => void look(), Math.max(looked.current + AGAIN_MS - Date.now(), 0));
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [load, finished]);

  // What others did meanwhile needs no look: undone, reviewed, or finished anew.
  const open = (found ?? []).filter(({ id }) => {
    const card = live.cards.get(id)?.card;
    return !card || (card.status === 'FINISHED' && !review(card));
  });
  const at = Math.max(open.findIndex(({ id }) => id === chosen), 0);
  const item = again?.item ?? open[at];
  const effort = item && finding(item);
  const comment = (item && comments[item.id]) ?? '';

  async function say(verdict: Verdict) {
    if (!effort || !item || sending) return;
    if (verdict === 'INCORRECT' && !comment.trim()) {
      setProblem('Say why, for the author.');
      return why.current?.focus();
    }
    setSending(true);
    const { data, failure } = await ask(store.client, ReviewDocument, {
      input: { effortId: effort.id, expectedVersion: effort.version, verdict, comment: comment.trim(), idempotencyKey: newKey() },
    });
    if (store.get().project !== project) return; // another project or user is shown
    setSending(false);
    const refused = failure?.message ?? data?.reviewEffort?.problem?.message;
    const conflict = data?.reviewEffort?.problem;
    if (conflict?.__typename === 'EffortConflict' && again) { // the next try is about what it is now
      const fresh = { ...again, item: seen(again.item, conflict.current.version) };
      setAgain(fresh);
      store.set({ reviewed: reviewed.map((other) => (other.item.id === item.id ? fresh : other)) });
    }
    if (refused && (conflict?.__typename !== 'EffortConflict' || again)) return setProblem(refused);
    setFound((before) => before?.filter(({ id }) => id !== item.id) ?? null);
    if (refused) { // somebody else was first
      setProblem('');
      store.say('plain', `“${item.name}”: ${refused}.`);
      if (open.length <= 1) void load();
      return;
    }
    if (!again) setChosen(open[at + 1]?.id ?? '');
    setAgain(null);
    setProblem('');
    store.set({
      lasting: 'A review is changed in Review, by u there: only a finish can be undone.',
      reviewed: [{ item: seen(item, data?.reviewEffort?.effort?.version), verdict, comment: comment.trim() }, ...reviewed.filter((other) => other.item.id !== item.id)].slice(0, KEPT),
    });
    why.current?.blur();
    store.say('good', `“${item.name}”: ${verdict === 'CORRECT' ? 'correct' : 'incorrect, and back to its author'}.`);
    if (open.length <= 1) void load();
  }

  function choose(id: string | undefined) {
    setChosen(id ?? '');
    setAgain(null);
    setProblem('');
  }

  const step = (by: number) => choose(open[again ? at : (at + by + open.length) % open.length]?.id);

  /** Brings back what was reviewed last, or before what is looked at again. */
  function back() {
    const last = reviewed[again ? reviewed.findIndex((other) => other.item.id === again.item.id) + 1 : 0];
    if (!last) return store.say('plain', again ? 'You reviewed nothing before that since you opened the project.' : 'You reviewed nothing since you opened the project.');
    setAgain(last);
    setComments({ ...comments, [last.item.id]: last.comment });
    setProblem('');
  }

  useKeys(settings, {
    j: () => step(1),
    k: () => step(-1),
    a: () => void say('CORRECT'),
    i: () => why.current?.focus(),
    u: back,
    'Ctrl+Enter': () => {
      if (document.activeElement === why.current) void say('INCORRECT');
    },
  });

  if (!may) return <Empty title="For reviewers" text="You label items in this project. Reviewers and managers look at what was found." />;
  if (!found) return <Empty title="Looking for results…" text={problem} />;
  if (!item || !effort) {
    const title = failed ? 'Results cannot be read' : 'Nothing to review';
    return (
      <Empty title={title} text={failed ? `${failed} It is tried again by itself.` : 'Every result of others that is there has been looked at.'}>
        <button type="button" onClick={() => void load()}>
          Look again
        </button>
      </Empty>
    );
  }
  return (
    <div className="work review">
      <aside className="mine" aria-label="To review">
        <div className="mine-head">
          <h2>
            To review{' '}
            <span className="count" title="All that awaits a review, besides your own. The list has those that are kept for you.">
              {Math.max(waiting ?? 0, open.length)}
            </span>
          </h2>
          <button type="button" onClick={() => void load()}>
            Look again
          </button>
        </div>
        <ul className="mine-list">
          {open.map((other) => (
            <li key={other.id}>
              <button type="button" aria-current={other.id === item.id} onClick={() => choose(other.id)}>
                <span className="mine-name">{other.name}</span>
                <span className="time">{finding(other)?.user?.name}</span>
              </button>
            </li>
          ))}
        </ul>
      </aside>
      <Picture item={item} />
      <form
        className="item-form"
        aria-label={`Review “${item.name}”`}
        onSubmit={(event) => {
          event.preventDefault();
          void say('INCORRECT');
        }}
      >
        {again && (
          <p className="returned is-plain" role="note">
            You found this <strong>{again.verdict === 'CORRECT' ? 'correct' : 'incorrect'}</strong>. You can say something else now, or go on with another.
          </p>
        )}
        <dl className="found">
          <div>
            <dt>Category</dt>
            <dd>{item.category?.name}</dd>
          </div>
          <div>
            <dt>Subcategory</dt>
            <dd>{item.subcategory?.name ?? '–'}</dd>
          </div>
          <div>
            <dt>Keywords</dt>
            <dd>{item.keywords.join(', ') || '–'}</dd>
          </div>
          <div>
            <dt>Found by</dt>
            <dd>
              {effort.user?.name}, {ago(effort.finishedAt, now)}
            </dd>
          </div>
        </dl>
        <div className="item-actions">
          <button type="button" className="primary" disabled={sending} onClick={() => void say('CORRECT')}>
            Correct <kbd>a</kbd>
          </button>
        </div>
        <label htmlFor="comment">
          What is wrong <kbd>i</kbd> <span className="muted">for the author</span>
        </label>
        <textarea id="comment" ref={why} rows={4} maxLength={2000} value={comment} onChange={(event) => setComments({ ...comments, [item.id]: event.target.value })} />
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="item-actions">
          <button type="submit" className="danger" disabled={sending}>
            Incorrect <kbd>Ctrl ↵</kbd>
          </button>
        </div>
      </form>
    </div>
  );
}

function Empty({ title, text, children }: { title: string; text: string; children?: React.ReactNode }) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      <p className="muted">{text}</p>
      {children}
    </section>
  );
}
