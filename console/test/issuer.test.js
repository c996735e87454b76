import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createBoardClient } from '../src/board/client.ts';
import { createAsk, createFetcher } from '../src/fetcher.js';
import { Trouble, createIssuer, takeReturn, wasSignedIn } from '../src/issuer.js';
import { createSession, identity } from '../src/session.js';
import { memory } from './memory.js';

const origin = 'https://taggie.example.com';
const configuration = {
  provider: { issuer: 'https://id.example.com', authorization_endpoint: 'https://id.example.com/authorize', end_session_endpoint: 'https://id.example.com/leave' },
  clientId: 'pages',
  scope: 'openid email',
  audiences: ['taggie', 'pages'],
};
const now = () => Math.floor(Date.now() / 1000);
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims) => `${part({ alg: 'RS256' })}.${part({ iss: 'https://id.example.com', sub: 'ada', iat: now(), exp: now() + 600, ...claims })}.c2ln`;

/** A browser at an address; went holds where it was sent. */
function browserAt(address, session = memory(), local = memory()) {
  const location = new URL(address);
  const went = [];
  const go = (target) => void went.push(new URL(target));
  Object.defineProperties(location, { assign: { value: go }, replace: { value: go } });
  const history = { replaceState: (_, __, target) => void (location.href = new URL(target, location.href).href) };
  return { location, history, sessionStorage: session, localStorage: local, crypto: globalThis.crypto, went, addEventListener: mock.fn() };
}

/** The browser after it has been at the issuer, which says this; and the token endpoint answers with these tokens. */
async function returned({ says = { code: 'c' }, tokens = {}, silent = false, signed = null, hash = '#project=p' } = {}) {
  const begun = browserAt(`${origin}/board${hash}`, memory(), memory(silent ? { 'taggie:signed-in': 'yes' } : {}));
  await createIssuer(configuration, { browser: begun, fetch: async () => assert.fail('nothing is asked') }).begin({ silent, signed });
  const [target] = begun.went;
  const asked = Object.fromEntries(target.searchParams);
  const back = new URLSearchParams({ state: asked.state, iss: configuration.provider.issuer, ...says });
  const browser = browserAt(`${origin}/board?${back}`, begun.sessionStorage, begun.localStorage);
  const fetch = mock.fn(async () => Response.json({ token_type: 'Bearer', access_token: 'opaque', id_token: jwt({ aud: 'pages', nonce: asked.nonce, name: 'Ada', email: 'ada@example.com' }), ...tokens }));
  const arrival = takeReturn(browser);
  return { asked, target, browser, fetch, arrival, issuer: createIssuer(configuration, { browser, fetch }) };
}

test('the issuer is asked with a challenge, and what proves it is kept in this tab only', async () => {
  const browser = browserAt(`${origin}/board?x=1#project=p`);
  await createIssuer(configuration, { browser, fetch: async () => assert.fail('nothing is asked') }).begin();
  const [target] = browser.went;
  assert.equal(target.origin + target.pathname, configuration.provider.authorization_endpoint);
  const { state, nonce, code_challenge, ...rest } = Object.fromEntries(target.searchParams);
  assert.deepEqual(rest, { client_id: 'pages', redirect_uri: `${origin}/board`, response_type: 'code', scope: 'openid email', code_challenge_method: 'S256' });
  const pending = JSON.parse(browser.sessionStorage.getItem('taggie:sign-in'));
  assert.deepEqual([pending.state, pending.nonce, pending.hash], [state, nonce, '#project=p']);
  assert.equal(new Set([state, nonce, code_challenge, pending.verifier]).size, 4);
  assert.equal(browser.localStorage.length, 0);
});

test('who comes back is signed in, and nothing of it is left in address or stores', async () => {
  const { browser, arrival, issuer, fetch } = await returned();
  assert.equal(browser.location.href, `${origin}/board#project=p`);
  assert.equal(browser.sessionStorage.length, 0);
  const signed = await issuer.complete(arrival);
  assert.deepEqual([signed.sub, signed.name, signed.email], ['ada', 'Ada', 'ada@example.com']);
  const [[url, { body }]] = fetch.mock.calls.map(({ arguments: call }) => call);
  assert.equal(String(url), `${origin}/session`);
  assert.deepEqual([body.get('grant_type'), body.get('code'), body.get('redirect_uri')], ['authorization_code', 'c', `${origin}/board`]);
  assert.ok(wasSignedIn(browser));
});

