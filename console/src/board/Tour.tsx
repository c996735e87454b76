import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { useBoard, useBoardState, useNow } from './hooks';
import { endTour, hasSeenTour, partsOf, stepAfter, TOUR } from './tour';

/** Five keys for a user who is here for the first time. Using a key shows the next one. */
export function Tour({ viewer }: { viewer: string }) {
  const [isOver, setIsOver] = useState(() => hasSeenTour(viewer));
  if (isOver) return null;
  return (
    <Steps
      onEnd={() => {
        endTour(viewer);
        setIsOver(true);
      }}
    />
  );
}

function Steps({ onEnd }: { onEnd: () => void }) {
  const { store } = useBoard();
  const { held, selected, done } = useBoardState();
  const [step, setStep] = useState(0);
  const [isByHand, setIsByHand] = useState(false); // after "Back", nothing leads further by itself
  const finished = useRef(done.length);
  useNow(); // what is typed is in the draft
  const deeds = { holds: held.length > 0, hasChosen: Boolean(selected && store.work.draft(selected).categoryId), hasFinished: done.length > finished.current };
  const next = isByHand ? step : stepAfter(step, deeds);
  useEffect(() => {
    if (next === step) return;
    setStep(next);
    finished.current = done.length;
  }, [next, step, done.length]);

  function turn(to: number) {
    if (to >= TOUR.length) return onEnd();
    setIsByHand(to < step);
    finished.current = done.length;
    setStep(to);
  }

  function press(event: KeyboardEvent) {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onEnd();
  }

  return (
    <section className="tour" aria-label="First steps" onKeyDown={press}>
      <p role="status">
        <span className="muted">
          {step + 1} of {TOUR.length}
        </span>{' '}
        {partsOf(TOUR[step]!).map((part, i) => (i % 2 ? <kbd key={i}>{part}</kbd> : part))}
      </p>
      <div className="actions">
        {step > 0 && (
          <button type="button" onClick={() => turn(step - 1)}>
            Back
          </button>
        )}
        <button type="button" onClick={() => turn(step + 1)}>
          {step + 1 < TOUR.length ? 'Next key' : 'That is all'}
        </button>
        {step + 1 < TOUR.length && (
          <button type="button" className="quiet" onClick={onEnd}>
            Skip the first steps
          </button>
        )}
      </div>
    </section>
  );
}
