// The token of an invitation by whose link somebody came. It is a secret: it leaves the address at once, and is kept in this tab while one signs in.

const KEY = 'taggie:invitation';

/** The link to an invitation, for people to send. Browsers send no server what stands after "#". */
export const linkTo = (token: string, page = window.location.href) => `${page.split('#')[0]}#invitation=${encodeURIComponent(token)}`;

/** Takes the token out of the address, if there is one, and returns it, or the one that was taken before; '' for none. */
export function takeInvitation(storage: Storage = window.sessionStorage): string {
  const parts = new URLSearchParams(window.location.hash.slice(1));
  const token = parts.get('invitation');
  if (token === null) return storage.getItem(KEY) ?? '';
  parts.delete('invitation');
  window.history.replaceState(null, '', `#${parts}`);
  storage.setItem(KEY, token);
  return token;
}

/** Forgets it: it was accepted, or is not wanted now. */
export const forgetInvitation = (storage: Storage = window.sessionStorage) => storage.removeItem(KEY);
