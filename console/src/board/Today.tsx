import { useEffect, useRef, useState } from 'react';
import { useBoard, useBoardState, useNow } from './hooks';
import { number, percent } from './text';
import { followDay, midnight, type Figures } from './today';

/** What the user has finished today, how many an hour, and how much of it is right. */
export function Today() {
  const { store } = useBoard();
  const { project, done, ownReviews } = useBoardState();
  const id = project?.id ?? '';
  const day = midnight(useNow(30_000));
  const [figures, setFigures] = useState<Figures | null>(null);
  const following = useRef<ReturnType<typeof followDay>>(undefined);

  useEffect(() => {
    const mine = followDay(store.client, id, day, setFigures);
    following.current = mine;
    return () => {
      mine.close();
      setFigures(null);
    };
  }, [store, id, day]);

  const latest = `${done[0]?.effortId} ${done.length}`;
  const known = useRef({ latest, ownReviews });
  useEffect(() => {
    if (known.current.latest !== latest) following.current?.finished();
    if (known.current.ownReviews !== ownReviews) following.current?.reviewed();
    known.current = { latest, ownReviews };
  }, [latest, ownReviews]);

  if (!figures) return null;
  const { finished, perHour, reviewed, right, isPart } = figures;
  return (
    <p className="today">
      Today: <strong>{number(finished)}</strong>
      {isPart && ' or more'} finished
      {perHour !== null && (
        <>
          , <strong title="Without breaks of more than 15 minutes">{number(perHour)}</strong> an hour
        </>
      )}
      {reviewed > 0 && (
        <>
          , <strong>{percent(right, reviewed)}</strong> of {number(reviewed)} reviewed are right
        </>
      )}
    </p>
  );
}
