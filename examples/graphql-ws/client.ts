import { createClient as createSocketClient } from 'graphql-ws';
import WebSocket from 'ws'; // a browser has its own

/** A graphql-ws client for Taggie: one socket for all subscriptions, opened again for as long as somebody wants to see them. */
export function createClient(url: string, token: () => Promise<string>) {
  return createSocketClient({
    url,
    webSocketImpl: WebSocket,
    connectionParams: async () => ({ authorization: `Bearer ${await token()}` }), // asked for at each connection: the old one may have expired
    retryAttempts: Infinity, // with growing pauses
    shouldRetry: () => true, // a server that cannot be reached, too; the library itself gives up where there is no point
    keepAlive: 10_000, // finds out that a phone has changed its network
  });
}
