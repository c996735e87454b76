// Times and numbers as people read them.

/** A span of time in one unit or two: "45 s", "12:05 min", "3 h". */
export function span(milliseconds: number): string {
  const seconds = Math.max(Math.round(milliseconds / 1000), 0);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** What is left, as on a watch: "14:59". */
export function watch(milliseconds: number): string {
  const seconds = Math.max(Math.floor(milliseconds / 1000), 0);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** How long ago it was, as in "12 s ago". */
export function ago(at: string, now: number): string {
  const passed = now - Date.parse(at);
  return passed < 5_000 ? 'just now' : `${span(passed)} ago`;
}

/** The time of a day, with the day when it is another one. */
export function moment(at: string, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })}, ${time}`;
}

/** A message of the server as a sentence: "The project is paused." */
export const sentence = (message: string) => message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? '' : '.');

export const number = (value: number) => value.toLocaleString('en');

export const percent = (part: number, whole: number) => (whole ? `${Math.round((100 * part) / whole)} %` : '–');
