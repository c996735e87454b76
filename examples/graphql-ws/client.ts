import { createClient as createSocketClient } from 'graphql-ws';
import WebSocket from 'ws'; // a browser has its own

/** A graphql-ws client for Taggie: one socket for all subscriptions, opened again for as long as somebody wants to see them. */
export function createClient(url: string, token: () => Promise<string>, keepAlive = 10_000) {
  let silent: ReturnType<typeof setTimeout>;
  const client = createSocketClient({
    url,
    webSocketImpl: WebSocket,
    connectionParams: async () => ({ authorization: `Bearer ${await token()}` }), // asked for at each connection: the old one may have expired
    retryAttempts: Infinity, // with growing pauses
    shouldRetry: () => true, // a server that cannot be reached, too; the library itself gives up where there is no point
    keepAlive, // and where the server does not answer to that, the phone may have changed its network:
    on: {
      ping(received) {
        if (!received) silent = setTimeout(() => client.terminate(), keepAlive);
      },
      pong: () => clearTimeout(silent),
      closed: () => clearTimeout(silent),
    },
  });
  return client;
}
