import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { choosePerson, chosenPerson, createSession, describeToken, readToken } from '../src/session.js';

function memory(entries = {}) {
  const map = new Map(Object.entries(entries));
  return {
    getItem: (key) => map.get(key) ?? null,
    setItem: (key, value) => map.set(key, value),
    removeItem: (key) => map.delete(key),
    map,
  };
}

/** A server whose n-th answer to GET /session holds the token t<n> for ten minutes. */
function issuer() {
  const fetch = mock.fn(async () => {
    const n = fetch.mock.callCount() + 1;
    return Response.json({ token: `t${n}`, user: { name: 'Ada' }, expiresAt: new Date(Date.now() + 600_000).toISOString() });
  });
  return fetch;
}

const start = Date.parse('2026-01-01T00:00:00Z');
const clock = (t) => t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start });

test('demo session: signed, with cost', async (t) => {
  clock(t);
  const session = createSession({ storage: memory(), fetch: issuer() });
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t1', 'Taggie-Extensions': 'dynamo, cost' });
  session.setCost(false);
  assert.deepEqual(await session.headers(), { Authorization: 'Bearer t1' });
});

test('no local issuer: anonymous, without cost', async () => {
  const session = createSession({ storage: memory(), fetch: async () => new Response(null, { status: 404 }) });
  assert.deepEqual(await session.headers(), {});
  assert.equal(session.get().problem, '');
});

test('the first operation waits for the session, and both ask once', async (t) => {
  clock(t);
  const fetch = issuer();
  const session = createSession({ storage: memory(), fetch });
  const [, a, b] = await Promise.all([session.start(), session.headers(), session.headers()]);
  assert.equal(a.Authorization, 'Bearer t1');
  assert.deepEqual(a, b);
  assert.equal(fetch.mock.callCount(), 1);
});

test('renewed by the timer a minute before the end', async (t) => {
  clock(t);
  const fetch = issuer();
  const session = createSession({ storage: memory(), fetch });
  await session.start();
  t.mock.timers.tick(539_000);
  assert.equal(fetch.mock.callCount(), 1);
  const renewed = new Promise((resolve) => session.subscribe(resolve));
  t.mock.timers.tick(1_000);
  await renewed;
  assert.equal(session.get().demo.token, 't2');
});

test('renewed by the next operation when the timer was missed', async (t) => {
  clock(t);
  const session = createSession({ storage: memory(), fetch: issuer() });
  await session.start();
  t.mock.timers.setTime(start + 590_000); // moves the clock, fires nothing
  assert.equal((await session.headers()).Authorization, 'Bearer t2');
});

test('a failing renewal keeps the token, says why, and tries again', async (t) => {
  clock(t);
  const answers = [Response.json({ token: 't1', expiresAt: new Date(start + 100_000).toISOString() })];
  const fetch = async () => answers.shift() ?? new Response('', { status: 503 });
  const session = createSession({ storage: memory(), fetch });
  await session.start();
  const failed = new Promise((resolve) => session.subscribe(resolve));
  t.mock.timers.tick(40_000);
  await failed;
  assert.match(session.get().problem, /503/);
  assert.equal(session.get().demo.token, 't1');
  answers.push(Response.json({ token: 't2', expiresAt: new Date(start + 900_000).toISOString() }));
  const again = new Promise((resolve) => session.subscribe(resolve));
  t.mock.timers.tick(10_000);
  await again;
  assert.equal(session.get().demo.token, 't2');
  assert.equal(session.get().problem, '');
});

test('an own token outlives a reload, and ends with signing out', async (t) => {
  clock(t);
  const storage = memory();
  createSession({ storage, fetch: issuer() }).useToken('a.b.c');
  const reloaded = createSession({ storage, fetch: issuer() });
  assert.equal((await reloaded.headers()).Authorization, 'Bearer a.b.c');
  reloaded.signOut();
  assert.equal((await reloaded.headers()).Authorization, undefined);
  assert.equal(JSON.stringify([...storage.map]).includes('a.b.c'), false);
  reloaded.useDemo();
  assert.equal((await reloaded.headers()).Authorization, 'Bearer t1');
});

test('tokens as people paste them', () => {
  assert.deepEqual(readToken('  Bearer a.b-_.c \n'), { token: 'a.b-_.c' });
  assert.deepEqual(readToken('a.b\n  .c'), { token: 'a.b.c' });
  for (const wrong of ['', '  ', 'bearer ', 'a.b', 'a.b.c.d', 'a.b.ü', '{"token":"a.b.c"}']) {
    const { token, problem } = readToken(wrong);
    assert.equal(token, undefined, wrong);
    assert.ok(problem, wrong);
  }
});

test('whose token it is', () => {
  const jwt = (claims) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  assert.deepEqual(describeToken(jwt({ name: 'みお', email: 'mio@example.com', exp: 2 }), 1000), { name: 'みお', fullName: 'みお', email: 'mio@example.com', expired: false });
  assert.deepEqual(describeToken(jwt({ sub: 's', exp: 1 }), 1000), { name: 's', fullName: '', email: '', expired: true });
  assert.deepEqual(describeToken('no token'), { name: '', fullName: '', email: '', expired: false });
});

test('somebody of the demo data is chosen for the pages of a window', () => {
  const storage = memory({ 'taggie:mode': 'own', 'taggie:token': 'a.b.c' });
  assert.equal(chosenPerson(storage), '');
  choosePerson('bo@example.com', storage);
  assert.equal(chosenPerson(storage), 'bo@example.com');
  const { mode, person, token } = createSession({ storage, fetch: async () => new Response(null, { status: 404 }), browser: undefined }).get();
  assert.deepEqual([mode, person, token], ['demo', 'bo@example.com', '']);
});
