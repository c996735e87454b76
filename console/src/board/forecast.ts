// When the items that remain will be done, by what was finished lately. Pure.
import { moment, number, span } from './text';

const WINDOW_MS = 10 * 60_000;
const ENOUGH_MS = 3 * 60_000;
const ENOUGH = 5; // finishes: of fewer, chance makes any range useless
const YEAR_MS = 365 * 86_400_000;

/** Half of the width of a range that holds 19 times in 20, of the square root of a count of chance events (Poisson). */
const HALF = 0.98;

/** How many items were finished lately, and when the others will be done; events have been counted since a moment. */
export function forecast(finishes: number[], remaining: number, since: number, now: number): string {
  const seen = Math.min(now - since, WINDOW_MS);
  const count = finishes.filter((at) => at > now - seen).length;
  const told = seen < WINDOW_MS ? `${number(count)} since you opened this page, ${span(seen)} ago.` : `${number(count)} in the last ten minutes.`;
  if (!remaining) return told;
  if (seen < ENOUGH_MS) return `${told} How long the rest takes can be said after three minutes.`;
  if (count < ENOUGH) return `${told} That is too few to say when the ${number(remaining)} that remain will be done.`;

  const lasts = (finished: number) => (remaining / finished) * seen;
  const [least, most] = [lasts((Math.sqrt(count) + HALF) ** 2), lasts((Math.sqrt(count) - HALF) ** 2)];
  const at = (later: number) => moment(new Date(now + later).toISOString(), now);
  const end = most < YEAR_MS ? `between ${at(least)} and ${at(most)}` : least < YEAR_MS ? `not before ${at(least)}` : 'in more than a year';
  return `${told} At this pace the ${number(remaining)} that remain are done in ${span(lasts(count))}: ${end}. The range allows for chance, not for breaks.`;
}
