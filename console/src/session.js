// Who the page signs requests as, and which extras it asks for.
//
// A server with a local issuer (the embedded mode) answers GET /session with a token for the demo user; any other server
// answers 404, and the visitor brings a token. An own token lives in sessionStorage: it ends with the browser tab.

const RENEW_BEFORE_MS = 60_000;
const RETRY_MS = 10_000;
const MAX_TIMER_MS = 2 ** 31 - 1; // a longer delay makes setTimeout fire at once

const keys = { mode: 'taggie:mode', token: 'taggie:token', cost: 'taggie:cost' };

/**
 * @typedef {object} Session
 * @property {boolean} loaded   the server has been asked for a session
 * @property {'demo'|'own'|'anonymous'} mode
 * @property {{token: string, user: {name?: string, email?: string}, expiresAt: string}|null} demo  null: no local issuer
 * @property {string} token     the visitor's own token
 * @property {boolean} cost     ask for the extensions "dynamo" and "cost"
 * @property {string} problem   why the demo session could not be renewed, or ''
 */

/** Creates the session store; start() asks the server. */
export function createSession({ storage = window.sessionStorage, fetch = window.fetch.bind(window), url = 'session' } = {}) {
  const token = storage.getItem(keys.token) ?? '';
  let timer;
  let renewal;
  const listeners = new Set();

  /** @type {Session} */
  let state = {
    loaded: false,
    mode: storage.getItem(keys.mode) ?? 'demo',
    demo: null,
    token,
    cost: storage.getItem(keys.cost) === 'on',
    problem: '',
  };
  if (state.mode === 'own' && !token) state.mode = 'demo';

  function set(change) {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  async function ask() {
    const response = await fetch(url, { headers: { accept: 'application/json' }, cache: 'no-store', credentials: 'same-origin' });
    if (response.status === 404 || response.status === 204) return null;
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const demo = await response.json();
    if (!demo?.token) throw new Error('the server answered without a token');
    return demo;
  }

  /** Fetches the demo session; several callers share one request. Never rejects. */
  function renew() {
    renewal ??= ask()
      .then(
        (demo) => {
          const cost = storage.getItem(keys.cost);
          return { loaded: true, demo, problem: '', cost: cost === null ? demo !== null : cost === 'on' };
        },
        (error) => ({ loaded: true, problem: `No session: ${error.message}` }),
      )
      .then((change) => {
        renewal = undefined; // first of all: a listener may ask again
        if (change.problem) schedule(RETRY_MS);
        else if (change.demo) schedule(Math.max(Date.parse(change.demo.expiresAt) - Date.now() - RENEW_BEFORE_MS, RETRY_MS));
        set(change);
      });
    return renewal;
  }

  function schedule(delay) {
    clearTimeout(timer);
    // NaN: the server did not say when the session ends.
    if (!Number.isNaN(delay)) timer = setTimeout(renew, Math.min(delay, MAX_TIMER_MS));
  }

  // A laptop that slept has missed the timer, so each request looks at the clock as well.
  function stale() {
    return state.demo !== null && Date.parse(state.demo.expiresAt) - Date.now() <= RENEW_BEFORE_MS / 2;
  }

  async function authorization() {
    if (!state.loaded || (state.mode === 'demo' && stale())) await renew();
    const bearer = state.mode === 'own' ? state.token : state.mode === 'demo' ? state.demo?.token : '';
    return bearer ? { Authorization: `Bearer ${bearer}` } : {};
  }

  function choose(mode, token = '') {
    storage.setItem(keys.mode, mode);
    if (token) storage.setItem(keys.token, token);
    else storage.removeItem(keys.token);
    set({ mode, token });
  }

  return {
    get: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: renew,
    /** The Authorization header as an object, empty for an anonymous visitor; waits for the first session. */
    authorization,
    /** The headers of one operation. */
    async headers() {
      const signed = await authorization();
      return state.cost ? { ...signed, 'Taggie-Extensions': 'dynamo, cost' } : signed;
    },
    useDemo: () => choose('demo'),
    useToken: (text) => choose('own', text),
    signOut: () => choose('anonymous'),
    setCost(on) {
      storage.setItem(keys.cost, on ? 'on' : 'off');
      set({ cost: on });
    },
  };
}

/** Tells one user of the page from another; the same after a renewal. */
export const identity = ({ mode, token }) => `${mode} ${token}`;

/** Takes a token as people paste it ("Bearer …", line breaks), or says what is wrong with it. */
export function readToken(text) {
  const token = text.trim().replace(/^bearer\s+/i, '').replace(/\s+/g, '');
  if (!token) return { problem: 'Paste a token first.' };
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return { problem: 'This is not a JSON Web Token (three parts with dots between).' };
  return { token };
}

/** What an own token says of its bearer, unverified: only for labels, and for what a form begins with. */
export function describeToken(token, now = Date.now()) {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    return { name: claims.name ?? claims.email ?? claims.sub ?? '', fullName: claims.name ?? '', email: claims.email ?? '', expired: claims.exp ? claims.exp * 1000 <= now : false };
  } catch {
    return { name: '', fullName: '', email: '', expired: false };
  }
}
