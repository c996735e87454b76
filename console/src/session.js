// Who the page signs requests as, and which extras it asks for.
//
// GET /session says how one signs in. A server with a local issuer (the embedded mode) answers with a token for the demo user, and who else
// there is. A server whose people sign in at another issuer (./issuer.js) says how to begin there. Any other server answers 404, and the
// visitor brings a token: it lives in sessionStorage, and ends with the browser tab.

import { claimsOf, createIssuer, onSignOut, takeReturn, wasSignedIn } from './issuer.js';

const RENEW_BEFORE_MS = 60_000;
const RETRY_MS = 10_000;
const LEAVE_MS = 10_000; // within which a redirect has left the page
const MAX_TIMER_MS = 2 ** 31 - 1; // a longer delay makes setTimeout fire at once

const keys = { mode: 'taggie:mode', token: 'taggie:token', cost: 'taggie:cost', person: 'taggie:person' };

/**
 * @typedef {object} Session
 * @property {boolean} loaded   the server has been asked for a session
 * @property {'demo'|'own'|'issuer'|'anonymous'} mode
 * @property {{token: string, user: {name?: string, email?: string}, expiresAt: string, people?: {name: string, email: string}[]}|null} demo  null: no local issuer
 * @property {string} person    the address of who was chosen in place of the demo user, or ''
 * @property {string} token     the visitor's own token
 * @property {import('./issuer.js').Configuration|null} issuer  null: nobody signs in at an issuer
 * @property {import('./issuer.js').Signed|null} signed  who is signed in at the issuer
 * @property {boolean} ended    the token of who is signed in has expired, or the server refuses it
 * @property {boolean} cost     ask for the extensions "dynamo" and "cost"
 * @property {string} problem   why there is no session, or ''
 */

