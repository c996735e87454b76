import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { SessionBar } from '../SessionBar.jsx';
import { useNow } from '../board/hooks';
import type { Session } from '../board/session';
import { span } from '../board/text';
import { hashOf, useAddress, useDesk, useDeskState } from './hooks';
import { Notes } from './Notes';

// Only who is new needs it, and what it asks.
const SignUp = lazy(() => import('../board/SignUp').then((module) => ({ default: module.SignUp })));

const Library = lazy(() => import('./Library'));
const Scores = lazy(() => import('./Scores'));

/** The pages of the desk, as the address names them. */
const pages = { notes: { title: 'Notes', Page: Notes }, library: { title: 'Library', Page: Library }, scores: { title: 'Scores', Page: Scores } };

const links = [
  { href: './start', text: 'Start' },
  { href: './board', text: 'Board' },
  { href: './', text: 'GraphiQL' },
];

/** The whole page: who is signed in, how the connection is, and the page that the address names. */
export function App({ session }: { session: Session }) {
  const { phase, viewer, round } = useDeskState();
  const { address } = useAddress();
  const name = address.page && address.page in pages ? (address.page as keyof typeof pages) : 'notes';
  const { title, Page } = pages[name];
  useEffect(() => {
    document.title = `${title} – Taggie`;
  }, [title]);
  return (
    <>
      <SessionBar session={session} links={links} withCost={false} />
      {phase === 'ready' ? (
        <>
          <section className="head" aria-label="Page">
            <div className="head-row">
              <h2 className="desk-title">{title}</h2>
              <ConnectionState />
            </div>
            <nav aria-label="Pages">
              {Object.entries(pages).map(([to, { title }]) => (
                <a key={to} href={hashOf({ page: to })} aria-current={to === name ? 'page' : undefined}>
                  {title}
                </a>
              ))}
            </nav>
          </section>
          <main className="page" key={`${viewer?.id} ${name} ${name === 'notes' ? round : ''}`}>
            <Suspense fallback={<p className="empty muted">One moment…</p>}>
              <Page />
            </Suspense>
          </main>
        </>
      ) : (
        <main className="page">
          <Nothing session={session} />
        </main>
      )}
      <Notices />
    </>
  );
}

/** Why there is nothing to show, and what to do about it. */
function Nothing({ session }: { session: Session }) {
  const { phase, problem } = useDeskState();
  const { reopen } = useDesk();
  const { issuer, problem: signInProblem } = useSyncExternalStore(session.subscribe, session.get);
  const texts: Record<string, [string, string]> = {
    starting: ['One moment…', 'What is yours is on its way.'],
    anonymous: ['Not signed in', issuer ? signInProblem || 'Sign in to see what is yours.' : 'Sign in above, with a token of your own or, where there is one, as the demo user.'],
    stranger: ['Welcome', 'You are new here. Sign up once, then you can write notes and upload files.'],
    failed: ['That did not work', problem],
  };
  const [title, text] = texts[phase] ?? ['', ''];
  return (
    <section className="empty" aria-live="polite">
      <h2>{title}</h2>
      <p className="muted">{text}</p>
      {phase === 'anonymous' && issuer && (
        <div className="actions">
          <button type="button" className="primary" autoFocus onClick={session.signIn}>
            Sign in
          </button>
        </div>
      )}
      {phase === 'stranger' && (
        <Suspense>
          <SignUp session={session} onDone={reopen} />
        </Suspense>
      )}
      {phase === 'failed' && (
        <button type="button" className="primary" onClick={reopen}>
          Try again
        </button>
      )}
    </section>
  );
}

/** How the connection is, in a word; in a sentence when it is lost. */
function ConnectionState() {
  const { connection, cutAt } = useDeskState();
  const now = useNow();
  const texts = {
    connecting: 'Connecting…',
    live: 'Live',
    refused: 'Your session has ended: sign in again above. What you type is kept.',
    cut: `Connection lost ${span(now - cutAt)} ago. Trying again; go on, what you type is kept.`,
  };
  return (
    <p className={`connection is-${connection}`} role="status">
      <span className={connection === 'live' ? 'dot is-on' : 'dot'} />
      {/* The seconds are for the eye only. */}
      <span aria-live={connection === 'cut' ? 'off' : 'polite'}>{texts[connection]}</span>
    </p>
  );
}

function Notices() {
  const { dismiss } = useDesk();
  const { notices } = useDeskState();
  return (
    <div className="notices" role="log" aria-live="polite" aria-label="Messages">
      {notices.map(({ id, kind, text, undo }) => (
        <div key={id} className={`notice is-${kind}`}>
          <p>{text}</p>
          {undo && (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </button>
          )}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
