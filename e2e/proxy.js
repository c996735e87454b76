// A network that can be cut: passes bytes on to the server, or nothing at all.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Listens on a port of its own. cut() ends all connections and refuses new ones; freeze() leaves them open, and loses what comes;
 * mend() is the end of both.
 */
export async function startProxy(origin) {
  const { hostname, port } = new URL(origin);
  const pairs = new Set();
  let cut = false;
  let frozen = false;

  const proxy = createServer((client) => {
    if (cut) return client.resetAndDestroy();
    const server = connect(Number(port), hostname);
    const pair = { client, server, lost: frozen };
    pairs.add(pair);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      from.on('data', (bytes) => pair.lost || to.write(bytes));
      from.on('error', () => {});
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');

  function end() {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }
  return {
    origin: `http://127.0.0.1:${proxy.address().port}`,
    cut() {
      cut = true;
      end();
    },
    freeze() {
      frozen = true;
      for (const pair of pairs) pair.lost = true;
    },
    mend() {
      cut = frozen = false;
    },
    stop() {
      proxy.close();
      end();
    },
  };
}
