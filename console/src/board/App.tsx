import { useEffect, useRef, useState, useSyncExternalStore, type RefObject } from 'react';
import { SessionBar } from '../SessionBar.jsx';
import { Boundary } from './Boundary';
import { StatusBar, StatusLegend } from './charts';
import { Columns } from './Columns';
import { HelpDialog, ProjectDialog, Projects } from './Dialogs';
import { GuidelinesPanel } from './Guidelines';
import { History } from './History';
import { forgetInvitation, takeInvitation } from './invitation';
import { Invited } from './Invited';
import { useBoard, useBoardState } from './hooks';
import { useKeys, useTwoKeys } from './keys';
import { DeletedProjects } from './manage/DeletedProjects';
import { Manage } from './manage/Manage';
import { NewProject } from './manage/NewProject';
import { ConnectionState, Notices, RebuildState } from './Notices';
import { Review } from './Review';
import type { Session } from './session';
import { SignUp } from './SignUp';
import { Statistics } from './Statistics';
import { fromAddress, toAddress } from './store';
import { Work } from './Work';

/** The pages, with the key that opens each after `g`. */
const pages = [
  ['work', 'Work', 'w'],
  ['board', 'Board', 'b'],
  ['statistics', 'Statistics', 's'],
  ['review', 'Review', 'r'],
  ['history', 'History', 'h'],
  ['manage', 'Manage', 'm'],
] as const;
type Page = (typeof pages)[number][0];

/** Who only labels or reviews has no page to manage. */
const pagesFor = (isManager: boolean) => pages.filter(([name]) => isManager || name !== 'manage');

const named = (name: string): Page => pages.find(([page]) => page === name)?.[0] ?? 'work';