test('an access token is sent if it is a JSON Web Token for this server, and the ID token otherwise', async () => {
  const access = jwt({ aud: ['other', 'taggie'] });
  for (const [tokens, sends] of [
    [{ access_token: access }, access],
    [{ access_token: jwt({ aud: 'other' }) }, undefined],
    [{ access_token: jwt({ aud: 'taggie', iss: 'https://else.example.com' }) }, undefined],
    [{}, undefined],
  ]) {
    const { arrival, issuer } = await returned({ tokens });
    const { token } = await issuer.complete(arrival);
    assert.equal(token === access, sends === access);
  }
});

for (const [what, options, says, change = (arrival) => arrival] of [
  ['another state', {}, /not begun in this tab/, ({ parameters, pending }) => ({ parameters, pending: { ...pending, state: 'other' } })],
  ['no sign-in that was begun', {}, /not begun in this tab/, ({ parameters }) => ({ parameters, pending: null })],
  ['another nonce', { tokens: { id_token: jwt({ aud: 'pages', nonce: 'other' }) } }, /was not accepted/],
  ['another issuer', { says: { code: 'c', iss: 'https://evil.example.com' } }, /was not accepted/],
  ['no ID token', { tokens: { id_token: undefined } }, /was not accepted/],
  ['a refusal', { says: { error: 'access_denied', error_description: 'Not today.' } }, /did not sign you in: “Not today\.”.+ask whoever runs the issuer/],
  ['somebody else than before', { silent: true, signed: { sub: 'eve' } }, /^Somebody else is signed in at the issuer now: Ada\./],
  ['a silent refusal', { silent: true, says: { error: 'login_required' } }, /^Your session has ended: sign in\.$/],
]) {
  test(`nobody is signed in by ${what}`, async () => {
    const { browser, arrival, issuer } = await returned(options);
    await assert.rejects(issuer.complete(change(arrival)), { message: says });
    assert.ok(!wasSignedIn(browser), 'the next load does not try again');
  });
}

for (const query of ['', '?error=server_error', '?error=login_required&error_description=No.']) {
  test(`a silent sign-in ends where the issuer leaves out the state: ${query || 'nothing'}`, async () => {
    const { browser: left } = await returned({ silent: true });
    const local = memory({ 'taggie:signed-in': 'yes' });
    await createIssuer(configuration, { browser: left, fetch: async () => assert.fail('nothing is asked') }).begin({ silent: true });
    const browser = browserAt(`${origin}/board${query}`, left.sessionStorage, local);
    const { session, issuer } = at(browser);
    await session.start();
    assert.equal(issuer.begin.mock.callCount(), 0, 'the page stays');
    assert.match(session.get().problem, /sent you back without signing you in/);
    assert.equal(browser.location.href, `${origin}/board#project=p`);
    assert.ok(!wasSignedIn(browser), 'the next load does not try again');
  });
}

test('a refusal without state is no return if nothing was begun', () => {
  const browser = browserAt(`${origin}/board?error=x#project=p`);
  assert.equal(takeReturn(browser), null);
});

test('errors of the token endpoint say what to do', async () => {
  for (const [response, says] of [
    [Response.json({ error: 'invalid_client' }, { status: 401 }), /TAGGIE_OIDC_CLIENT_SECRET/],
    [Response.json({ error: 'invalid_grant', error_description: 'Too late.' }, { status: 400 }), /gave no token: “Too late\.”/],
    [new Response('', { status: 503 }), /cannot be reached at the moment/],
    [new Response('', { status: 429 }), /Too many people of your network/],
  ]) {
    const { browser, arrival } = await returned();
    await assert.rejects(createIssuer(configuration, { browser, fetch: async () => response }).complete(arrival), { message: says });
  }
  const { browser, arrival, fetch } = await returned();
  await assert.rejects(createIssuer({ ...configuration, audiences: ['taggie'] }, { browser, fetch }).complete(arrival), { message: /add “pages” to TAGGIE_OIDC_AUDIENCE/ });
});

