import { useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { advise, useAct } from '../board/act';
import { ask } from '../board/client';
import { TroubleNote } from '../board/forms';
import { AnnotationsDocument, DropScoreDocument, KeepScoreDocument, ScoreDocument, type WholeScoreFragment } from './gql/graphql';
import { hashOf, useAddress, useDeskState } from './hooks';
import { NoteHead } from './Notes';
import { pagesOf, stepTo } from './pager';
import { when } from './times';

type Page = NonNullable<WholeScoreFragment['pages']>[number];

const accessNames = { PRIVATE: 'only you read it', LIMITED: 'who has its id reads it', PUBLIC: 'public' };

function useScore(id: string) {
  const client = useClient();
  const [score, setScore] = useState<WholeScoreFragment | null>();
  const [problem, setProblem] = useState('');
  const latest = useRef(0);

  async function read() {
    const mine = ++latest.current;
    const { data, failure } = await ask(client, ScoreDocument, { id });
    if (mine !== latest.current) return;
    setProblem(failure ? advise(failure) : '');
    if (data) setScore(data.score);
  }

  useEffect(() => {
    void read();
    return () => {
      latest.current += 1;
    };
  }, [id]);
  return { score, problem, read };
}

/** One score: its pages, one at a time, and the texts about it. */
export function ScorePage({ id, onKept }: { id: string; onKept: () => void }) {
  const { viewer } = useDeskState();
  const { address } = useAddress();
  const { score, problem, read } = useScore(id);
  const close = { score: '', at: '' };
  if (!score) {
    return (
      <article className="note panel" aria-label="Score">
        <NoteHead title={score === null ? 'This score is not there' : 'One moment…'} close={close} />
        {score === null && <p>It was deleted, or you may not read it.</p>}
        {problem && (
          <>
            <p className="problem" role="alert">
              {problem}
            </p>
            <button type="button" onClick={() => void read()}>
              Try again
            </button>
          </>
        )}
      </article>
    );
  }
  const isMine = score.owner?.id === viewer?.id;
  return (
    <article className="note panel" aria-label="Score">
      <NoteHead title={score.title} close={close} />
      <p className="muted">
        {!isMine && `From ${score.owner?.name ?? 'somebody'}. `}
        {pagesOf(score.pageCount)}, {accessNames[score.access]}, changed {when(score.updatedAt)}
      </p>
      {problem && <p className="problem">{problem}</p>}
      {score.pages?.length ? <Pager pages={score.pages} title={score.title} read={read} /> : <p>It has no pages.</p>}
      {score.description && <div className="note-text">{score.description}</div>}
      {score.annotationCount > 0 && <Annotations id={id} count={score.annotationCount} />}
      {!isMine && <Keep id={id} isKept={address.list === 'kept'} onKept={onKept} />}
    </article>
  );
}

const nameOf = ({ index, label, name }: Page) => [label || String(index + 1), name].filter(Boolean).join(': ');

/** The pages, one at a time. The address names the one that is shown, for a reload; paging leaves no trail of addresses. */
function Pager({ pages, title, read }: { pages: Page[]; title: string; read: () => Promise<void> }) {
  const { address } = useAddress();
  const [wanted, setWanted] = useState(() => Number(address.at || 1) - 1);
  const at = Math.min(Math.max(Number.isInteger(wanted) ? wanted : 0, 0), pages.length - 1);
  const page = pages[at]!;

  function turn(to: number) {
    setWanted(to);
    window.history.replaceState(null, '', hashOf({ ...address, at: to ? String(to + 1) : '' }));
  }

  const turner = useRef((_: KeyboardEvent) => {});
  turner.current = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || document.querySelector('dialog[open]')) return;
    if ((event.target as Element).matches('input, textarea, select, [contenteditable]')) return;
    const to = stepTo(event.key, at, pages.length);
    if (to === null) return;
    event.preventDefault();
    if (to !== at) turn(to);
  };
  useEffect(() => {
    const press = (event: KeyboardEvent) => turner.current(event);
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);

  // What comes next is there when it is asked for.
  const next = pages[at + 1]?.item;
  useEffect(() => {
    if (next?.url && isPicture(next.type)) new Image().src = next.url;
  }, [next?.id]);

  const button = (text: string, to: number) => (
    <button type="button" aria-disabled={to === at} onClick={() => to !== at && turn(to)}>
      {text}
    </button>
  );
  return (
    <section aria-label="Pages" className="pager">
      <div className="actions">
        {button('Previous', Math.max(at - 1, 0))}
        {button('Next', Math.min(at + 1, pages.length - 1))}
        <label htmlFor="score-page">Page</label>
        <select id="score-page" value={at} onChange={(event) => turn(Number(event.target.value))}>
          {pages.map((one) => (
            <option key={one.index} value={one.index}>
              {nameOf(one)}
            </option>
          ))}
        </select>
        <p className="muted" role="status">
          {at + 1} of {pages.length}
        </p>
        <p className="muted hint">Also with ← and →, Home and End.</p>
      </div>
      <Leaf key={`${at} ${page.item?.id}`} page={page} name={`${title}, page ${nameOf(page)}`} read={read} />
    </section>
  );
}

