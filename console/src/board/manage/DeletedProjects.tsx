import { useState } from 'react';
import { DeletedProjectsDocument, UndoDeleteDocument, type DeletedProjectsQuery } from '../gql/graphql';
import { useBoard, useNow } from '../hooks';
import { ago, span } from '../text';
import { useAct } from '../act';
import { TroubleNote } from '../forms';
import { Pages, usePages } from './lists';

const SHOWN = 10;

/** Projects that the user can bring back; read when they are opened. */
export function DeletedProjects({ isOpen = false }: { isOpen?: boolean }) {
  const [shows, setShows] = useState(isOpen);
  return (
    <details className="deleted" open={shows} onToggle={(event) => setShows(event.currentTarget.open)}>
      <summary>Deleted projects</summary>
      {shows && <List />}
    </details>
  );
}

type Deleted = NonNullable<NonNullable<NonNullable<DeletedProjectsQuery['viewer']>['deletedProjects']>['nodes'][number]>;

function List() {
  const deleted = usePages(DeletedProjectsDocument, { first: SHOWN }, (data) => data.viewer?.deletedProjects);
  return (
    <Pages of={deleted}>
      {deleted.nodes?.length === 0 && <p className="muted">There are none that you can bring back.</p>}
      <ul className="entries">
        {deleted.nodes?.map((project) => (
          <Entry key={project.projectId} project={project} />
        ))}
      </ul>
    </Pages>
  );
}

function Entry({ project }: { project: Deleted }) {
  const { store } = useBoard();
  const now = useNow(5_000);
  const { act, busy, trouble } = useAct();

  async function bringBack() {
    const data = await act(UndoDeleteDocument, { projectId: project.projectId });
    const found = data?.undoDeleteProject?.project;
    if (found) await store.enter(found);
  }

  return (
    <li className="entry">
      <p>
        <strong>{project.name}</strong>{' '}
        <span className="muted">
          deleted by {project.deletedBy?.name ?? 'somebody'}, {ago(project.deletedAt, now)}
        </span>
      </p>
      <TroubleNote trouble={trouble} />
      {project.state === 'PURGING' ? (
        <p className="muted">It is being removed for good.</p>
      ) : (
        <div className="actions">
          <button type="button" aria-disabled={busy} onClick={() => void bringBack()}>
            Bring back
          </button>
          <span className="muted">possible for {span(Date.parse(project.undoUntil) - now)}</span>
        </div>
      )}
    </li>
  );
}
