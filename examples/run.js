// Starts a server of its own with the small demo set, and runs every example against it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { query, startServer, until } from '../e2e/server.js';

const DEMO_MS = 60_000; // the first start loads the demo set

/** The demo user's notes and the items to claim, which come last but for the scores. */
const loaded = '{ viewer { notes(first: 5) { nodes { id } } projects(first: 1) { nodes { queue { queued } } } } }';

/** Runs a program, and says whether it succeeded. */
async function run(directory, command, ...args) {
  const { token } = await (await fetch(`${server.origin}/session`)).json();
  const child = spawn(command, args, {
    cwd: new URL(directory, import.meta.url),
    env: { ...process.env, TAGGIE_URL: server.origin, TAGGIE_TOKEN: token },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  return code === 0;
}

// These are for the examples; the server refuses variables that it does not know.
delete process.env.TAGGIE_URL;
delete process.env.TAGGIE_TOKEN;

const server = await startServer();
try {
  await until('the demo set is loaded', DEMO_MS, async () => {
    const { data } = await query(server.origin, loaded);
    return data?.viewer?.notes?.nodes?.length === 5 && data.viewer.projects?.nodes[0]?.queue?.queued > 0;
  });
  const passed = [await run('.', 'npm', 'test', '--workspaces', '--if-present'), await run('genqlient', 'go', 'run', '.')];
  process.exitCode = passed.every(Boolean) ? 0 : 1;
} finally {
  await server.stop();
}
