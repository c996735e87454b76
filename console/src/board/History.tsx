import { useEffect, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { UNDO_MS } from './finishes';
import { HistoryDocument } from './gql/graphql';
import { useBoard, useBoardState, useNow } from './hooks';
import { moment, watch } from './text';
import type { Effort } from './types';

/** What the user finished, the newest first, and what reviewers said. */
export function History() {
  const { store } = useBoard();
  const { project, done } = useBoardState();
  const now = useNow();
  const [after, setAfter] = useState<string | null>(null);
  const [earlier, setEarlier] = useState<Effort[]>([]);
  const [{ data, fetching, error }, again] = useQuery({
    query: HistoryDocument,
    variables: { project: project?.id ?? '', after },
    pause: !project,
  });

  // What was done or undone meanwhile is asked for; what is there when the page opens is being asked for already.
  const latest = `${done[0]?.effortId} ${done.length}`;
  const shown = useRef(latest);
  useEffect(() => {
    if (shown.current === latest) return;
    shown.current = latest;
    setAfter(null);
    setEarlier([]);
    again({ requestPolicy: 'network-only' });
  }, [latest, again]);

  const page = data?.project?.viewerMember.efforts;
  const efforts = [...earlier, ...(page?.nodes ?? [])];
  const today = new Date(now).toDateString();
  const ofToday = efforts.filter(({ finishedAt, undoneAt }) => !undoneAt && new Date(finishedAt).toDateString() === today);
  const wrong = ofToday.filter(({ review }) => review?.verdict === 'INCORRECT').length;

  return (
    <section className="history" aria-label="Your history">
      <p className="history-sum">
        <strong>{ofToday.length}</strong> finished today{wrong > 0 && <>, {wrong} of them found incorrect</>}.
      </p>
      {error && !page && <p className="problem">{error.graphQLErrors[0]?.message ?? 'The server cannot be reached.'}</p>}
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Item</th>
            <th>Found to be</th>
            <th>Review</th>
            <th>
              <span className="unseen-text">Undo</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {efforts.map((effort) => (
            <Line key={effort.id} effort={effort} now={now} onUndo={() => void store.work.undo(effort.id).then(() => again({ requestPolicy: 'network-only' }))} />
          ))}
        </tbody>
      </table>
      {page && !efforts.length && <p className="muted">You have not finished anything in this project yet.</p>}
      {page?.pageInfo.hasNextPage && (
        <button
          type="button"
          disabled={fetching}
          onClick={() => {
            setEarlier(efforts);
            setAfter(page.pageInfo.endCursor);
          }}
        >
          Earlier
        </button>
      )}
    </section>
  );
}

function Line({ effort, now, onUndo }: { effort: Effort; now: number; onUndo: () => void }) {
  const left = Date.parse(effort.finishedAt) + UNDO_MS - now;
  const { review, undoneAt } = effort;
  return (
    <tr className={undoneAt ? 'is-undone' : undefined}>
      <td className="muted" data-name="When">
        {moment(effort.finishedAt, now)}
      </td>
      <td data-name="Item">{effort.item?.name}</td>
      <td data-name="Found to be">
        {[effort.category?.name, effort.subcategory?.name].filter(Boolean).join(' · ')} <span className="muted">{effort.keywords.join(', ')}</span>
      </td>
      <td data-name="Review">
        {review ? (
          <>
            <span className={review.verdict === 'CORRECT' ? 'tag is-good' : 'tag is-bad'}>{review.verdict === 'CORRECT' ? 'correct' : 'incorrect'}</span>{' '}
            <span className="muted">
              {review.comment} {review.by && `(${review.by.name})`}
            </span>
          </>
        ) : (
          <span className="muted">{undoneAt ? 'undone' : '–'}</span>
        )}
      </td>
      <td>
        {!undoneAt && !review && left > 0 && (
          <button type="button" onClick={onUndo}>
            Undo <span className="unseen-text">{effort.item?.name}</span> <span className="time">{watch(left)}</span>
          </button>
        )}
      </td>
    </tr>
  );
}
