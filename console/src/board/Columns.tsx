import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { AllItems } from './AllItems';
import { CardDialog, useOpened } from './CardDialog';
import { useBoard, useBoardState, useNow } from './hooks';
import { useKeys } from './keys';
import { columns, finding, queueNote } from './live';
import { ago, number, span } from './text';
import { Found, Tile } from './Tile';
import type { Card, Event, Person, ProjectEventType, ProjectItemStatus } from './types';

const SHOWN = 30;

/** The queue as it moves: a column for each status, who has what, and what happened. */
export function Columns() {
  const { store, settings } = useBoard();
  const { live, online, project, viewer } = useBoardState();
  const now = useNow();
  const [wanted, setWanted] = useState('');
  const { opened, open, close } = useOpened();
  const [asked, setAsked] = useState<{ status: ProjectItemStatus | ''; name: string } | null>(null); // what is listed of the whole project
  const field = useRef<HTMLInputElement>(null);
  const shown = useRef<HTMLDivElement>(null);
  const finds = wanted.trim() !== '';
  const sorted = columns(live, wanted);
  const none = finds && 'No card that is shown here has such a name.';
  const { counts } = live;
  const manager = project?.viewerMember.type === 'MANAGER';
  useKeys(settings, { '/': () => field.current?.focus() });
  function toFirst(event: KeyboardEvent) {
    if (!['Enter', 'ArrowDown'].includes(event.key) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    shown.current?.querySelector<HTMLElement>('.tile-name')?.focus();
  }
  return (
    <div className="board">
      <div className="board-find">
        <input
          ref={field}
          type="search"
          aria-label="Find a card by its name"
          placeholder="Find a card by its name"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={toFirst}
        />{' '}
        <kbd>/</kbd>
        <button type="button" onClick={() => setAsked({ status: '', name: wanted.trim() })}>
          All items…
        </button>
      </div>
      <div className="board-columns" ref={shown}>
        <Column
          title="Waiting"
          count={counts?.new}
          note={queueNote(live)}
          empty={!sorted.waiting.length && none}
          foot={
            <>
              {manager && (
                <button type="button" className="column-action" onClick={() => void store.pause(!live.paused)}>
                  {live.paused ? 'Resume' : 'Pause'} handing out
                </button>
              )}
              <All count={counts?.new} onOpen={() => setAsked({ status: 'NEW', name: '' })} />
            </>
          }
        >
          {sorted.waiting.slice(0, SHOWN).map((card) => (
            <Tile key={card.id} card={card} onOpen={open}>
              {card.efforts?.nodes[0]?.review?.verdict === 'INCORRECT' && <span className="tag is-bad">came back</span>}
            </Tile>
          ))}
        </Column>
        <Column title="In hands" count={counts?.claimed} note={`${online.length} online`} empty={!sorted.claimed.length && none}>
          {groups(sorted.claimed, online, finds).map(({ person, here, cards }) => (
            <li key={person.id} className="group">
              <p className="group-name">
                <span className={here ? 'dot is-on' : 'dot'} title={here ? 'Online' : 'Not online'} />
                {person.name}
                {person.id === viewer?.id && <span className="muted"> (you)</span>} <span className="muted">{cards.length || 'nothing in hands'}</span>
              </p>
              <ul>
                {cards.slice(0, 8).map((card) => (
                  <Tile key={card.id} card={card} onOpen={open}>
                    {card.claim && <span className="muted">for {span(now - Date.parse(card.claim.since))}</span>}
                  </Tile>
                ))}
              </ul>
            </li>
          ))}
        </Column>
        <Column title="Finished" count={counts?.finished} note="with those reviewed" foot={<All count={counts?.finished} onOpen={() => setAsked({ status: 'FINISHED', name: '' })} />} empty={!sorted.finished.length && none}>
          {sorted.finished.slice(0, SHOWN).map((card) => (
            <Found key={card.id} card={card} now={now} onOpen={open} />
          ))}
        </Column>
        <Column title="Reviewed" note="the latest" empty={!sorted.reviewed.length && none}>
          {sorted.reviewed.slice(0, SHOWN).map((card) => (
            <Found key={card.id} card={card} now={now} onOpen={open} />
          ))}
        </Column>
        <Column title="Skipped" count={counts?.skipped} note="for nobody" foot={<All count={counts?.skipped} onOpen={() => setAsked({ status: 'SKIPPED', name: '' })} />} empty={!sorted.skipped.length && none}>
          {sorted.skipped.slice(0, SHOWN).map((card) => (
            <Tile key={card.id} card={card} onOpen={open} />
          ))}
        </Column>
      </div>
      <section className="feed" aria-label="What happens">
        <h2>What happens</h2>
        <ol aria-live="off">
          {live.feed.slice(0, 80).map(({ cursor, event }) => (
            <li key={cursor}>
              <span className={`verb is-${event.type.toLowerCase()}`}>{verbs[event.type]}</span>
              <span className="feed-what">
                {event.item ? event.item.name : 'The project'} <span className="muted">{doer(event)}</span>
              </span>
              <time dateTime={event.at} className="muted">
                {ago(event.at, now)}
              </time>
            </li>
          ))}
          {!live.feed.length && <li className="muted">Nothing since this page listens.</li>}
        </ol>
      </section>
      {asked && <AllItems {...asked} onClose={() => setAsked(null)} />}
      {opened && <CardDialog card={opened} onClose={close} />}
    </div>
  );
}

/** Lists what a column has no place for. */
function All({ count = 0, onOpen }: { count?: number; onOpen: () => void }) {
  if (!count) return null;
  return (
    <button type="button" className="column-action" onClick={onOpen}>
      All {number(count)}…
    </button>
  );
}

interface ColumnProps {
  title: string;
  count?: number;
  note?: string;
  /** What is said in place of cards. */
  empty?: ReactNode;
  foot?: ReactNode;
  children: ReactNode;
}

function Column({ title, count, note, empty, foot, children }: ColumnProps) {
  return (
    <section className="column" aria-label={title}>
      <h2>
        {title} {count !== undefined && <span className="count">{number(count)}</span>}
      </h2>
      <p className="muted column-note">{note}</p>
      {/* It scrolls: by keyboard, too. */}
      <ul tabIndex={0} aria-label={`${title}, items`}>
        {children}
        {empty && <li className="muted">{empty}</li>}
      </ul>
      {foot}
    </section>
  );
}

/** The claimed cards by who has them, the busiest first, then who is online with empty hands, unless a card is looked for. */
function groups(cards: Card[], online: Person[], finds: boolean) {
  const found = new Map<string, { person: Person; here: boolean; cards: Card[] }>();
  const at = (person: Person) => {
    const group = found.get(person.id) ?? { person, here: online.some(({ id }) => id === person.id), cards: [] };
    found.set(person.id, group);
    return group;
  };
  for (const card of cards) at(card.claim?.user ?? { id: '', name: 'Somebody' }).cards.push(card);
  if (!finds) online.forEach(at);
  return [...found.values()].sort((a, b) => b.cards.length - a.cards.length || a.person.name.localeCompare(b.person.name));
}

const verbs: Record<ProjectEventType, string> = {
  CLAIMED: 'claimed',
  EXTENDED: 'extended',
  FINISHED: 'finished',
  SKIPPED: 'skipped',
  DEFERRED: 'put off',
  RELEASED: 'released',
  RETURNED: 'brought back',
  WITHDRAWN: 'file withdrawn',
  RELABELLED: 'category merged',
  REMOVED: 'removed',
  RESTORED: 'restored',
  EXPIRED: 'ran out',
  REVIEWED: 'reviewed',
  UNDONE: 'undone',
  IMPORTED: 'imported',
  PAUSED: 'paused',
  RESUMED: 'resumed',
  RESIZED: 'resized',
  CATEGORIES_CHANGED: 'categories changed',
  GUIDELINES_CHANGED: 'guidelines changed',
  MEMBERS: 'members',
  RESTARTED: 'restarted',
};

/** What a review said. A reviewer who corrects has made the last effort. */
function verdict(event: Event): string {
  if (event.status !== 'FINISHED') return 'incorrect';
  return event.item && finding(event.item)?.user?.id === event.user?.id ? 'corrected' : 'correct';
}

function doer(event: Event): string {
  const by = event.user ? `by ${event.user.name}` : '';
  if (event.type === 'FINISHED' && event.item?.category) return `${event.item.category.name}, ${by}`;
  if (event.type === 'REVIEWED') return `${verdict(event)}, ${by}`;
  return by;
}
