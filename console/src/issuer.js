// Signs in at an OpenID Connect issuer: authorization code flow with PKCE, in this tab. What proves the flow waits in sessionStorage until the
// browser is back, and tokens stay in memory. The server is the token endpoint: it asks the issuer on the page's behalf.

const keys = { pending: 'taggie:sign-in', flag: 'taggie:signed-in', left: 'taggie:signed-out' };

/** Answers to prompt=none that mean: the issuer would have to ask the user. */
const quiet = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required'];

const TOLERANCE_S = 30;
const MOST_TEXT = 200;

/**
 * @typedef {object} Configuration  what the server says of the issuer
 * @property {{issuer: string, authorization_endpoint: string, end_session_endpoint?: string, prompt_values_supported?: string[]}} provider
 * @property {string} clientId
 * @property {string} scope
 * @property {string[]} audiences   of the tokens that the server accepts
 *
 * @typedef {object} Signed  who is signed in
 * @property {string} token      what requests are sent with
 * @property {number} expiresAt  in milliseconds, by the clock of this browser
 * @property {string} sub
 * @property {string} name
 * @property {string} email
 * @property {string} [refresh]  a refresh token
 */

/** Something that the user can read, with what to do next. */
export class Trouble extends Error {}

/** Nobody has answered: the same question may get an answer later. */
class Away extends Trouble {}