/** The whole page: who is signed in, which project, how it is, and one of its pages. */
export function App({ session }: { session: Session }) {
  const { store, settings } = useBoard();
  const { phase, project } = useBoardState();
  const [wanted, setPage] = useState<Page>(() => named(fromAddress().page));
  const isManager = project?.viewerMember.type === 'MANAGER';
  const page = wanted === 'manage' && !isManager ? 'work' : wanted;
  const [dialog, setDialog] = useState<'help' | 'projects' | null>(null);
  const [guided, setGuided] = useState(false); // the guidelines are open
  const hasGuidelines = Boolean(project?.guidelines);
  const [invitation, setInvitation] = useState(() => takeInvitation());
  const chose = useRef(false); // a project, a moment ago: the cursor goes to its name

  function open(name: Page) {
    if (name === page) return;
    setPage(name);
    toAddress({ page: name, section: '' });
  }
  useEffect(() => {
    const follow = () => {
      setPage(named(fromAddress().page));
      setInvitation(takeInvitation());
    };
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  // A project that was just made opens where its items are brought.
  useEffect(() => setPage(named(fromAddress().page)), [project?.id]);
  useEffect(() => {
    document.title = project ? `${project.name} – Taggie` : 'Taggie board';
  }, [project]);

  const isGoing = useTwoKeys(settings, 'g', {
    ...Object.fromEntries(pagesFor(isManager).map(([name, , key]) => [key, () => open(name)])),
    g: hasGuidelines ? () => setGuided(!guided) : undefined,
  });
  useKeys(settings, {
    u: page === 'review' ? undefined : () => store.work.undoLast(), // Review has one of its own
    p: () => setDialog('projects'),
    '?': () => setDialog('help'),
  });

  return (
    <>
      <SessionBar session={session} links={[{ href: './start', text: 'Start' }, { href: './desk', text: 'Desk' }, { href: './', text: 'GraphiQL' }]} withCost={false} />
      {phase === 'ready' ? (
        <>
          <Head page={page} isGoing={isGoing} onOpen={open} chose={chose} guided={guided} onGuidelines={() => setGuided(!guided)} onProjects={() => setDialog('projects')} onHelp={() => setDialog('help')} />
          <RebuildState />
          <div className="beside" key={project?.id}>
            <main className="page" tabIndex={page === 'statistics' ? 0 : undefined /* nothing else in it takes the keys that scroll */}>
              {/* Keyed: the other pages can be opened when one cannot be shown. */}
              <Boundary key={page}>
                {page === 'work' && <Work />}
                {page === 'board' && <Columns />}
                {page === 'statistics' && <Statistics />}
                {page === 'review' && <Review />}
                {page === 'history' && <History />}
                {page === 'manage' && <Manage />}
              </Boundary>
            </main>
            {guided && hasGuidelines && <GuidelinesPanel onClose={() => setGuided(false)} />}
          </div>
        </>
      ) : (
        <main className="page">
          <Nothing session={session} isInvited={Boolean(invitation)} onMade={() => (chose.current = true)} />
        </main>
      )}
      <Notices />
      {invitation && !['starting', 'anonymous', 'stranger'].includes(phase) && (
        <Invited
          key={invitation}
          token={invitation}
          onClose={() => {
            forgetInvitation();
            setInvitation('');
          }}
        />
      )}
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

function Head(props: { page: Page; isGoing: boolean; chose: RefObject<boolean>; guided: boolean; onOpen: (page: Page) => void; onGuidelines: () => void; onProjects: () => void; onHelp: () => void }) {
  const { project, live, held, guidelinesRead } = useBoardState();
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
    <section className="head" aria-label="Project">
      <div className="head-row">
        <button ref={name} type="button" className="project" onClick={props.onProjects}>
          {project?.name} <kbd>p</kbd>
        </button>
        <ConnectionState />
        {project?.guidelines && (
          <button type="button" className="help-button" aria-expanded={props.guided} onClick={props.onGuidelines}>
            Guidelines {project.guidelines.version > guidelinesRead && <span className="tag is-good">{guidelinesRead ? 'changed' : 'new'}</span>} <kbd>g g</kbd>
          </button>
        )}
        <button type="button" className="help-button" onClick={props.onHelp}>
          Keys <kbd>?</kbd>
        </button>
      </div>
      <div className="head-row">
        <nav aria-label="Pages">
          {pagesFor(project?.viewerMember.type === 'MANAGER').map(([name, title, key]) => (
            <button key={name} ref={name === props.page ? tab : undefined} type="button" aria-current={name === props.page ? 'page' : undefined} onClick={() => props.onOpen(name)}>
              {title}
              {name === 'work' && held.length > 0 && <span className="count">{held.length}</span>} <kbd className={props.isGoing ? 'is-next' : undefined}>g {key}</kbd>
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
    </section>
  );
}

/** Why there is no project to show, and what to do about it. */
function Nothing({ session, isInvited, onMade }: { session: Session; isInvited: boolean; onMade: () => void }) {
  const { store } = useBoard();
  const { phase, problem, projects } = useBoardState();
  const { issuer, problem: signInProblem } = useSyncExternalStore(session.subscribe, session.get);
  const [isMaking, setIsMaking] = useState(false);
  const canMake = phase === 'empty' || phase === 'left' || phase === 'deleted';
  const texts: Record<string, [string, string]> = {
    starting: ['One moment…', 'The board is being put together.'],
    anonymous: ['Not signed in', `${issuer ? signInProblem || 'Sign in to see your projects.' : 'Sign in above, with a token of your own or, where there is one, as the demo user.'}${isInvited ? ' Then you see what you are invited to.' : ''}`],
    stranger: ['Welcome', `${issuer ? 'You are new here.' : 'Nobody has signed up with your token yet.'} Sign up once, and ${isInvited ? 'you see what you are invited to' : 'managers can take you into their projects'}.`],
    empty: ['No project yet', 'You are in no project. Ask a manager to take you into a team: the project shows up here then. Or make one of your own.'],
    left: ['You are no longer a member of this project', 'Somebody took you out of its teams. What you typed is kept in this browser, should you come back.'],
    deleted: ['The project is deleted', 'For 30 days, those who managed it can bring it back with everything it had.'],
    failed: ['That did not work', problem],
  };
  const [title, text] = texts[phase] ?? ['', ''];
  return (
    <section className="empty" aria-live="polite">
      <h1>{title}</h1>
      <p className="muted">{text}</p>
      {phase === 'anonymous' && issuer && (
        <div className="actions">
          <button type="button" className="primary" autoFocus onClick={session.signIn}>
            Sign in
          </button>
        </div>
      )}
      {phase === 'stranger' && <SignUp session={session} onDone={store.reopen} />}
      {canMake && isMaking && <NewProject onDone={onMade} onCancel={() => setIsMaking(false)} />}
      {canMake && !isMaking && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setIsMaking(true)}>
            New project
          </button>
        </div>
      )}
      {canMake && !isMaking && <DeletedProjects isOpen={phase === 'deleted'} />}
      {(phase === 'left' || phase === 'deleted' || phase === 'failed') && projects.length > 0 && (
        <>
          <p>Choose one of your projects:</p>
          <Projects projects={projects} onChoose={(id) => void store.choose(id)} />
        </>
      )}
    </section>
  );
}
