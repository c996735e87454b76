import { useState } from 'react';
import { PurgeRemovalDocument, RemovalProgressDocument, RemovalsDocument, RemovalStateDocument, UndoRemovalDocument, type RemovalFragment } from '../gql/graphql';
import { useBoardState, useNow } from '../hooks';
import { ago, number, span } from '../text';
import { useAct } from '../act';
import { Confirm, TroubleNote } from '../forms';
import { Pages, replaced, useProgress, usePages } from './lists';
import { statusNames } from './words';

const SHOWN = 5;

/** What was removed, and how to bring it back. */
export function Removals({ onRestored }: { onRestored?: () => void }) {
  const { project } = useBoardState();
  const removals = usePages(RemovalsDocument, { project: project?.id ?? '', first: SHOWN }, (data) => data.project?.removals);
  if (removals.nodes?.length === 0 && !removals.problem) return null;
  return (
    <section className="panel" aria-label="Removed items">
      <h2>Removed items</h2>
      <Pages of={removals} more="Earlier removals">
        <ul className="entries">
          {removals.nodes?.map((entry) => (
            <Removal
              key={entry.id}
              entry={entry}
              onChange={(changed) => {
                removals.change(replaced(changed));
                if (changed.state === 'RESTORED') onRestored?.();
              }}
            />
          ))}
        </ul>
      </Pages>
    </section>
  );
}

const states: Record<RemovalFragment['state'], string> = {
  REMOVING: 'being removed',
  REMOVED: 'removed',
  RESTORING: 'being brought back',
  RESTORED: 'brought back',
  PURGING: 'being deleted for good',
  PURGED: 'gone for good',
};

function Removal({ entry, onChange }: { entry: RemovalFragment; onChange: (entry: RemovalFragment) => void }) {
  const now = useNow(5_000);
  const { act, busy, trouble, setTrouble } = useAct();
  const [sure, setSure] = useState(false);
  useProgress(entry.id, ['REMOVING', 'RESTORING', 'PURGING'].includes(entry.state), RemovalProgressDocument, RemovalStateDocument, onChange);

  async function undo() {
    const data = await act(UndoRemovalDocument, { removalId: entry.id });
    const removal = data?.undoProjectRemoval?.removal;
    if (removal) onChange(removal);
  }

  async function purge() {
    const data = await act(PurgeRemovalDocument, { removalId: entry.id });
    if (!data) return;
    setSure(false);
    if (data.purgeProjectRemoval?.removal) onChange(data.purgeProjectRemoval.removal);
  }

  const items = `${number(entry.removed)} ${entry.removed === 1 ? 'item' : 'items'}`;
  const what = entry.import ? 'Items of an import' : entry.status ? `All items that were ${statusNames[entry.status].toLowerCase()}` : 'Chosen items';
  const left = entry.undoUntil ? Date.parse(entry.undoUntil) - now : 0;
  return (
    <li className="entry">
      <p role="status">
        <strong>{what}</strong> <span className="tag">{states[entry.state]}</span> {items}{' '}
        <span className="muted">
          {entry.createdBy?.name}, {ago(entry.createdAt, now)}
        </span>
      </p>
      {!sure && <TroubleNote trouble={trouble} />}
      {entry.state === 'REMOVED' && left > 0 && (
        <div className="actions">
          <button type="button" aria-disabled={busy} onClick={() => void undo()}>
            Bring them back
          </button>
          <button type="button" aria-label={`Delete for good: ${what.toLowerCase()}, ${items}`} onClick={() => setSure(true)}>
            Delete for good…
          </button>
          <span className="muted">possible for {span(left)}</span>
        </div>
      )}
      {sure && (
        <Confirm
          title={`Delete ${items} for good?`}
          yes="Delete for good"
          busy={busy}
          trouble={trouble}
          onYes={purge}
          onClose={() => {
            setSure(false);
            setTrouble(null);
          }}
        >
          <p>What was removed, and everything that was found out about it, is deleted now instead of in {span(left)}. Nothing brings it back.</p>
        </Confirm>
      )}
    </li>
  );
}
