import { useEffect, useRef, useState, type RefObject } from 'react';
import { SessionBar } from '../SessionBar.jsx';
import { Boundary } from './Boundary';
import { StatusBar, StatusLegend } from './charts';
import { Columns } from './Columns';
import { HelpDialog, ProjectDialog, Projects } from './Dialogs';
import { History } from './History';
import { useBoard, useBoardState } from './hooks';
import { useKeys } from './keys';
import { ConnectionState, Notices, RebuildState } from './Notices';
import { Review } from './Review';
import type { Session } from './session';
import { Statistics } from './Statistics';
import { fromAddress, toAddress } from './store';
import { Work } from './Work';

const pages = [
  ['work', 'Work'],
  ['board', 'Board'],
  ['statistics', 'Statistics'],
  ['review', 'Review'],
  ['history', 'History'],
] as const;
type Page = (typeof pages)[number][0];

const named = (name: string): Page => pages.find(([page]) => page === name)?.[0] ?? 'work';

/** The whole page: who is signed in, which project, how it is, and one of five pages. */
export function App({ session }: { session: Session }) {
  const { store, settings } = useBoard();
  const { phase, project } = useBoardState();
  const [page, setPage] = useState<Page>(() => named(fromAddress().page));
  const [dialog, setDialog] = useState<'help' | 'projects' | null>(null);
  const chose = useRef(false); // a project, a moment ago: the cursor goes to its name

  function open(name: Page) {
    if (name === page) return;
    setPage(name);
    toAddress({ page: name });
  }
  useEffect(() => {
    const follow = () => setPage(named(fromAddress().page));
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  useEffect(() => {
    document.title = project ? `${project.name} – Taggie` : 'Taggie board';
  }, [project]);

  useKeys(settings, {
    ...Object.fromEntries(pages.map(([name], i) => [String(i + 1), () => open(name)])),
    u: page === 'review' ? undefined : () => store.work.undoLast(), // Review has one of its own
    p: () => setDialog('projects'),
    '?': () => setDialog('help'),
  });

  return (
    <>
      <SessionBar session={session} links={[{ href: './', text: 'GraphiQL' }]} withCost={false} />
      {phase === 'ready' ? (
        <>
          <Head page={page} onOpen={open} chose={chose} onProjects={() => setDialog('projects')} onHelp={() => setDialog('help')} />
          <RebuildState />
          <main className="page" key={project?.id}>
            {/* Keyed: the other pages can be opened when one cannot be shown. */}
            <Boundary key={page}>
              {page === 'work' && <Work />}
              {page === 'board' && <Columns />}
              {page === 'statistics' && <Statistics />}
              {page === 'review' && <Review />}
              {page === 'history' && <History />}
            </Boundary>
          </main>
        </>
      ) : (
        <main className="page">
          <Nothing />
        </main>
      )}
      <Notices />
      {dialog === 'help' && <HelpDialog onClose={() => setDialog(null)} />}
      {dialog === 'projects' && (
        <ProjectDialog
          onClose={() => {
            chose.current = true;
            setDialog(null);
          }}
        />
      )}
    </>
  );
}

function Head(props: { page: Page; chose: RefObject<boolean>; onOpen: (page: Page) => void; onProjects: () => void; onHelp: () => void }) {
  const { project, live, held } = useBoardState();
  const name = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (props.chose.current && document.activeElement === document.body) name.current?.focus();
    props.chose.current = false;
  }, [props.chose]);
  const tab = useRef<HTMLButtonElement>(null); // of the page that is shown: on narrow screens it may be out of sight
  useEffect(() => {
    tab.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [props.page]);
  return (
    <header className="head" aria-label="Project">
      <div className="head-row">
        <button ref={name} type="button" className="project" onClick={props.onProjects}>
          {project?.name} <kbd>p</kbd>
        </button>
        <ConnectionState />
        <button type="button" className="help-button" onClick={props.onHelp}>
          Keys <kbd>?</kbd>
        </button>
      </div>
      <div className="head-row">
        <nav aria-label="Pages">
          {pages.map(([name, title], i) => (
            <button key={name} ref={name === props.page ? tab : undefined} type="button" aria-current={name === props.page ? 'page' : undefined} onClick={() => props.onOpen(name)}>
              {title}
              {name === 'work' && held.length > 0 && <span className="count">{held.length}</span>} <kbd>{i + 1}</kbd>
            </button>
          ))}
        </nav>
        {live.counts && (
          <div className="progress">
            <StatusBar counts={live.counts} thin />
            <StatusLegend counts={live.counts} />
          </div>
        )}
      </div>
    </header>
  );
}

/** Why there is no project to show, and what to do about it. */
function Nothing() {
  const { store } = useBoard();
  const { phase, problem, projects } = useBoardState();
  const texts: Record<string, [string, string]> = {
    starting: ['One moment…', 'The board is being put together.'],
    anonymous: ['Not signed in', 'Sign in above, with a token of your own or, where there is one, as the demo user.'],
    stranger: ['Not signed up yet', 'The token is valid, but nobody has signed up with it: run the mutation createUser in GraphiQL. This page goes on then.'],
    empty: ['No project yet', 'You are in no project. Ask a manager to take you into a team: the project shows up here then. Or create one in GraphiQL.'],
    left: ['You are no longer a member of this project', 'Somebody took you out of its teams. What you typed is kept in this browser, should you come back.'],
    failed: ['That did not work', problem],
  };
  const [title, text] = texts[phase] ?? ['', ''];
  return (
    <section className="empty" aria-live="polite">
      <h1>{title}</h1>
      <p className="muted">{text}</p>
      {(phase === 'left' || phase === 'failed') && projects.length > 0 && (
        <>
          <p>Choose one of your projects:</p>
          <Projects projects={projects} onChoose={(id) => void store.choose(id)} />
        </>
      )}
    </section>
  );
}