test('only the issuer makes a refresh token useless', async () => {
  const { browser } = await returned();
  const ask = (response) => createIssuer(configuration, { browser, fetch: async () => response }).refresh({ ...ada(), refresh: 'r' });
  const next = { token_type: 'Bearer', access_token: 'opaque', id_token: jwt({ aud: 'pages' }) };
  assert.equal((await ask(Response.json(next))).token, next.id_token);
  assert.equal(await ask(Response.json({ error: 'invalid_grant' }, { status: 400 })), null);
  assert.equal(await ask(Response.json({ ...next, id_token: jwt({ aud: 'pages', sub: 'eve' }) })), null);
  for (const response of [
    Response.json({ errors: [{ message: 'Later.' }] }, { status: 429 }),
    Response.json({ errors: [{ message: 'No.' }] }, { status: 403 }),
    Response.json({ error: 'temporarily_unavailable' }, { status: 400 }),
    Response.json({ error: 'invalid_client' }, { status: 401 }),
    new Response('<html>', { status: 200 }),
    new Response('', { status: 503 }),
  ]) {
    await assert.rejects(ask(response), Trouble, String(response.status));
  }
});

test('the issuer is told who is signed in, and asks who it is after they have signed out', async () => {
  const signed = { sub: 'ada', email: 'ada@example.com' };
  const silently = await returned({ silent: true, signed });
  assert.deepEqual([silently.asked.prompt, silently.asked.login_hint], ['none', 'ada@example.com']);
  assert.equal((await silently.issuer.complete(silently.arrival)).sub, 'ada');

  const { browser, issuer, arrival } = await returned();
  for (const [more, prompt] of [
    [{}, 'login'],
    [{ end_session_endpoint: undefined }, 'select_account'],
    [{ prompt_values_supported: ['none', 'select_account'] }, 'select_account'],
    [{ prompt_values_supported: ['none', 'login'], end_session_endpoint: undefined }, 'login'],
  ]) {
    issuer.leave();
    const provider = { ...configuration.provider, ...more };
    await createIssuer({ ...configuration, provider }, { browser, fetch: async () => assert.fail('nothing is asked') }).begin();
    const asked = browser.went.at(-1).searchParams;
    assert.deepEqual([asked.get('prompt'), asked.get('login_hint')], [prompt, null], JSON.stringify(more));
  }
  await issuer.complete(arrival);
  await issuer.begin();
  assert.equal(browser.went.at(-1).searchParams.get('prompt'), null);
});

test('a page that is not secure says so', async () => {
  const browser = { ...browserAt(`${origin}/board`), crypto: {} };
  await assert.rejects(createIssuer(configuration, { browser, fetch: async () => assert.fail('nothing is asked') }).begin(), { message: /begins with https/ });
});

/** A session at an issuer of the test, which keeps what it was asked. */
function session({ browser = browserAt(`${origin}/board`), isBusy = () => false, refresh, signed, ...options } = {}) {
  const issuer = { begin: mock.fn(async () => {}), complete: mock.fn(async () => signed), refresh: mock.fn(async () => refresh()), leave: mock.fn() };
  const fetch = async () => Response.json(configuration, { headers: { date: new Date().toUTCString() } });
  return { issuer, browser, session: createSession({ storage: browser.sessionStorage, browser, fetch, isBusy, sign: () => issuer, ...options }) };
}

/** A session whose issuer is the true one, but leaves nowhere. */
function at(browser) {
  const issuer = { begin: mock.fn(async () => {}) };
  const made = session({ browser, sign: (...given) => Object.assign(createIssuer(...given), issuer) });
  return { ...made, issuer };
}

const start = Date.parse('2026-01-01T00:00:00Z');
const ada = (more) => ({ token: 't1', sub: 'ada', name: 'Ada', email: 'ada@example.com', expiresAt: Date.now() + 300_000, ...more });
const settled = () => new Promise(setImmediate);

