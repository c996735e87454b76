import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createSession } from '../src/session.js';
import { createSocket } from '../src/socket.js';

const query = 'subscription { onlineCount }';

/** A server: each connection goes by the next of the scripts, and the last one stays. */
function server(...scripts) {
  const connections = [];
  class FakeSocket {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSING = 2;
    static CLOSED = 3;
    readyState = FakeSocket.CONNECTING;
    received = [];
    constructor() {
      connections.push(this);
      const script = scripts.length > 1 ? scripts.shift() : scripts[0];
      setImmediate(() => script(this));
    }
    open() {
      this.readyState = FakeSocket.OPEN;
      this.onopen();
    }
    /** What browsers do when there is nobody: an event without a word, then a close event. */
    fail() {
      this.onerror?.(new Event('error'));
      this.drop(1006);
    }
    drop(code, reason = '') {
      this.readyState = FakeSocket.CLOSED;
      this.onclose?.({ code, reason });
    }
    say(message) {
      this.onmessage({ data: JSON.stringify(message) });
    }
    send(text) {
      const message = JSON.parse(text);
      this.received.push(message);
      setImmediate(() => this.heard?.(message));
    }
    close(code) {
      this.readyState = FakeSocket.CLOSED;
      this.closedWith = code;
      setImmediate(() => this.onclose?.({ code, reason: '' }));
    }
  }
  return { connections, options: { webSocketImpl: FakeSocket, retryWait: async () => {} } };
}

/** Acknowledges, and answers a subscription. */
const willing = (answer) => (socket) => {
  socket.heard = (message) => {
    if (message.type === 'connection_init') socket.say({ type: 'connection_ack' });
    if (message.type === 'subscribe') answer(socket, message.id);
  };
  socket.open();
};
const tell = (n) => willing((socket, id) => socket.say({ type: 'next', id, payload: { data: { onlineCount: n } } }));
const refuse = (socket) => {
  socket.heard = () => socket.drop(4403, 'the token is not valid');
  socket.open();
};
const away = (socket) => socket.fail();

/** A session whose demo token is another one each time it is asked for. */
function newSession(mode = 'demo') {
  let n = 0;
  const map = new Map([['taggie:mode', mode]]);
  return createSession({
    storage: { getItem: (key) => map.get(key) ?? null, setItem: (key, value) => map.set(key, value), removeItem: (key) => map.delete(key) },
    fetch: async () => Response.json({ token: `t${++n}`, expiresAt: new Date(Date.now()).toISOString() }),
  });
}

/** Subscribes; next() resolves with what comes next: {next}, {error} or {complete}. */
function subscribe(session, { options }) {
  const came = [];
  const waiting = [];
  const put = (thing) => (waiting.length ? waiting.shift()(thing) : came.push(thing));
  const stop = createSocket(session, 'ws://taggie.example/graphql', options).subscribe(
    { query },
    { next: (next) => put({ next }), error: (error) => put({ error }), complete: () => put({ complete: true }) },
  );
  const next = () => (came.length ? Promise.resolve(came.shift()) : new Promise((resolve) => waiting.push(resolve)));
  return { stop, next, came };
}

const online = (n) => ({ next: { data: { onlineCount: n } } });
const trouble = (message) => ({ next: { errors: [{ message: `${message} Connecting again…` }] } });
const failure = (message) => ({ error: [{ message }] });
const init = (connection) => connection.received[0].payload;

function onServer(name, scripts, body) {
  test(name, { timeout: 5_000 }, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] }); // the session's renewal must not keep the test alive
    await body(server(...scripts));
  });
}

onServer('a lost connection is told, and opened again with a fresh token', [tell(1), tell(2)], async (server) => {
  const { next } = subscribe(newSession(), server);
  assert.deepEqual(await next(), online(1));
  server.connections[0].drop(1012, 'the server shuts down');
  assert.deepEqual(await next(), trouble('The server closed the connection: the server shuts down (1012).'));
  assert.deepEqual(await next(), online(2));
  const tokens = server.connections.map((connection) => init(connection).Authorization);
  assert.match(tokens[0], /^Bearer t\d+$/);
  assert.match(tokens[1], /^Bearer t\d+$/);
  assert.notEqual(tokens[0], tokens[1]);
});

