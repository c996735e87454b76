// Starts the real server on a fresh data directory and an address of its own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const START_MS = 60_000;
const STOP_MS = 20_000;
const DEMO_MS = 120_000;

/**
 * Starts `taggie serve`, with further variables, and on the data that another one has kept; resolves when it is ready, rejects with its log
 * when it is not.
 */
export async function startServer(variables = {}, kept = undefined) {
  const data = kept ?? (await mkdtemp(path.join(tmpdir(), 'taggie-e2e-')));
  const address = `127.0.0.1:${await freePort()}`;
  const origin = `http://${address}${variables.TAGGIE_PATH_PREFIX ?? ''}`; // the pages are below it

  const environment = { ...process.env, ...variables, TAGGIE_DATA: data, TAGGIE_ADDR: address };
  const binary = path.resolve(here, process.env.TAGGIE_BIN ?? '../bin/taggie');
  let log = '';
  const child = spawn(binary, ['serve'], {
    cwd: path.resolve(here, '..'),
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log = (log + text).slice(-20_000);
    });
  }
  const ended = new Promise((resolve) => {
    child.on('error', (error) => resolve(`${binary}: ${error.message} (make build)`));
    child.on('exit', (code, signal) => resolve(`the server ended with ${signal ?? code}`));
  });
  let end;
  ended.then((text) => {
    end = text;
  });

  async function stop({ keep = false } = {}) {
    if (child.exitCode === null && child.signalCode === null && child.pid) {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(late);
    }
    if (!keep) await rm(data, { recursive: true, force: true });
  }

  try {
    await until(`${origin}/readyz answers 200`, START_MS, async () => {
      if (end) throw new Error(end);
      const response = await fetch(`${origin}/readyz`).catch(() => undefined);
      return response?.ok;
    });
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n--- the server's log ---\n${log}`, { cause: error });
  }

  /** A token of the local issuer for anybody. */
  async function token(email, ...flags) {
    const { stdout } = await promisify(execFile)(binary, ['token', '--email', email, ...flags], {
      cwd: path.resolve(here, '..'),
      env: environment,
    });
    return stdout.trim();
  }
  return { origin, data, stop, token, log: () => log };
}

/** Resolves when the first start of a server has loaded all of the small demo set. */
export function demoLoaded(server) {
  const marker = path.join(server.data, 'demo-loaded');
  return until('the demo set is loaded', DEMO_MS, () => access(marker).then(() => true, () => false));
}

/** Sends one operation, as the demo user unless there is a token. */
export async function query(origin, text, variables, token) {
  const session = token ? { token } : await (await fetch(`${origin}/session`)).json();
  const response = await fetch(`${origin}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${session.token}` },
    body: JSON.stringify({ query: text, variables }),
  });
  return response.json();
}

/** Asks again and again until the check gives something true; an error of the check ends it. */
export async function until(what, milliseconds, check) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds / 1000} s, but not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50)); // the pause between two looks
  }
}

// The port is free again when the server takes it; nothing else on the machine is told of it in between.
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