const listenerOf = (browser, name) => browser.addEventListener.mock.calls.find(({ arguments: [given] }) => given === name).arguments[1];

/** Signs in, five minutes before the token expires. */
async function signedIn(t, { more, ...options } = {}) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start });
  const made = session({ browser: browserAt(`${origin}/board?code=c&state=s`), signed: ada(more), ...options });
  assert.deepEqual(await made.session.headers(), { Authorization: 'Bearer t1' });
  return made;
}

test('a load signs in silently once, if somebody was signed in before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const fresh = session();
  await fresh.session.start();
  assert.equal(fresh.issuer.begin.mock.callCount(), 0);
  assert.deepEqual(await fresh.session.headers(), {});
  const browser = browserAt(`${origin}/board`, memory(), memory({ 'taggie:signed-in': 'yes' }));
  const again = session({ browser });
  void again.session.start();
  await settled();
  assert.deepEqual(again.issuer.begin.mock.calls.map(({ arguments: call }) => call), [[{ silent: true, signed: null }]]);
  assert.equal(again.session.get().loaded, false, 'the page waits for the redirect');
});

test('a page that cannot leave for the issuer says why, and can be signed in', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start });
  const signedBefore = () => browserAt(`${origin}/board`, memory(), memory({ 'taggie:signed-in': 'yes' }));
  const lost = { browser: signedBefore(), load: mock.fn(() => Promise.reject(new TypeError('no chunk'))) };
  const { session: first } = session({ browser: lost.browser, sign: (given, options) => createIssuer(given, { ...options, load: lost.load }) });
  await first.start();
  assert.deepEqual([first.get().loaded, first.get().mode], [true, 'issuer']);
  assert.match(first.get().problem, /^A part of this page could not be loaded/);
  lost.load.mock.mockImplementation(() => import('../src/oauth.js'));
  await first.signIn();
  assert.equal(lost.browser.went.length, 1);

  const { session: second } = session({ browser: signedBefore() });
  const started = second.start();
  await settled();
  t.mock.timers.tick(10_000);
  await started;
  assert.match(second.get().problem, /^The issuer cannot be reached/);
});

test('a session that ends in a page that cannot leave is ended, with the reason', async (t) => {
  const { session, issuer } = await signedIn(t);
  issuer.begin.mock.mockImplementation(() => Promise.reject(new Trouble('No way.')));
  for (let second = 0; second < 300; second += 10) {
    t.mock.timers.tick(10_000);
    await settled();
  }
  assert.deepEqual([session.get().ended, session.get().problem], [true, 'No way.']);
  assert.ok(issuer.begin.mock.callCount() > 1, 'it was tried again');
});

test('the refresh token gets the next token, and the user stays the same', async (t) => {
  const { session, issuer } = await signedIn(t, { more: { refresh: 'r' }, refresh: async () => ada({ token: 't2', refresh: 'r2' }) });
  const who = identity(session.get());
  t.mock.timers.tick(240_000);
  await settled();
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t2' });
  assert.equal(identity(session.get()), who);
  assert.equal(issuer.begin.mock.callCount(), 0);
});

test('without a refresh token the page redirects when nobody types, and says that the session has ended when somebody does', async (t) => {
  let busy = true;
  const { session, issuer } = await signedIn(t, { isBusy: () => busy });
  for (let second = 0; second < 300; second += 10) {
    t.mock.timers.tick(10_000);
    await settled();
  }
  assert.equal(session.get().ended, true);
  assert.equal(issuer.begin.mock.callCount(), 0);
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t1' }, 'the server says that it has expired');
  await session.signIn();
  assert.deepEqual(issuer.begin.mock.calls[0].arguments, [{ signed: session.get().signed }]);
  t.mock.timers.reset();

  busy = false;
  const idle = await signedIn(t, { isBusy: () => busy });
  t.mock.timers.tick(240_000);
  await settled();
  assert.deepEqual(idle.issuer.begin.mock.calls[0].arguments, [{ silent: true, signed: idle.session.get().signed }]);
});

