// Checks what local.sh runs, as a client that only knows nginx: HTTP/2, a socket, an event stream, and a server that stops meanwhile.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // the certificate is of today
process.removeAllListeners('warning');
const origin = 'https://127.0.0.1:8443';

const form = new URLSearchParams({
  grant_type: 'password', client_id: 'taggie', scope: 'openid email profile', username: 'ada@example.com', password: process.env.PASSWORD,
});
const answer = await (await fetch('http://127.0.0.1:5556/token', { method: 'POST', body: form })).json();
const token = answer.id_token;
assert.ok(token, JSON.stringify(answer));

// over2 sends an operation over HTTP/2, and calls read with each part of the answer until that returns true or the answer ends.
function over2(body, accept = 'application/json', read = () => false) {
  return new Promise((resolve, reject) => {
    const session = http2.connect(origin, { rejectUnauthorized: false });
    session.on('error', reject);
    const request = session.request({ ':method': 'POST', ':path': '/graphql', 'content-type': 'application/json', accept, authorization: `Bearer ${token}` });
    let text = '';
    request.setEncoding('utf8');
    request.on('error', reject);
    const end = () => { session.destroy(); resolve(text); };
    request.on('data', (part) => { text += part; if (read(text)) end(); });
    request.on('end', end);
    request.end(JSON.stringify(body));
  });
}

async function ask(query, variables) {
  const { data, errors } = JSON.parse(await over2({ query, variables }));
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

let { viewer } = await ask('{ viewer { id name } }');
if (!viewer) {
  ({ createUser: { user: viewer } } = await ask('mutation { createUser(input: { name: "Ada", email: "ada@example.com" }) { user { id name } } }'));
}
console.log(`HTTP/2 through nginx: signed in as ${viewer.name}`);

const { createProject: { project } } = await ask('mutation { createProject(input: { name: "Behind nginx", categories: ["seen"] }) { project { id } } }');
const query = 'subscription Watch($id: ID!) { projectEvents(projectId: $id) { __typename } }';
const variables = { id: project.id };

const stream = await over2({ query, variables }, 'text/event-stream', (text) => text.includes('ProjectSnapshot'));
assert.ok(stream.includes('ProjectSnapshot'), stream);
console.log('event stream through nginx: the first event came while the stream was open');

class Socket extends WebSocket {
  constructor(url, protocols) { super(url, protocols, { rejectUnauthorized: false }); }
}
const client = createClient({
  url: 'wss://127.0.0.1:8443/graphql', webSocketImpl: Socket, connectionParams: { Authorization: `Bearer ${token}` }, retryAttempts: 20,
});
const events = client.iterate({ query, variables });
assert.equal((await events.next()).value.data.projectEvents.__typename, 'ProjectSnapshot');
console.log('socket through nginx: the first event came');

// The other server takes over. If the socket was at the one that stops, the client connects again, and gets a snapshot first.
process.kill(Number(process.env.FIRST), 'SIGTERM');
const gone = async () => {
  try { await fetch('http://127.0.0.1:8081/healthz'); return false; } catch { return true; }
};
while (!await gone()) await ask('{ viewer { id } }');
for (let i = 0; i < 20; i += 1) await ask('{ viewer { id } }');
await ask('mutation Resize($id: ID!) { updateProject(input: { projectId: $id, queueSize: 7 }) { project { id } } }', variables);
assert.ok((await events.next()).value.data.projectEvents);
console.log('a server stopped: the other one answers requests, and the socket goes on');
const up = await (await fetch('http://127.0.0.1:9090/api/v1/targets')).json();
assert.deepEqual(up.data.activeTargets.map((target) => target.labels.job), ['taggie', 'taggie']);
const { data } = await (await fetch('http://127.0.0.1:9090/api/v1/rules')).json();
assert.ok(data.groups.length > 0, 'Prometheus has the alert rules');
console.log('Prometheus watches both servers, and has the alert rules');
process.exit(0);