/** The claims of a token, unverified; null when it is no JSON Web Token. */
export function claimsOf(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/**
 * Takes what the issuer sends the browser back with out of the address, and what was kept for it out of the tab; the fragment of before is
 * there again. Returns null if the browser does not come from an issuer. Some issuers leave out the state when they refuse, so that whatever
 * follows a silent sign-in is its end: otherwise the page would leave again, and never stop.
 */
export function takeReturn({ location, history, sessionStorage }) {
  const parameters = new URLSearchParams(location.search);
  const kept = sessionStorage.getItem(keys.pending);
  sessionStorage.removeItem(keys.pending);
  const pending = JSON.parse(kept ?? 'null');
  const answers = parameters.has('state') && (parameters.has('code') || parameters.has('error'));
  if (!answers && !pending?.silent && !(pending && parameters.has('error'))) return null;
  history.replaceState(null, '', location.pathname + (answers ? (pending?.hash ?? location.hash) : location.hash || pending.hash));
  return { parameters, pending };
}

/** Whether somebody was signed in by this browser when it was used last. */
export const wasSignedIn = ({ localStorage }) => localStorage.getItem(keys.flag) === 'yes';

/** Tells when another tab signs out, or did so while the browser kept this page aside, to come back to it. */
export function onSignOut(browser, act) {
  browser.addEventListener('pageshow', ({ persisted }) => {
    if (persisted && browser.localStorage.getItem(keys.flag) === null) act();
  });
  browser.addEventListener('storage', ({ key, newValue }) => {
    if (key === keys.flag && newValue === null) act();
  });
}

/** Creates what signs in. `ahead` is how far the server's clock is ahead of the browser's, in milliseconds. */
export function createIssuer({ provider, clientId, scope, audiences }, { browser = window, fetch = browser.fetch.bind(browser), ahead = 0, load = () => import('./oauth.js') } = {}) {
  const { location, localStorage, sessionStorage, crypto } = browser;
  const redirect = location.origin + location.pathname;
  const as = { ...provider, token_endpoint: new URL('session', location.href).href };

  /** The library, and its options; the token endpoint is ours, so that http is as safe as the page. */
  async function ready() {
    if (!crypto?.subtle) throw new Trouble('Signing in needs a secure connection. Open this page by an address that begins with https.');
    const oauth = await load().catch(() => {
      throw new Away('A part of this page could not be loaded. Sign in again; if that does not help, reload the page.');
    });
    const client = { client_id: clientId, [oauth.clockSkew]: Math.round(ahead / 1000), [oauth.clockTolerance]: TOLERANCE_S };
    return { oauth, client, options: { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetchToken } };
  }

  async function fetchToken(url, init) {
    const response = await fetch(url, { ...init, cache: 'no-store' }).catch(() => null);
    if (!response) throw new Away('The server cannot be reached. Check your connection, then sign in again.');
    if (response.status >= 500) throw new Away('The issuer cannot be reached at the moment. Sign in again in a while.');
    if (response.status === 429) throw new Away('Too many people of your network sign in at the moment. Sign in again in a while.');
    return response;
  }

  /**
   * Leaves for the issuer; silent: without asking the user anything. The issuer is told who has been signed in, and only they can be silently
   * signed in again. Who signed out before is asked who they are: on a shared computer, it may be somebody else.
   */
  async function begin({ silent = false, signed = null } = {}) {
    const { oauth } = await ready();
    const [state, nonce, verifier] = [oauth.generateRandomState(), oauth.generateRandomNonce(), oauth.generateRandomCodeVerifier()];
    const target = new URL(provider.authorization_endpoint);
    const parameters = {
      client_id: clientId,
      redirect_uri: redirect,
      response_type: 'code',
      scope,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...prompt(silent),
      ...(signed?.email ? { login_hint: signed.email } : {}),
    };
    for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
    sessionStorage.setItem(keys.pending, JSON.stringify({ state, nonce, verifier, silent, hash: location.hash, sub: silent ? signed?.sub : undefined }));
    if (silent) location.replace(target.href);
    else location.assign(target.href);
  }

  /** How the issuer asks. Few say which values they know: Google, where nobody can sign out from here, refuses "login", and others "select_account". */
  function prompt(silent) {
    if (silent) return { prompt: 'none' };
    if (localStorage.getItem(keys.left) === null) return {};
    const canSelect = provider.prompt_values_supported?.includes('select_account') ?? !provider.end_session_endpoint;
    return { prompt: canSelect ? 'select_account' : 'login' };
  }

  /** Completes what begin() began; returns who is signed in. Whatever goes wrong is a Trouble. If it is what the issuer says, the next load asks nothing by itself. */
  async function complete({ parameters, pending }) {
    const wasIn = pending?.silent || wasSignedIn(browser);
    try {
      if (!pending) throw new Trouble('This sign-in was not begun in this tab, so it was not accepted. Sign in again.');
      if (!parameters.has('state')) throw new Trouble('The issuer sent you back without signing you in. Sign in; if it fails again, tell whoever runs this server.');
      const { oauth, client, options } = await ready();
      const answer = oauth.validateAuthResponse(as, client, parameters, pending.state);
      const response = await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), answer, redirect, pending.verifier, options);
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: pending.nonce, requireIdToken: true });
      const signed = choose(tokens, oauth.getValidatedIdTokenClaims(tokens));
      if (pending.sub && pending.sub !== signed.sub) throw new Trouble(`Somebody else is signed in at the issuer now: ${signed.name || signed.email || signed.sub}. Sign in to go on as them, or sign out there first.`);
      if (wasIn && localStorage.getItem(keys.flag) === null) throw new Trouble('You have signed out in another tab. Sign in again.');
      localStorage.removeItem(keys.left);
      localStorage.setItem(keys.flag, 'yes');
      return signed;
    } catch (cause) {
      const trouble = explain(cause, pending?.silent);
      if (wasSignedIn(browser) && pending && !(trouble instanceof Away)) localStorage.setItem(keys.flag, 'no');
      throw trouble;
    }
  }

  /**
   * Asks for the next token. Returns null when the refresh token is of no use any more: the issuer says so, or answers with somebody else's
   * tokens. Rejects with a Trouble otherwise, after which the same may be asked again.
   */
  async function refresh(signed) {
    const { oauth, client, options } = await ready();
    try {
      const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), signed.refresh, options);
      const tokens = await oauth.processRefreshTokenResponse(as, client, response);
      const claims = oauth.getValidatedIdTokenClaims(tokens) ?? signed;
      return claims.sub === signed.sub ? choose({ refresh_token: signed.refresh, ...tokens }, { name: signed.name, email: signed.email, ...claims }) : null;
    } catch (cause) {
      if (cause.error === 'invalid_grant') return null;
      throw explain(cause);
    }
  }

  /** What to send of these tokens: the access token if it is a JSON Web Token for this server, or else the ID token. */
  function choose({ access_token, id_token, refresh_token }, { sub, name = '', email = '' }) {
    for (const token of [access_token, id_token]) {
      const claims = claimsOf(token);
      if (claims?.iss !== provider.issuer || ![claims.aud].flat().some((audience) => audiences.includes(audience))) continue;
      return { token, expiresAt: claims.exp * 1000 - ahead, sub, name, email, refresh: refresh_token };
    }
    throw new Trouble(`The tokens of the issuer are for another audience than this server. Whoever runs this server has to add “${clientId}” to TAGGIE_OIDC_AUDIENCE.`);
  }

  /** Signs out: here, in other tabs, and at the issuer, if it can be told. */
  function leave() {
    localStorage.removeItem(keys.flag);
    localStorage.setItem(keys.left, 'yes');
    if (!provider.end_session_endpoint) return;
    const target = new URL(provider.end_session_endpoint);
    target.searchParams.set('client_id', clientId);
    target.searchParams.set('post_logout_redirect_uri', redirect);
    location.assign(target.href);
  }

  return { begin, complete, refresh, leave };
}

/** Why there is no token, and what to do about it. */
function explain(cause, silent) {
  if (cause instanceof Trouble) return cause;
  const said = String(cause.error_description ?? cause.error ?? '').slice(0, MOST_TEXT);
  if (silent && quiet.includes(cause.error)) return new Trouble('Your session has ended: sign in.');
  if (cause.code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR') {
    const next = cause.error === 'access_denied' ? 'Sign in again, or ask whoever runs the issuer for access.' : 'Sign in again; if it fails again, tell whoever runs this server.';
    return new Trouble(`The issuer did not sign you in: “${said}”. ${next}`);
  }
  if (cause.error === 'invalid_client') return new Trouble(`The issuer does not accept this server as its client: “${said}”. Whoever runs this server has to check TAGGIE_OIDC_CLIENT_ID and TAGGIE_OIDC_CLIENT_SECRET.`);
  if (cause.error) return new Trouble(`The issuer gave no token: “${said}”. Sign in again; if it fails again, tell whoever runs this server.`);
  if (/"state"/.test(cause.message)) return new Trouble('This sign-in was not begun in this tab, so it was not accepted. Sign in again.');
  return new Trouble(`The answer of the issuer was not accepted: ${cause.message}. Sign in again; if it fails again, tell whoever runs this server.`);
}
