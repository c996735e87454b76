// Runs what is in an unpacked archive as its user would, without anything else on PATH, and prints what was run: `node try.mjs <version>
// <directory> [--emulated]`. An archive without DynamoDB is tried on that of this machine, which DYNAMODB_OF_HOST names.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [version, directory, emulated] = process.argv.slice(2);
const patience = emulated ? 600_000 : 120_000;
const elsewhere = mkdtempSync(join(tmpdir(), 'taggie-try-'));
const embedded = existsSync(join(directory, 'dynoxide'));
const env = { PATH: '/nonexistent', HOME: elsewhere, TAGGIE_ADDR: '127.0.0.1:0' };
const children = [];

// until repeats a question until its answer is not undefined. What it asks may not be there yet.
async function until(what, ask) {
  let last;
  for (const end = Date.now() + patience; Date.now() < end; await sleep(50)) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`${what} did not happen`, { cause: last });
}

function start(program, args, options) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  child.log = '';
  child.stderr.on('data', (data) => { child.log += data; });
  child.on('error', (error) => { child.log += error; });
  children.push(child);
  return child;
}

// serve starts the server, and returns its address when it is ready.
async function serve(program, options) {
  const server = start(program, ['serve'], options);
  const url = await until('the start of the server', () => {
    assert.equal(server.exitCode, null, server.log);
    return /msg=listening url=(\S+)/.exec(server.log)?.[1];
  });
  await until('readiness', async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
  return { server, url };
}

async function stop({ server }) {
  server.kill('SIGTERM');
  const [code] = server.exitCode === null ? await once(server, 'exit') : [server.exitCode];
  assert.equal(code, 0, server.log);
}

async function page(url, path, text) {
  const answer = await fetch(url + path);
  assert.equal(answer.status, 200, path);
  assert.ok((await answer.text()).includes(text), `${path} has ${text}`);
}

async function ask(url, token, query) {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const { data, errors } = await (await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).json();
  assert.equal(errors, undefined);
  return data;
}

// freePort returns a port that nobody uses at the moment.
async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

const run = (...args) => execFileSync('./taggie', args, { cwd: directory, env, encoding: 'utf8' }).trim();
const notes = '{ viewer { notes(first: 5) { nodes { title } } } }';

try {
  assert.equal(run('version'), version);
  if (!embedded) {
    const port = await freePort();
    start(process.env.DYNAMODB_OF_HOST, ['serve', '--host', '127.0.0.1', '--port', String(port)]);
    Object.assign(env, { AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`, AWS_REGION: 'local', AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local', TAGGIE_SECRET: randomBytes(32).toString('base64') });
    await until('an answer of DynamoDB', async () => (await fetch(env.AWS_ENDPOINT_URL_DYNAMODB)).ok || undefined);
    run('tables', 'apply');
  }
  const first = await serve('./taggie', { cwd: directory, env });
  await page(first.url, '/', '<title>');
  await page(first.url, '/board', '<script');
  const token = run('token', '--email', 'ada@example.com');
  if (!embedded) {
    await ask(first.url, token, 'mutation { createUser(input: { name: "Ada", email: "ada@example.com" }) { user { id } } }');
    await ask(first.url, token, 'mutation { createNote(input: { title: "A note", content: "kept" }) { note { id } } }');
  }
  if (embedded) await until('the demo data', () => existsSync(join(directory, 'data', 'demo-loaded')) || undefined);
  const before = (await ask(first.url, token, notes)).viewer;
  assert.equal(before.notes.nodes.length, embedded ? 5 : 1);
  await stop(first);

  // Again from another directory, by a symbolic link, with the data of before.
  symlinkSync(join(directory, 'taggie'), join(elsewhere, 'taggie'));
  mkdirSync(join(elsewhere, 'cwd'));
  const second = await serve(join(elsewhere, 'taggie'), { cwd: join(elsewhere, 'cwd'), env: { ...env, TAGGIE_DATA: join(directory, 'data') } });
  assert.deepEqual((await ask(second.url, token, notes)).viewer, before);
  await stop(second);

  const how = emulated ? ' under qemu-user' : '';
  const stores = embedded ? 'on embedded stores, with demo data' : "on a DynamoDB of the machine that made the archive, and the archive's S3 and Redis";
  console.log(`\`taggie serve\`${how} ${stores}: pages, API, a second start through a symbolic link`);
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(elsewhere, { recursive: true });
}