test('an issuer that is away is asked again, and the page is not left; one that refuses the refresh token is asked by a redirect', async (t) => {
  const answers = [Promise.reject(new Error('away')), null];
  answers[0].catch(() => {});
  const { session, issuer } = await signedIn(t, { more: { refresh: 'r' }, refresh: () => answers.shift() });
  t.mock.timers.tick(240_000);
  await settled();
  assert.equal(issuer.begin.mock.callCount(), 0);
  assert.equal(session.get().signed.token, 't1');
  t.mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(issuer.begin.mock.calls[0].arguments, [{ silent: true, signed: session.get().signed }]);
});

test('a session outlives its token while nobody answers', async (t) => {
  let away = true;
  const refresh = async () => {
    if (away) throw new Error('away');
    return ada({ token: 't2', refresh: 'r2' });
  };
  const { session, issuer } = await signedIn(t, { more: { refresh: 'r' }, isBusy: () => true, refresh });
  t.mock.timers.setTime(start + 3_600_000); // a laptop slept
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t1' });
  for (let retry = 0; retry < 3; retry++) {
    t.mock.timers.tick(10_000);
    await settled();
    assert.equal(session.get().ended, false);
  }
  assert.equal(issuer.refresh.mock.callCount(), 4);
  away = false;
  t.mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t2' });
});

test('a token that the server refuses is replaced once, and then the session has ended', async (t) => {
  const tokens = ['t2', 't3'];
  const { session, issuer } = await signedIn(t, { more: { refresh: 'r' }, refresh: async () => ada({ token: tokens.shift(), refresh: 'r' }) });
  const first = await session.headers();
  await Promise.all([session.refused(first), session.refused(first)]);
  assert.equal(issuer.refresh.mock.callCount(), 1);
  assert.equal(await session.refused(first), true, 'what was refused may be sent again');
  const second = await session.headers();
  assert.deepEqual(second, { Authorization: 'Bearer t2' });
  await session.refused({});
  assert.equal(session.get().ended, false, 'others than the present one do not matter');
  assert.equal(await session.refused(second), false);
  assert.deepEqual([session.get().ended, issuer.refresh.mock.callCount()], [true, 1]);
  t.mock.timers.tick(240_000);
  await settled();
  assert.deepEqual([session.get().ended, (await session.headers()).Authorization], [false, 'Bearer t3'], 'the next token may do');
});

/** What creates clients of the board in a window of its own. */
function boardOf(t) {
  globalThis.window = { location: new URL(`${origin}/board`) };
  globalThis.WebSocket ??= Object.assign(function () {}, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 }); // which is not opened
  t.after(() => delete globalThis.window);
  return (session) => createBoardClient(session, () => {}, () => {});
}

test('requests tell the session that their token was refused', async (t) => {
  t.mock.method(globalThis, 'fetch', async () => Response.json({ errors: [{ message: 'No.' }] }, { status: 401 }));
  const board = boardOf(t);
  const signed = { Authorization: 'Bearer t1' };
  const session = { authorization: async () => signed, headers: async () => signed, refused: mock.fn() };
  const ask = createAsk(session);
  await ask({ query: '{ __typename }' });
  for await (const part of await createFetcher(session, ask)({ query: '{ __typename }' }, {})) assert.ok(part.errors);
  await board(session).client.query('{ __typename }', {}).toPromise();
  const told = session.refused.mock.calls.map(({ arguments: [given] }) => new Headers(given).get('authorization'));
  assert.deepEqual(told, ['Bearer t1', 'Bearer t1', 'Bearer t1']);
});

test('the board sends again what was refused, when there is another token', async (t) => {
  const board = boardOf(t);
  const tokens = ['t1', 't2'];
  t.mock.method(globalThis, 'fetch', async (_, { headers }) => (headers.get('authorization') === 'Bearer t2' ? Response.json({ data: { a: 1 } }) : Response.json({ errors: [{ message: 'No.' }] }, { status: 401 })));
  const { client } = board({ authorization: async () => ({ Authorization: `Bearer ${tokens.shift()}` }), refused: async () => true });
  assert.deepEqual((await client.query('{ a }', {}).toPromise()).data, { a: 1 });
});

