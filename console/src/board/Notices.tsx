import { useBoard, useBoardState, useNow } from './hooks';
import { number, span, watch } from './text';

/** How many items one may have of a project. */
const MOST = 50;

/** What just happened, told to screen readers too. */
export function Notices() {
  const { store } = useBoard();
  const { notices, expired, busy } = useBoardState();
  const now = useNow();
  return (
    <div className="notices" role="log" aria-live="polite" aria-label="Messages">
      {notices.map(({ id, kind, text, undo }) => (
        <div key={id} className={`notice is-${kind}`}>
          <p>{text}</p>
          {undo && undo.until > now && (
            <button type="button" onClick={() => void store.work.undo(undo.effortId)}>
              Undo <kbd>u</kbd> <span className="time">{watch(undo.until - now)}</span>
            </button>
          )}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => store.dismiss(id)}>
            ×
          </button>
        </div>
      ))}
      {expired.length > 0 && (
        <div className="notice is-bad">
          <p>
            {expired.length === 1 ? `“${expired[0]}”` : `${expired.length} items`} went back to the queue: you had {expired.length === 1 ? 'it' : 'them'} too long. What
            you typed is kept.
          </p>
          <button type="button" disabled={busy === 'claim'} onClick={() => void store.work.claim(Math.min(expired.length, MOST))}>
            Claim again
          </button>
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => store.set({ expired: [] })}>
            ×
          </button>
        </div>
      )}
    </div>
  );
}

/** How the connection is, in a word; in a sentence when it is lost. */
export function ConnectionState() {
  const { connection, cutAt, caughtUp } = useBoardState();
  const now = useNow();
  const texts = {
    connecting: 'Connecting…',
    live: caughtUp === null ? 'Live' : `Live again: ${caughtUp} ${caughtUp === 1 ? 'event' : 'events'} caught up`,
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

/** How far the rebuild of the queue is, while there is one. */
export function RebuildState() {
  const { rebuild } = useBoardState();
  if (!rebuild) return null;
  const { itemsRead: read, itemsTotal: total } = rebuild;
  return (
    <div className="rebuild" role="status">
      <p>The queue is being rebuilt. Items are handed out again in some seconds; what you type is kept.</p>
      {/* The numbers are for the eye only. */}
      <p className="muted" aria-live="off">
        <progress aria-label="Items read" value={total === null ? undefined : read} max={total ?? undefined} />
        {total === null ? `${number(read)} items read` : `${number(read)} of ${number(total)} items read`}
      </p>
    </div>
  );
}
