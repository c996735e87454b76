import { useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { SkipDialog } from './Dialogs';
import { useBoard, useBoardState, useNow } from './hooks';
import { ItemForm } from './ItemForm';
import { useKeys } from './keys';
import { Picture } from './Picture';
import { span, watch } from './text';
import { Today } from './Today';
import { Tour } from './Tour';

const PAUSED_TEXT = 'Nothing is handed out until a manager resumes the project.';

/** The page on which one works: one's items, the picture, the form. */
export function Work() {
  const { store, settings } = useBoard();
  const { held, selected, live, busy, project, viewer } = useBoardState();
  const [skipping, setSkipping] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const item = held.find(({ id }) => id === selected);

  function step(by: number) {
    const at = held.findIndex(({ id }) => id === selected);
    const next = held[(at + by + held.length) % held.length];
    if (!next) return;
    store.work.select(next.id);
    list.current?.children[held.indexOf(next)]?.querySelector('button')?.focus();
  }

  useKeys(settings, {
    n: () => void store.work.claim(1),
    N: () => void store.work.claim(5),
    j: () => step(1),
    k: () => step(-1),
    Escape: () => store.work.leaveForm(),
  });

  return (
    <>
      {Boolean(live.counts?.total) && viewer && <Tour key={viewer.id} viewer={viewer.id} />}
      <div className="work">
        <Mine list={list} onStep={step} />
        {item ? (
          <>
            <Picture item={item} />
            {/* Keyed: each item has a form of its own, filled with its draft. */}
            <ItemForm key={`${item.id} ${item.claim?.token}`} item={item} onSkip={() => setSkipping(true)} />
          </>
        ) : (
          <section className="empty">
            <h2>{live.paused ? 'The project is paused' : live.counts?.total === 0 ? 'No items yet' : 'Ready when you are'}</h2>
            <p className="muted">
              {live.paused
                ? PAUSED_TEXT
                : live.counts?.new
                  ? `${live.counts.new} items wait to be looked at. Claim one: it is yours for ${span((project?.leaseMinutes ?? 15) * 60_000)}, and longer while you type.`
                  : live.counts?.total === 0
                    ? 'A manager brings items into the project. They show up here at once.'
                    : 'Nothing waits in the queue. What comes in shows up here at once.'}
            </p>
            {live.counts?.total !== 0 && (
              <button type="button" className="primary" disabled={live.paused || busy === 'claim'} onClick={() => void store.work.claim(1)}>
                Claim the next item <kbd>n</kbd>
              </button>
            )}
          </section>
        )}
        {skipping && item && (
          <SkipDialog
            name={item.name}
            onClose={() => setSkipping(false)}
            onSkip={(reason, minutes) => {
              setSkipping(false);
              void store.work.skip(item.id, reason, minutes);
            }}
          />
        )}
      </div>
    </>
  );
}

/** The items in one's hands, what was typed about lost ones, and what one did last. */
function Mine({ list, onStep }: { list: RefObject<HTMLUListElement | null>; onStep: (by: number) => void }) {
  const { store } = useBoard();
  const { held, selected, kept, done, busy, live } = useBoardState();
  const now = useNow();
  function press(event: KeyboardEvent) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    onStep(by);
  }
  return (
    <aside className="mine" aria-label="Your items">
      <div className="mine-head">
        <h2>
          Yours <span className="count">{held.length}</span>
        </h2>
        <button type="button" disabled={busy === 'claim' || live.paused} title={live.paused ? PAUSED_TEXT : undefined} onClick={() => void store.work.claim(1)}>
          Claim <kbd>n</kbd>
        </button>
      </div>
      <Today />
      {live.paused && (
        <p className="muted mine-paused" role="note" title={PAUSED_TEXT}>
          Paused: nothing is handed out.
        </p>
      )}
      <ul className="mine-list" ref={list} onKeyDown={press}>
        {held.map((item) => {
          const left = item.claim ? Date.parse(item.claim.until) - now : 0;
          const unsent = Boolean(store.work.draft(item.id).sending);
          const time = unsent ? 'not sent' : left > 0 ? watch(left) : 'over';
          return (
            <li key={item.id}>
              <button type="button" aria-current={item.id === selected} onClick={() => store.work.select(item.id, true)}>
                <span className="mine-name">{item.name}</span>
                <span className={unsent || left < 120_000 ? 'time is-short' : 'time'} title={unsent ? 'Sent when the server can be reached' : 'Until then it is yours'}>
                  {time}
                </span>
              </button>
            </li>
          );
        })}
        {!held.length && <li className="muted mine-none">Nothing in your hands.</li>}
      </ul>
      {kept.length > 0 && (
        <>
          <h3>Kept drafts</h3>
          <ul className="mine-list">
            {kept.map(({ id, name, reason }) => (
              <li key={id} className="kept">
                <span>
                  <span className="mine-name">{name}</span> <span className="muted">{reason}</span>
                  <Typed id={id} />
                </span>
                <button type="button" className="quiet" aria-label={`Forget the draft of ${name}`} onClick={() => store.work.forget(id)}>
                  ×
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {done.length > 0 && (
        <>
          <h3>Just done</h3>
          <ul className="mine-list done-list">
            {done.slice(0, 6).map((one) => (
              <li key={one.effortId} className="done">
                <span>
                  <span className="mine-name">{one.name}</span> <span className="muted">{one.category}</span>
                </span>
                {one.until > now && (
                  <button type="button" onClick={() => void store.work.undo(one.effortId)}>
                    Undo <span className="unseen-text">{one.name}</span> <span className="time">{watch(one.until - now)}</span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </aside>
  );
}

/** What was typed about an item that is gone, so that it can be read and copied. */
function Typed({ id }: { id: string }) {
  const { store } = useBoard();
  const { project } = useBoardState();
  const draft = store.work.draft(id);
  const names = [
    project?.categories?.find((category) => category.id === draft.categoryId)?.name,
    project?.subcategories?.find((subcategory) => subcategory.id === draft.subcategoryId)?.name,
    ...draft.keywords,
    draft.word.trim(),
  ].filter(Boolean);
  return <span className="typed">{names.join(' · ')}</span>;
}
