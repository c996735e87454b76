import { useEffect, useRef, useState, type Dispatch, type ReactNode, type SetStateAction } from 'react';
import { useAnswer } from './answer';
import { CorrectionFields, correctionOf, inputOf, isAsFound } from './Correction';
import { Select } from './forms';
import { AuthorsDocument, type Verdict } from './gql/graphql';
import { useBoard, useBoardState, useNow, useSettings } from './hooks';
import { useKeys } from './keys';
import type { Labels } from './LabelFields';
import { finding } from './live';
import { Picture } from './Picture';
import { ReviewGrid } from './ReviewGrid';
import type { Reviewed } from './state';
import { ago } from './text';
import { keyOf, seen, useReviews, type ReviewFilter, type Reviews } from './useReviews';

const IN_LIST = 20;
const IN_GRID = 50; // as many as one has at most

/** The page on which reviewers look at what others found out: one result at a time, or many as a grid. */
export function Review() {
  const { settings } = useBoard();
  const { project } = useBoardState();
  const { isGrid } = useSettings();
  const may = project?.viewerMember.type !== 'TAGGIE';
  const [filter, setFilter] = useState<ReviewFilter>({ authorId: '', categoryId: '' });
  const typed = useState<Typed>({});
  const reviews = useReviews(filter, isGrid ? IN_GRID : IN_LIST, may);
  const toggle = () => settings.set({ isGrid: !isGrid });
  useKeys(settings, { v: may ? toggle : undefined });

  if (!may) return <Empty title="For reviewers" text="You label items in this project. Reviewers and managers look at what was found." />;
  return (
    <div className="reviews">
      <Bar filter={filter} isGrid={isGrid} reviews={reviews} onFilter={setFilter} onToggle={toggle} />
      {isGrid ? (
        <ReviewGrid key={JSON.stringify(filter)} reviews={reviews} nothing={<Nothing filter={filter} reviews={reviews} />} />
      ) : (
        <ReviewOne reviews={reviews} typed={typed} nothing={<Nothing filter={filter} reviews={reviews} />} />
      )}
    </div>
  );
}

/** What is asked for, and how it is shown. */
function Bar(props: { filter: ReviewFilter; isGrid: boolean; reviews: Reviews; onFilter: (filter: ReviewFilter) => void; onToggle: () => void }) {
  const { filter, isGrid, reviews, onFilter } = props;
  const { project, viewer } = useBoardState();
  const [asked, setAsked] = useState(0);
  const { data } = useAnswer(AuthorsDocument, { project: project?.id ?? '' }, asked);
  const users = (data?.project?.teams ?? []).flatMap(({ statistics }) => statistics?.users ?? []).flatMap(({ user }) => (user && user.id !== viewer?.id ? [user] : []));
  const isNew = Boolean(data) && reviews.open?.some((item) => !users.some(({ id }) => id === finding(item)?.user?.id));
  useEffect(() => {
    if (isNew) setAsked((before) => before + 1); // somebody has finished something for the first time
  }, [isNew]);
  const named = (options: { id: string; name: string }[]) => Object.fromEntries(options.map(({ id, name }) => [id, name]));
  return (
    <div className="reviews-bar" role="toolbar" aria-label="What to review">
      <Select label="Found by" value={filter.authorId} names={named(users.sort((a, b) => a.name.localeCompare(b.name)))} all="Everybody" onChange={(authorId) => onFilter({ ...filter, authorId })} />
      <Select label="Found to be" value={filter.categoryId} names={named(project?.categories ?? [])} all="All" onChange={(categoryId) => onFilter({ ...filter, categoryId })} />
      <p>
        <span className="count" title="All that awaits a review, besides your own. The list has those that are kept for you.">
          {Math.max(reviews.waiting ?? 0, reviews.open?.length ?? 0)}
        </span>{' '}
        <span className="muted">to review</span>
      </p>
      <button type="button" onClick={() => void reviews.load()}>
        Look again
      </button>
      <button type="button" aria-pressed={isGrid} onClick={props.onToggle}>
        Grid <kbd>v</kbd>
      </button>
    </div>
  );
}

/** Why there is nothing to look at. */
function Nothing({ filter, reviews }: { filter: ReviewFilter; reviews: Reviews }) {
  if (!reviews.open) return <Empty title="Looking for results…" text="" />;
  if (reviews.failed) return <Empty title="Results cannot be read" text={`${reviews.failed} It is tried again by itself.`} />;
  const isSome = filter.authorId || filter.categoryId;
  return <Empty title="Nothing to review" text={isSome ? 'There is nothing of what you chose above.' : 'Every result of others that is there has been looked at.'} />;
}

/** What a reviewer has typed about results, by their keys. It stays while the grid is shown. */
type Typed = Record<string, { comment: string; correction?: Labels }>;

