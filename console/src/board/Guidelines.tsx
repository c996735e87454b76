import { useEffect, useRef, useState } from 'react';
import { ask } from './client';
import { GuidelinesDocument, type GuidelinesQuery } from './gql/graphql';
import { useBoard, useBoardState, useNow } from './hooks';
import { advise } from './act';
import { Markdown } from './Markdown';
import { ago } from './text';

type Guidelines = NonNullable<NonNullable<GuidelinesQuery['project']>['guidelines']>;

/** Reads the guidelines of the project, and again when an event tells of another version. They are undefined until they are there, and null when nobody has written any. */
export function useGuidelines() {
  const { store } = useBoard();
  const { project } = useBoardState();
  const [found, setFound] = useState<Guidelines | null | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const latest = useRef(0); // an answer that another question has overtaken is not shown
  const version = project?.guidelines?.version ?? 0;

  async function read() {
    const mine = ++latest.current;
    const { data, failure } = await ask(store.client, GuidelinesDocument, { project: project!.id });
    if (mine !== latest.current) return;
    const now = data?.project?.guidelines ?? null;
    const isThere = data?.project && (now || !version);
    if (isThere) setFound(now);
    setProblem(isThere ? '' : failure ? advise(failure) : 'The guidelines cannot be read at the moment. Reload the page.');
  }
  useEffect(() => {
    void read();
    return () => {
      latest.current += 1;
    };
  }, [project?.id, version]);
  return { found, problem, read };
}

/** How to label, beside what is labelled. The cursor is in it when it opens, and Esc closes it. */
export function GuidelinesPanel({ onClose }: { onClose: () => void }) {
  const { store } = useBoard();
  const { guidelinesRead } = useBoardState();
  const { found, problem } = useGuidelines();
  const now = useNow(30_000);
  const [isNews, setIsNews] = useState(false); // the user has read an earlier version
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const panel = box.current;
    panel?.focus({ preventScroll: true });
    return () => {
      if (panel?.contains(document.activeElement)) before?.focus();
    };
  }, []);
  useEffect(() => {
    if (!found) return;
    if (guidelinesRead && found.version > guidelinesRead) setIsNews(true);
    store.readGuidelines(found.version);
  }, [found?.version]);

  return (
    <aside
      ref={box}
      className="guidelines"
      aria-label="Guidelines"
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2>Guidelines</h2>
        <button type="button" className="quiet" aria-label="Close the guidelines" onClick={onClose}>
          ×
        </button>
      </header>
      {problem && <p className="problem">{problem}</p>}
      {found && (
        <p className={isNews ? 'guidelines-news' : 'muted'} role="status">
          {isNews ? 'Changed since you last read them: ' : ''}
          {found.updatedBy?.name ?? 'Somebody'}, {ago(found.updatedAt, now)}
        </p>
      )}
      {found?.text.trim() ? <Markdown text={found.text} /> : found && <p className="muted">There are none at the moment.</p>}
    </aside>
  );
}
