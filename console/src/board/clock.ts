// The time of the server: claims and undos end by its clock, and those of browsers may be minutes off.

const TOLERATED_MS = 2_000;
let ahead = 0;

/** Learns from the Date header of an answer, which has whole seconds. */
export function learn(date: string | null) {
  const difference = Date.parse(date ?? '') + 500 - Date.now();
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > TOLERATED_MS ? difference : 0;
}

/** The time, in milliseconds. */
export const serverNow = () => Date.now() + ahead;
