// Turns: work that needs much memory is done a few at a time.

/** Creates what lets so many do something at a time, in order. Who does not want it any more when the turn comes is left out. */
export function createTurns(most: number) {
  let under = 0;
  const waiting: (() => void)[] = [];
  return async (isWanted: () => boolean, act: () => Promise<void>): Promise<void> => {
    if (under < most) under += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      if (isWanted()) await act();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else under -= 1;
    }
  };
}
