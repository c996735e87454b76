// A server of this test's own, behind which Redis goes away and comes back.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startServer, until } from '../../e2e/server.js';

const PASSWORD = 'not-a-secret';
const DEMO_MS = 60_000; // the first start loads the demo set

/** Starts the Redis that comes with Taggie, at this port. */
async function startRedis(port = 0) {
  const child = spawn(fileURLToPath(new URL('../../bin/taggie-redis', import.meta.url)), ['--listen', `127.0.0.1:${port}`, '--die-with-stdin'], {
    env: { ...process.env, TAGGIE_REDIS_PASSWORD: PASSWORD },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return {
    port: Number(/:(\d+)$/.exec(line)?.[1]),
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Starts a server that gives up a Redis that is away after a second, and not after half a minute. */
export async function start() {
  let redis = await startRedis();
  // From here on it can be reached; the examples read this when they are loaded.
  const { openProxy } = await import('../testing/proxy.ts');
  const way = await openProxy(`redis://127.0.0.1:${redis.port}`);
  const server = await startServer({ TAGGIE_REDIS_URL: `redis://:${PASSWORD}@${way.host}/0`, TAGGIE_STREAM_PATIENCE: '1s' }).catch(async (error) => {
    way.close();
    await redis.stop();
    throw error;
  });
  async function stop() {
    await server.stop();
    way.close();
    await redis.stop();
  }
  try {
    await until('the demo set is loaded', DEMO_MS, () => server.log().includes('ready: open the page'));
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n--- the server's log ---\n${server.log()}`, { cause: error });
  }
  return {
    ...server,
    stop,
    /** Redis cannot be reached from now on; what it knows stays. */
    away: () => way.down(),
    /** It can again. */
    back: () => way.up(),
    /** Another Redis takes its place, which knows nothing. */
    async replace() {
      way.down();
      await redis.stop();
      redis = await startRedis(redis.port);
      way.up();
    },
  };
}
