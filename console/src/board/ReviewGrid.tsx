import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Field, FormDialog } from './forms';
import type { Verdict } from './gql/graphql';
import { useBoard } from './hooks';
import { useKeys } from './keys';
import { finding } from './live';
import { pictureOf, useLoading } from './Picture';
import { number } from './text';
import type { Held } from './types';
import { keyOf, type Reviews } from './useReviews';

/** Where the arrow keys go from the tile at `from`, of a number of tiles in columns. */
export function stepTo(key: string, from: number, tiles: number, columns: number): number {
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, ArrowDown: from + columns, ArrowUp: from - columns, Home: 0, End: tiles - 1 }[key];
  return to === undefined || to < 0 || to >= tiles ? from : to;
}

const results = (count: number) => `${number(count)} ${count === 1 ? 'result' : 'results'}`;

/** Many results at once, as small pictures: one chooses some and says of all of them what they are. */
export function ReviewGrid({ reviews, nothing }: { reviews: Reviews; nothing: ReactNode }) {
  const { store, settings } = useBoard();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(''); // the tile that Tab goes to
  const [asks, setAsks] = useState(false); // why they are incorrect
  const [comment, setComment] = useState('');
  const [progress, setProgress] = useState<{ done: number; of: number } | null>(null);
  const [problem, setProblem] = useState('');
  const isCancelled = useRef(false);
  const grid = useRef<HTMLUListElement>(null);

  const open = reviews.open ?? [];
  const chosen = open.filter((item) => picked.has(keyOf(item)));
  const current = open.find(({ id }) => id === at) ?? open[0];

  function toggle(item: Held) {
    const next = new Set(picked);
    if (!next.delete(keyOf(item))) next.add(keyOf(item));
    setPicked(next);
    setAt(item.id);
  }

  // Who leaves the grid stops what is being sent there.
  useEffect(
    () => () => {
      isCancelled.current = true;
    },
    [],
  );
  // The tile that had the cursor may be gone.
  useEffect(() => {
    if (!progress && document.activeElement === document.body) grid.current?.querySelector<HTMLElement>('.shot[tabindex="0"]')?.focus();
  }, [progress]);

  /** Says the same of all that are chosen, one after another. What fails stays chosen. */
  async function say(verdict: Verdict) {
    setAsks(false);
    if (progress || !chosen.length) return;
    setProblem('');
    isCancelled.current = false;
    let taken = 0;
    const others: string[] = []; // what is not the viewer's to review any more
    let trouble = '';
    let isDone = false;
    for (const [done, item] of chosen.entries()) {
      if (isCancelled.current) break;
      setProgress({ done, of: chosen.length });
      const { became, message } = await reviews.say(item, { verdict, comment: verdict === 'INCORRECT' ? comment : '' });
      if (became === 'refused') {
        trouble = message && `“${item.name}”: ${message}`;
        break;
      }
      if (became === 'taken') taken += 1;
      else others.push(item.name);
      isDone = done === chosen.length - 1;
    }
    setProgress(null);
    if (isDone) setComment('');
    setProblem(trouble);
    if (trouble && isCancelled.current) store.say('bad', trouble);
    if (taken) store.say('good', `${results(taken)}: ${verdict === 'CORRECT' ? 'correct' : 'incorrect, and back to who found them'}.`);
    if (others.length) store.say('plain', `Somebody else was first, or the author took it back: ${others.slice(0, 5).join(', ')}${others.length > 5 ? ' and others' : ''}.`);
    if (taken + others.length) void reviews.load();
  }

  function pickAll() {
    setPicked(chosen.length === open.length ? new Set() : new Set(open.map(keyOf)));
  }

  useKeys(settings, {
    x: pickAll,
    a: () => void say('CORRECT'),
    i: chosen.length && !progress ? () => setAsks(true) : undefined,
    u: () => store.say('plain', 'A review is changed one at a time: press v, then u.'),
  });

  function press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tiles = [...(grid.current?.querySelectorAll<HTMLElement>('.shot') ?? [])];
    const from = tiles.indexOf(event.target as HTMLElement);
    if (from < 0) return;
    const columns = tiles.filter((tile) => tile.offsetTop === tiles[0]!.offsetTop).length;
    const to = stepTo(event.key, from, tiles.length, columns);
    if (to === from) return;
    event.preventDefault();
    tiles[to]!.focus();
  }

  if (!open.length) return nothing;
  return (
    <section className="review-grid" aria-label="Results to review">
      <div className="actions bar-of-list">
        <button type="button" onClick={pickAll}>
          {chosen.length === open.length ? 'Choose none' : 'Choose all'} <kbd>x</kbd>
        </button>
        <button type="button" className="primary" disabled={!chosen.length || Boolean(progress)} onClick={() => void say('CORRECT')}>
          Correct {chosen.length > 0 && number(chosen.length)} <kbd>a</kbd>
        </button>
        <button type="button" className="danger" disabled={!chosen.length || Boolean(progress)} onClick={() => setAsks(true)}>
          Incorrect {chosen.length > 0 && number(chosen.length)}… <kbd>i</kbd>
        </button>
        {progress && (
          <>
            <progress aria-label="Reviews saved" max={progress.of} value={progress.done} />
            <span role="status">
              {number(progress.done)} of {number(progress.of)} saved
            </span>
            <button type="button" onClick={() => (isCancelled.current = true)}>
              Stop
            </button>
          </>
        )}
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <ul ref={grid} className="shots" onKeyDown={press}>
        {open.map((item) => (
          <li key={item.id}>
            <button
              type="button"
              className="shot"
              aria-pressed={picked.has(keyOf(item))}
              tabIndex={item.id === current?.id ? 0 : -1}
              onFocus={() => setAt(item.id)}
              onClick={() => toggle(item)}
            >
              <Shot item={item} />
              <strong>{item.name}</strong>
              <span>{[item.category?.name, item.subcategory?.name].filter(Boolean).join(' · ')}</span>
              <span className="muted">{item.keywords.join(', ')}</span>
              <span className="muted">{finding(item)?.user?.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {asks && (
        <FormDialog
          title={`Find ${results(chosen.length)} incorrect?`}
          yes="Incorrect"
          isDanger
          fields={[]}
          isReady={Boolean(comment.trim())}
          busy={false}
          trouble={null}
          onYes={() => say('INCORRECT')}
          onClose={() => {
            setAsks(false);
            setComment('');
          }}
        >
          <Field label="What is wrong" name="comment" hint="Their authors read this. The items go back to them.">
            {(wiring) => <textarea {...wiring} data-first rows={3} maxLength={2000} value={comment} onChange={(event) => setComment(event.target.value)} />}
          </Field>
        </FormDialog>
      )}
    </section>
  );
}

/** The small picture of an item, or its type. */
function Shot({ item }: { item: Held }) {
  const { mayShow } = useBoard();
  const picture = pictureOf(item);
  const { url, failed, onError } = useLoading(item.id, picture?.small ?? picture?.url);
  if (!url || failed || !mayShow(url)) return <span className="shot-none">{item.type || 'no picture'}</span>;
  return <img src={url} alt="" loading="lazy" onError={onError} />;
}