/** One result after another, with its picture. */
function ReviewOne(props: { reviews: Reviews; typed: [Typed, Dispatch<SetStateAction<Typed>>]; nothing: ReactNode }) {
  const { reviews, nothing } = props;
  const [typed, setTyped] = props.typed;
  const { store, settings } = useBoard();
  const { reviewed } = useBoardState();
  const [chosen, setChosen] = useState('');
  const [again, setAgain] = useState<Reviewed | null>(null); // what is looked at once more
  const [problem, setProblem] = useState('');
  const [sending, setSending] = useState('');
  const hasMoved = useRef(false); // to another result, since a verdict is being sent
  const why = useRef<HTMLTextAreaElement>(null);
  const now = useNow(5_000);

  const open = reviews.open ?? [];
  const at = Math.max(open.findIndex(({ id }) => id === chosen), 0);
  const item = again?.item ?? open[at];
  const effort = item && finding(item);
  const key = item ? keyOf(item) : '';
  const { comment = '', correction } = typed[key] ?? {};
  const isSending = sending === key;

  function type(change: Partial<Typed[string]>, of = key) {
    setTyped((before) => ({ ...before, [of]: { comment: '', ...before[of], ...change } }));
    setProblem('');
  }

  async function say(verdict: Verdict) {
    if (!effort || !item || sending) return;
    if (verdict === 'INCORRECT' && !correction && !comment.trim()) {
      setProblem('Say why, for the author.');
      return why.current?.focus();
    }
    if (correction && !correction.categoryId) return setProblem('Choose a category.');
    if (correction && isAsFound(item, correction)) return setProblem('This is what was found. Change something, or leave it as it was found and say that it is correct.');
    setSending(key);
    hasMoved.current = false;
    const { became, message, version } = await reviews.say(item, { verdict, comment, correction: correction && inputOf(correction) });
    setSending('');
    const isHere = !hasMoved.current;
    if (again && version) { // the next try is about what it is now
      const fresh = { ...again, item: seen(again.item, version) };
      if (isHere) setAgain(fresh);
      type({ comment }, keyOf(fresh.item));
      store.set({ reviewed: store.get().reviewed.map((other) => (other.item.id === item.id ? fresh : other)) });
    }
    if (became === 'refused' || (became === 'overtaken' && again)) {
      if (isHere) setProblem(message);
      else if (message) store.say('bad', `“${item.name}”: ${message}`);
      return;
    }
    setTyped(({ [key]: _, ...others }) => others);
    if (became === 'overtaken') store.say('plain', `“${item.name}”: ${message}`);
    else store.say('good', `“${item.name}”: ${verdict === 'CORRECT' ? 'correct' : correction ? 'corrected' : 'incorrect, and back to its author'}.`);
    if (isHere) {
      if (!again) setChosen(open[at + 1]?.id ?? '');
      setAgain(null);
      setProblem('');
      (document.activeElement as HTMLElement | null)?.blur();
    }
    if (open.length <= 1) void reviews.load();
  }

  function choose(id: string | undefined) {
    hasMoved.current = true;
    setChosen(id ?? '');
    setAgain(null);
    setProblem('');
  }

  const step = (by: number) => choose(open[again ? at : (at + by + open.length) % open.length]?.id);

  /** Brings back what was reviewed last, or before what is looked at again. */
  function back() {
    const last = reviewed[again ? reviewed.findIndex((other) => other.item.id === again.item.id) + 1 : 0];
    if (!last) return store.say('plain', again ? 'You reviewed nothing before that since you opened the project.' : 'You reviewed nothing since you opened the project.');
    hasMoved.current = true;
    setAgain(last);
    type({ comment: last.comment }, keyOf(last.item));
  }

  useKeys(settings, {
    j: () => step(1),
    k: () => step(-1),
    a: correction ? undefined : () => void say('CORRECT'),
    i: isSending ? undefined : () => why.current?.focus(),
    e: item && !correction && !isSending ? () => type({ correction: correctionOf(item) }) : undefined,
    u: back,
    'Ctrl+Enter': () => {
      if (correction || document.activeElement === why.current) void say('INCORRECT');
    },
  });

  if (!item || !effort) return nothing;
  return (
    <div className="work review">
      <aside className="mine" aria-label="To review">
        <h2>Kept for you</h2>
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
        {correction ? (
          <CorrectionFields key={key} value={correction} onChange={(value) => type({ correction: value })} />
        ) : (
          <>
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
              <button type="button" className="primary" disabled={Boolean(sending)} onClick={() => void say('CORRECT')}>
                Correct <kbd>a</kbd>
              </button>
              <button type="button" disabled={isSending} onClick={() => type({ correction: correctionOf(item) })}>
                Correct it yourself <kbd>e</kbd>
              </button>
            </div>
          </>
        )}
        <label htmlFor="comment">
          What is wrong <kbd>i</kbd> <span className="muted">for the author{correction && '; it may stay empty'}</span>
        </label>
        <textarea id="comment" ref={why} rows={4} maxLength={2000} readOnly={isSending} value={comment} onChange={(event) => type({ comment: event.target.value })} />
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="item-actions">
          <button type="submit" className={correction ? 'primary' : 'danger'} disabled={Boolean(sending)}>
            {correction ? 'It is this' : 'Incorrect'} <kbd>Ctrl ↵</kbd>
          </button>
          {correction && (
            <button type="button" disabled={isSending} onClick={() => type({ correction: undefined })}>
              Leave it as it was found
            </button>
          )}
        </div>
      </form>
    </div>
  );
}

function Empty({ title, text }: { title: string; text: string }) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      <p className="muted">{text}</p>
    </section>
  );
}