/** Creates the session store; start() asks the server. `isBusy` says whether leaving the page would lose something. */
export function createSession({ storage = window.sessionStorage, fetch = window.fetch.bind(window), url = 'session', browser = globalThis.window, isBusy = /** @type {() => boolean} */ (() => false), sign = createIssuer } = {}) {
  const token = storage.getItem(keys.token) ?? '';
  let timer;
  let renewal;
  let issuer; // what signs in there
  let replacement; // the token that came for one that the server refused
  let arrival = browser ? takeReturn(browser) : null;
  const listeners = new Set();

  /** @type {Session} */
  let state = {
    loaded: false,
    mode: storage.getItem(keys.mode) ?? 'demo',
    demo: null,
    person: storage.getItem(keys.person) ?? '',
    token,
    issuer: null,
    signed: null,
    ended: false,
    cost: storage.getItem(keys.cost) === 'on',
    problem: '',
  };
  if (state.mode === 'own' && !token) state.mode = 'demo';

  function set(change) {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  async function ask(person = storage.getItem(keys.person) ?? '') {
    const response = await fetch(person ? `${url}?email=${encodeURIComponent(person)}` : url, { headers: { accept: 'application/json' }, cache: 'no-store', credentials: 'same-origin' });
    if (person && [404, 422].includes(response.status)) {
      storage.removeItem(keys.person); // another server is at this address now
      return ask('');
    }
    if (response.status === 404 || response.status === 204) return demo(null, '');
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const answer = await response.json();
    if (answer?.provider) return begin(answer, Date.parse(response.headers.get('date') ?? '') - Date.now());
    if (!answer?.token) throw new Error('the server answered without a token');
    return demo(answer, person);
  }

  function demo(answer, person) {
    const cost = storage.getItem(keys.cost);
    if (answer) schedule(Math.max(Date.parse(answer.expiresAt) - Date.now() - RENEW_BEFORE_MS, RETRY_MS));
    return { loaded: true, demo: answer, person, problem: '', cost: cost === null ? answer !== null : cost === 'on' };
  }

  /** Begins with an issuer: completes the sign-in from which the browser comes, or signs in silently who was signed in before. */
  async function begin(configuration, ahead) {
    issuer = sign(configuration, { browser, fetch, ahead: ahead || 0 });
    onSignOut(browser, () => state.signed && forget());
    storage.removeItem(keys.token);
    const change = { loaded: true, mode: 'issuer', token: '', issuer: configuration, problem: '' };
    if (arrival) {
      const returned = arrival;
      arrival = null;
      return issuer.complete(returned).then(
        (signed) => ({ ...change, ...hold(signed) }),
        (trouble) => ({ ...change, problem: trouble.message }),
      );
    }
    return wasSignedIn(browser) ? { ...change, problem: await goSilently() } : change;
  }

  /** Leaves by a redirect that comes back without asking anything. Returns why the page is still here, if it is. */
  async function goSilently() {
    try {
      await issuer.begin({ silent: true, signed: state.signed });
    } catch (trouble) {
      return trouble.message;
    }
    await new Promise((resolve) => setTimeout(resolve, LEAVE_MS));
    return 'The issuer cannot be reached at the moment. Sign in again in a while.';
  }

  /** Keeps who is signed in, and sees to the next token. */
  function hold(signed) {
    const left = signed.expiresAt - Date.now();
    schedule(Math.max(left - Math.min(RENEW_BEFORE_MS, left / 2), 0));
    return { signed, ended: false, problem: '' };
  }

  /** Gets the next token of who is signed in: by the refresh token, or else by a redirect when that loses nothing. */
  async function prolong() {
    const { signed } = state;
    if (!signed || (state.ended && !signed.refresh)) return {};
    const next = signed.refresh ? await issuer.refresh(signed).catch(() => undefined) : null;
    if (state.signed !== signed) return {}; // signed out meanwhile
    if (next) return hold(next);
    if (next === undefined) {
      schedule(RETRY_MS); // nobody answers: the refresh token may be good for long after the token
      return {};
    }
    const problem = isBusy() ? '' : await goSilently();
    if (state.signed !== signed) return {};
    const left = signed.expiresAt - Date.now();
    const change = { signed: { ...signed, refresh: undefined }, problem };
    if (left <= 0) return { ...change, ended: true };
    schedule(Math.min(left, RETRY_MS));
    return change;
  }

  /** Fetches the next session; several callers share one request. Never rejects. */
  function renew() {
    renewal ??= (issuer ? prolong() : ask())
      .catch((error) => {
        schedule(RETRY_MS);
        return { loaded: true, problem: `No session: ${error.message}` };
      })
      .then((change) => {
        renewal = undefined; // first of all: a listener may ask again
        set(change);
      });
    return renewal;
  }

  function schedule(delay) {
    clearTimeout(timer);
    // NaN: the server did not say when the session ends.
    if (!Number.isNaN(delay)) timer = setTimeout(renew, Math.min(delay, MAX_TIMER_MS));
  }

  // A laptop that slept has missed the timer, so each request looks at the clock as well. It never leaves the page: that would lose the request.
  function stale() {
    const soon = Date.now() + RENEW_BEFORE_MS / 2;
    if (state.mode === 'demo') return state.demo !== null && Date.parse(state.demo.expiresAt) <= soon;
    return Boolean(state.signed?.refresh && !state.ended && state.signed.expiresAt <= Date.now());
  }

  const bearers = { own: () => state.token, demo: () => state.demo?.token, issuer: () => state.signed?.token, anonymous: () => '' };

  async function authorization() {
    if (!state.loaded || stale()) await renew();
    const bearer = bearers[state.mode]();
    return bearer ? { Authorization: `Bearer ${bearer}` } : {};
  }

  function choose(mode, token = '') {
    storage.setItem(keys.mode, mode);
    if (token) storage.setItem(keys.token, token);
    else storage.removeItem(keys.token);
    set({ mode, token });
  }

  /**
   * Learns that the server refuses what a request was sent with. If that is the present token, another one is got once, or else the session has
   * ended. Returns whether there is another one.
   */
  async function refused({ Authorization = '' } = {}) {
    const isPresent = () => Boolean(state.signed) && Authorization === `Bearer ${state.signed.token}`;
    if (isPresent() && !state.ended && state.signed.refresh && state.signed.token !== replacement) {
      await renew();
      if (!isPresent()) replacement = state.signed?.token;
    }
    if (isPresent() && !state.ended) set({ ended: true });
    return Boolean(state.signed && Authorization) && !isPresent();
  }

  /** Forgets who was signed in at the issuer. */
  function forget() {
    clearTimeout(timer);
    set({ signed: null, ended: false, problem: '' });
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
    refused,
    /** The headers of one operation. */
    async headers() {
      const signed = await authorization();
      return state.cost ? { ...signed, 'Taggie-Extensions': 'dynamo, cost' } : signed;
    },
    useDemo: () => choose('demo'),
    /** Signs in as somebody of the demo data. */
    async usePerson(email) {
      await renewal;
      storage.setItem(keys.person, email);
      await renew();
    },
    useToken: (text) => choose('own', text),
    /** Leaves for the issuer, where the user signs in. */
    signIn: () => issuer.begin({ signed: state.signed }).catch((trouble) => set({ problem: trouble.message })),
    signOut() {
      if (!issuer) return choose('anonymous');
      forget();
      issuer.leave();
    },
    setCost(on) {
      storage.setItem(keys.cost, on ? 'on' : 'off');
      set({ cost: on });
    },
  };
}

/** Chooses somebody of the demo data for the pages of this window. */
export function choosePerson(email, storage = window.sessionStorage) {
  storage.setItem(keys.mode, 'demo');
  storage.removeItem(keys.token);
  storage.setItem(keys.person, email);
}

/** The address of who was chosen in this window, or ''. */
export const chosenPerson = (storage = window.sessionStorage) => storage.getItem(keys.person) ?? '';

/** Tells one user of the page from another; the same after a renewal. */
export const identity = ({ mode, token, person, signed }) => `${mode} ${{ own: token, demo: person, issuer: signed?.sub }[mode] ?? ''}`;

/** Takes a token as people paste it ("Bearer …", line breaks), or says what is wrong with it. */
export function readToken(text) {
  const token = text.trim().replace(/^bearer\s+/i, '').replace(/\s+/g, '');
  if (!token) return { problem: 'Paste a token first.' };
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return { problem: 'This is not a JSON Web Token (three parts with dots between).' };
  return { token };
}

/** What an own token says of its bearer, unverified: only for labels, and for what a form begins with. */
export function describeToken(token, now = Date.now()) {
  const claims = claimsOf(token);
  if (!claims) return { name: '', fullName: '', email: '', expired: false };
  return { name: claims.name ?? claims.email ?? claims.sub ?? '', fullName: claims.name ?? '', email: claims.email ?? '', expired: claims.exp ? claims.exp * 1000 <= now : false };
}

/** What is known of who is signed in, for what a form begins with. */
export function bearerOf({ mode, token, demo, signed }) {
  if (mode === 'issuer') return { fullName: signed?.name ?? '', email: signed?.email ?? '' };
  if (mode === 'demo') return { fullName: demo?.user?.name ?? '', email: demo?.user?.email ?? '' };
  return describeToken(token);
}
