// How GraphiQL reaches the server: POST for queries and mutations, a socket for subscriptions.

import { createGraphiQLFetcher } from '@graphiql/toolkit';

const plainAccept = 'application/graphql-response+json, application/json;q=0.9';

/** Creates the fetcher that signs each operation with the session's headers. */
export function createFetcher(session) {
  const url = 'graphql';

  async function signedFetch(input, init) {
    const { query } = JSON.parse(init.body);
    const headers = new Headers(await session.headers());
    // What the visitor writes in the header editor wins.
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    // The toolkit offers multipart/mixed for everything; only @defer needs it, and the newer media type has better status codes.
    if (!/@defer\b/.test(query)) headers.set('accept', plainAccept);
    return fetch(input, { ...init, headers });
  }

  // The schema's own queries cost no DynamoDB call, and their answer has no place for extensions.
  async function schemaFetcher(params, { headers } = {}) {
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(params),
      headers: { 'content-type': 'application/json', accept: plainAccept, ...(await session.authorization()), ...headers },
    });
    return response.json();
  }

  return createGraphiQLFetcher({ url, fetch: signedFetch, schemaFetcher, wsClient: lazySocket(session, url) });
}

/** A graphql-ws client that is loaded and made at the first subscription: most visits need none. */
function lazySocket(session, path) {
  let client;
  async function connect() {
    const { createClient } = await import('graphql-ws');
    const url = new URL(path, window.location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    // Asked for each connection, so that a reconnect carries a fresh token.
    return createClient({ url: url.href, connectionParams: () => session.authorization() });
  }
  return {
    subscribe(payload, sink) {
      let stop;
      let stopped = false;
      client ??= connect();
      client.then(
        (socket) => {
          if (!stopped) stop = socket.subscribe(payload, sink);
        },
        (error) => {
          client = undefined;
          sink.error(error);
        },
      );
      return () => {
        stopped = true;
        stop?.();
      };
    },
  };
}
