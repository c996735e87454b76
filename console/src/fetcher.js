// How GraphiQL reaches the server: POST for queries and mutations, a socket for subscriptions.

import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { getOperationAST } from 'graphql';
import { createSocket } from './socket.js';

const url = 'graphql';
const plainAccept = 'application/graphql-response+json, application/json;q=0.9';

/** Creates what the page itself asks with: one operation as the session's user, without extensions. */
export function createAsk(session) {
  return async (params, headers) => {
    const signed = await session.authorization();
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(params),
      headers: { 'content-type': 'application/json', accept: plainAccept, ...signed, ...headers },
    });
    if (response.status === 401) void session.refused(signed);
    return response.json();
  };
}

/** Creates the fetcher that signs each operation with the session's headers. */
export function createFetcher(session, ask) {
  async function signedFetch(input, init) {
    const { query } = JSON.parse(init.body);
    const headers = new Headers(await session.headers());
    // What the visitor writes in the header editor wins.
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    // The toolkit offers multipart/mixed for everything; only @defer needs it, and the newer media type has better status codes.
    if (!/@defer\b/.test(query)) headers.set('accept', plainAccept);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 401) void session.refused({ Authorization: headers.get('authorization') ?? '' });
    return response;
  }

  const post = createGraphiQLFetcher({
    url,
    fetch: signedFetch,
    // The schema's own queries cost no DynamoDB call, and their answer has no place for extensions.
    schemaFetcher: (params, { headers } = {}) => ask(params, headers),
  });
  const socket = createSocket(session, socketUrl());

  return (params, options) => {
    const operation = options?.documentAST && getOperationAST(options.documentAST, params.operationName);
    if (operation?.operation !== 'subscription') return post(params, options);
    // An observable: the toolkit's own way to a socket leaves the promise of each failure unhandled.
    return { subscribe: (sink) => ({ unsubscribe: socket.subscribe(params, sink) }) };
  };
}

function socketUrl() {
  const address = new URL(url, window.location.href);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  return address.href;
}
