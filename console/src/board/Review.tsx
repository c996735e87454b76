import { useRef, useState, type ReactNode } from 'react';
import { useQuery } from 'urql';
import { CorrectionFields, correctionOf, inputOf, type Correction } from './Correction';
import { Select } from './forms';
import { AuthorsDocument, type Verdict } from './gql/graphql';
import { useBoard, useBoardState, useNow, useSettings } from './hooks';
import { useKeys } from './keys';
import { finding } from './live';
import { Picture } from './Picture';
import { ReviewGrid } from './ReviewGrid';
import type { Reviewed } from './state';
import { ago } from './text';
import { seen, useReviews, type ReviewFilter, type Reviews } from './useReviews';

const IN_LIST = 20;
const IN_GRID = 50; // as many as one has at most

/** The page on which reviewers look at what others found out: one result at a time, or many as a grid. */
export function Review() {
  const { settings } = useBoard();
  const { project } = useBoardState();
  const { isGrid } = useSettings();
  const may = project?.viewerMember.type !== 'TAGGIE';
  const [filter, setFilter] = useState<ReviewFilter>({ authorId: '', categoryId: '' });
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
        <ReviewOne reviews={reviews} nothing={<Nothing filter={filter} reviews={reviews} />} />
      )}
    </div>
  );
}

/** What is asked for, and how it is shown. */
function Bar(props: { filter: ReviewFilter; isGrid: boolean; reviews: Reviews; onFilter: (filter: ReviewFilter) => void; onToggle: () => void }) {
  const { filter, isGrid, reviews, onFilter } = props;
  const { project, viewer } = useBoardState();
  const [{ data }] = useQuery({ query: AuthorsDocument, variables: { project: project?.id ?? '' } });
  const users = (data?.project?.teams ?? []).flatMap(({ statistics }) => statistics?.users ?? []).flatMap(({ user }) => (user && user.id !== viewer?.id ? [user] : []));
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

/** One result after another, with its picture. */
function ReviewOne({ reviews, nothing }: { reviews: Reviews; nothing: ReactNode }) {
  const { store, settings } = useBoard();
  const { reviewed } = useBoardState();
  const [chosen, setChosen] = useState('');
  const [again, setAgain] = useState<Reviewed | null>(null); // what is looked at once more
  const [comments, setComments] = useState<Record<string, string>>({}); // by item
  const [corrections, setCorrections] = useState<Record<string, Correction>>({}); // by item
  const [problem, setProblem] = useState('');
  const [sending, setSending] = useState(false);
  const why = useRef<HTMLTextAreaElement>(null);
  const now = useNow(5_000);

  const open = reviews.open ?? [];
  const at = Math.max(open.findIndex(({ id }) => id === chosen), 0);
  const item = again?.item ?? open[at];
  const effort = item && finding(item);
  const comment = (item && comments[item.id]) ?? '';
  const correction = item && corrections[item.id];

  function correct(value: Correction | undefined) {
    if (!item) return;
    const { [item.id]: _, ...others } = corrections;
    setCorrections(value ? { ...others, [item.id]: value } : others);
    setProblem('');
  }

  async function say(verdict: Verdict) {
    if (!effort || !item || sending) return;
    if (verdict === 'INCORRECT' && !correction && !comment.trim()) {
      setProblem('Say why, for the author.');
      return why.current?.focus();
    }
    if (correction && !correction.categoryId) return setProblem('Choose a category.');
    setSending(true);
    const { became, message, version } = await reviews.say(item, { verdict, comment, correction: correction && inputOf(correction) });
    setSending(false);
    if (became === 'overtaken' && again) { // the next try is about what it is now
      const fresh = { ...again, item: seen(again.item, version) };
      setAgain(fresh);
      store.set({ reviewed: reviewed.map((other) => (other.item.id === item.id ? fresh : other)) });
    }
    if (became !== 'taken' && (became !== 'overtaken' || again)) return setProblem(message);
    if (became === 'overtaken') {
      reviews.drop(item.id);
      store.say('plain', `“${item.name}”: ${message}`);
    } else {
      if (!again) setChosen(open[at + 1]?.id ?? '');
      setAgain(null);
      correct(undefined);
      store.say('good', `“${item.name}”: ${verdict === 'CORRECT' ? 'correct' : correction ? 'corrected' : 'incorrect, and back to its author'}.`);
    }
    setProblem('');
    (document.activeElement as HTMLElement | null)?.blur();
    if (open.length <= 1) void reviews.load();
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
    a: correction ? undefined : () => void say('CORRECT'),
    i: () => why.current?.focus(),
    e: item && (() => correct(correctionOf(item))),
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
          <CorrectionFields key={item.id} value={correction} onChange={correct} />
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
              <button type="button" className="primary" disabled={sending} onClick={() => void say('CORRECT')}>
                Correct <kbd>a</kbd>
              </button>
              <button type="button" onClick={() => correct(correctionOf(item))}>
                Correct it yourself <kbd>e</kbd>
              </button>
            </div>
          </>
        )}
        <label htmlFor="comment">
          What is wrong <kbd>i</kbd> <span className="muted">for the author{correction && '; it may stay empty'}</span>
        </label>
        <textarea id="comment" ref={why} rows={4} maxLength={2000} value={comment} onChange={(event) => setComments({ ...comments, [item.id]: event.target.value })} />
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="item-actions">
          <button type="submit" className={correction ? 'primary' : 'danger'} disabled={sending}>
            {correction ? 'It is this' : 'Incorrect'} <kbd>Ctrl ↵</kbd>
          </button>
          {correction && (
            <button type="button" onClick={() => correct(undefined)}>
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