onServer('a server that is away is tried six times', [away], async (server) => {
  const { next, came } = subscribe(newSession(), server);
  for (let i = 0; i < 5; i++) assert.deepEqual(await next(), trouble('The server cannot be reached.'));
  assert.deepEqual(await next(), failure('The server cannot be reached.'));
  assert.equal(server.connections.length, 6);
  assert.deepEqual(came, []);
});

onServer('a server that comes back is found', [tell(1), away, away, tell(2)], async (server) => {
  const { next } = subscribe(newSession(), server);
  assert.deepEqual(await next(), online(1));
  server.connections[0].drop(1006);
  assert.deepEqual(await next(), trouble('The connection was lost (1006).'));
  assert.deepEqual(await next(), trouble('The server cannot be reached.'));
  assert.deepEqual(await next(), trouble('The server cannot be reached.'));
  assert.deepEqual(await next(), online(2));
});

onServer('a token that is refused is not sent again', [refuse], async (server) => {
  const session = newSession();
  session.refused = mock.fn();
  const { next } = subscribe(session, server);
  assert.deepEqual(await next(), failure('The server closed the connection: the token is not valid (4403).'));
  assert.equal(server.connections.length, 1);
  assert.deepEqual(session.refused.mock.calls.map(({ arguments: call }) => call), [[init(server.connections[0])]]);
});

onServer('a token that has expired is replaced', [tell(1), tell(2)], async (server) => {
  const { next } = subscribe(newSession(), server);
  await next();
  server.connections[0].drop(4403, 'the token has expired');
  assert.deepEqual(await next(), trouble('The server closed the connection: the token has expired (4403).'));
  assert.deepEqual(await next(), online(2));
});

onServer('a token that has expired for good ends it', [tell(1), refuse], async (server) => {
  const { next } = subscribe(newSession(), server);
  await next();
  server.connections[0].drop(4403, 'the token has expired');
  await next();
  assert.deepEqual(await next(), failure('The server closed the connection: the token is not valid (4403).'));
  assert.equal(server.connections.length, 2);
});

onServer('signing out opens the connection again, without a token', [tell(1), tell(2)], async (server) => {
  const session = newSession();
  const { next } = subscribe(session, server);
  await next();
  session.signOut();
  assert.deepEqual(await next(), trouble('Who is signed in has changed.'));
  assert.deepEqual(await next(), online(2));
  assert.equal(server.connections[0].closedWith, 4499);
  assert.deepEqual(init(server.connections[1]), {});
});

onServer('a renewal leaves the connection alone', [tell(1)], async (server) => {
  const session = newSession();
  const { next, came } = subscribe(session, server);
  await next();
  await session.start();
  session.setCost(true);
  assert.equal(server.connections[0].closedWith, undefined);
  assert.deepEqual(came, []);
});

const deny = willing((socket, id) => socket.say({ type: 'error', id, payload: [{ message: 'no', extensions: { code: 'NOT_FOUND' } }] }));
onServer('errors of the operation are those of the server', [deny], async (server) => {
  const { next } = subscribe(newSession(), server);
  assert.deepEqual(await next(), { error: [{ message: 'no', extensions: { code: 'NOT_FOUND' } }] });
});

onServer('a server that speaks something else is given up', [(socket) => (socket.open(), socket.say({ type: 'hello' }))], async (server) => {
  const { error } = await subscribe(newSession(), server).next();
  assert.equal(error.length, 1);
  assert.ok(error[0].message);
  assert.equal(server.connections.length, 1);
});

onServer('the last subscription closes the connection', [tell(1)], async (server) => {
  const { next, stop, came } = subscribe(newSession(), server);
  await next();
  stop();
  await new Promise(setImmediate);
  assert.deepEqual(server.connections[0].received.map(({ type }) => type), ['connection_init', 'subscribe', 'complete']);
  assert.equal(server.connections[0].closedWith, 1000);
  assert.deepEqual(came, []);
});

const end = willing((socket, id) => socket.say({ type: 'complete', id }));
onServer('a stream that the server ends is over', [end], async (server) => {
  assert.deepEqual(await subscribe(newSession(), server).next(), { complete: true });
});

onServer('nothing is opened for a subscription that was stopped at once', [tell(1)], async (server) => {
  subscribe(newSession(), server).stop();
  const second = subscribe(newSession(), server); // once this one has an answer, the first one would have been opened
  assert.deepEqual(await second.next(), online(1));
  assert.equal(server.connections.length, 1);
});
