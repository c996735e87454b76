// Times as people read and type them, in the time zone of the browser.

/** A day and a time, with the year. */
export const when = (at: string) => new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

const two = (value: number) => String(value).padStart(2, '0');

/** What a field for day and time shows. */
export function toField(at: string | null | undefined): string {
  if (!at) return '';
  const time = new Date(at);
  return `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** The instant that such a field says; null if it is empty or no time. */
export function fromField(text: string): string | null {
  const time = new Date(text);
  return text && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}

/** Tags that are separated by commas, each once. */
export const tagsOf = (text: string) => [...new Set(text.split(',').map((tag) => tag.trim()).filter(Boolean))];