const isPicture = (type: string) => /^image\/(?!tiff|svg)/.test(type);

/** A page as one looks at it. A link is valid for an hour: when it fails, all are asked for again, once. */
function Leaf({ page, name, read }: { page: Page; name: string; read: () => Promise<void> }) {
  const [failures, setFailures] = useState(0);
  const { item } = page;
  if (page.withdrawn) return <p className="muted">The owner has withdrawn this page.</p>;
  if (!item?.url) return <p className="muted">This page cannot be read.</p>;
  if (!isPicture(item.type) || failures > 1) {
    return (
      <p>
        <a className="button" href={item.url} target="_blank" rel="noreferrer noopener">
          Open the page
        </a>
      </p>
    );
  }
  async function again() {
    if (!failures) await read();
    setFailures(failures + 1);
  }

  return (
    <img
      key={failures} // the same link may be valid now
      className="leaf"
      src={item.url}
      alt={name}
      width={item.width ?? undefined}
      height={item.height ?? undefined}
      onError={() => void again()}
    />
  );
}

/** The texts about a score, read when they are opened. */
function Annotations({ id, count }: { id: string; count: number }) {
  const client = useClient();
  const [texts, setTexts] = useState<{ index: number; text: string | null }[] | null>(null);
  const [problem, setProblem] = useState('');

  async function read() {
    const { data, failure } = await ask(client, AnnotationsDocument, { id });
    setProblem(failure ? advise(failure) : '');
    if (data) setTexts(data.score?.annotations ?? []);
  }

  return (
    <details onToggle={(event) => event.currentTarget.open && !texts && void read()}>
      <summary>{count === 1 ? '1 annotation' : `${count} annotations`}</summary>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <ol className="faults">
        {texts?.map(({ index, text }) => (
          <li key={index}>{text ?? 'This one cannot be read.'}</li>
        ))}
      </ol>
    </details>
  );
}

/** Puts a score of somebody else into the user's list, or takes it out. */
function Keep({ id, isKept, onKept }: { id: string; isKept: boolean; onKept: () => void }) {
  const { say } = useDeskState();
  const { act, busy, trouble } = useAct();

  async function change() {
    const done = isKept ? await act(DropScoreDocument, { scoreId: id }) : await act(KeepScoreDocument, { scoreId: id });
    if (!done) return;
    say('good', isKept ? 'It is no longer among the scores that you keep.' : 'It is among the scores that you keep.');
    onKept();
  }

  return (
    <div className="actions after">
      <button type="button" aria-disabled={busy} onClick={() => void change()}>
        {isKept ? 'Keep it no longer' : 'Keep it'}
      </button>
      <TroubleNote trouble={trouble} />
    </div>
  );
}