test('a refused token without a refresh token ends the session', async (t) => {
  const { session, issuer } = await signedIn(t);
  await session.refused(await session.headers());
  assert.equal(session.get().ended, true);
  assert.equal(issuer.begin.mock.callCount(), 0);
});

test('who signs out is signed out in all tabs', async (t) => {
  const { session, issuer, browser } = await signedIn(t);
  const listener = listenerOf(browser, 'storage');
  listener({ key: 'taggie:signed-in', newValue: 'no' });
  assert.ok(session.get().signed);
  listener({ key: 'taggie:signed-in', newValue: null });
  assert.deepEqual(await session.headers(), {});
  session.signOut();
  assert.equal(issuer.leave.mock.callCount(), 1);
});

test('a page that the browser kept aside looks whether somebody has signed out', async (t) => {
  const { session, browser } = await signedIn(t, {});
  const listener = listenerOf(browser, 'pageshow');
  browser.localStorage.setItem('taggie:signed-in', 'yes');
  listener({ persisted: true });
  browser.localStorage.removeItem('taggie:signed-in');
  listener({ persisted: false });
  assert.ok(session.get().signed);
  listener({ persisted: true });
  assert.equal(session.get().signed, null);
});

test('a sign-out in another tab counts more than a sign-in that was under way', async () => {
  for (const leaves of ['before the return', 'while tokens are asked for']) {
    const { browser, arrival, issuer, fetch } = await returned({ silent: true });
    const other = createIssuer({ ...configuration, provider: { ...configuration.provider, end_session_endpoint: undefined } }, { browser, fetch });
    if (leaves === 'before the return') other.leave();
    const done = assert.rejects(issuer.complete(arrival), { message: /signed out in another tab/ }, leaves);
    other.leave();
    await done;
    assert.equal(browser.localStorage.getItem('taggie:signed-in'), null);
  }
});

test('the next load asks nothing by itself only if the issuer said something', async () => {
  const signedIn = 'taggie:signed-in';
  const away = await returned({ silent: true });
  const offline = createIssuer(configuration, { browser: away.browser, fetch: async () => new Response('', { status: 503 }) });
  await assert.rejects(offline.complete(away.arrival), /cannot be reached/);
  assert.equal(away.browser.localStorage.getItem(signedIn), 'yes');

  const forged = await returned({ silent: true });
  await assert.rejects(forged.issuer.complete({ ...forged.arrival, pending: null }), /not begun in this tab/);
  assert.equal(forged.browser.localStorage.getItem(signedIn), 'yes');

  const refused = await returned({ silent: true, says: { error: 'login_required' } });
  await assert.rejects(refused.issuer.complete(refused.arrival), /ended/);
  assert.equal(refused.browser.localStorage.getItem(signedIn), 'no');
});

test('somebody else of the demo data is signed in, also after a reload', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const storage = memory();
  const people = [{ name: 'Ada', email: 'ada@example.com' }, { name: 'José', email: 'jose@example.com' }];
  const fetch = async (url) => {
    const email = new URL(url, origin).searchParams.get('email') ?? people[0].email;
    const user = people.find((person) => person.email === email);
    return user ? Response.json({ token: `token of ${user.name}`, user, people, expiresAt: new Date(Date.now() + 600_000).toISOString() }) : new Response('', { status: 422 });
  };
  const first = createSession({ storage, fetch });
  const headers = async (session) => (await session.headers()).Authorization;
  assert.equal(await headers(first), 'Bearer token of Ada');
  const who = identity(first.get());
  await first.usePerson('jose@example.com');
  assert.equal(await headers(first), 'Bearer token of José');
  assert.notEqual(identity(first.get()), who);
  assert.equal(await headers(createSession({ storage, fetch })), 'Bearer token of José');
  people.pop();
  assert.equal(await headers(createSession({ storage, fetch })), 'Bearer token of Ada', 'who is not there any more');
});
