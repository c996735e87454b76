// Starts a server of its own with the small demo set, and runs every example against it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startServer, until } from '../e2e/server.js';

const DEMO_MS = 60_000; // the first start loads the demo set

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

const server = await startServer();
try {
  await until('the demo set is loaded', DEMO_MS, () => {
    if (server.log().includes('the demo set is not complete')) throw new Error('it was not');
    return server.log().includes('ready: open the page');
  });
  const passed = [await run('.', 'npm', 'test', '--workspaces', '--if-present'), await run('genqlient', 'go', 'run', '.')];
  process.exitCode = passed.every(Boolean) ? 0 : 1;
} catch (error) {
  throw new Error(`${error.message}\n--- the server's log ---\n${server.log()}`, { cause: error });
} finally {
  await server.stop();
}
