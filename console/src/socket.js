// Subscriptions over one WebSocket (graphql-transport-ws): opened for the first, closed after the last, and opened again when
// it was lost, each time with the token of that moment. The server begins each subscription with the present state, so
// nothing has to be made up for after a pause.

import { identity } from './session.js';

const FORBIDDEN = 4403; // no valid token, or not any more
const TERMINATED = 4499; // by us

/**
 * A graphql-ws client that is loaded and made at the first subscription: most visits need none. Problems are told to the sink
 * as GraphQL errors: as a result while there will be another try, as the sink's error when it is over.
 */
export function createSocket(session, url, options = {}) {
  let client;
  return {
    subscribe(payload, sink) {
      let stop;
      let stopped = false;
      client ??= load(session, url, options);
      client.then(
        (socket) => {
          if (!stopped) stop = socket.subscribe(payload, sink);
        },
        (cause) => {
          client = undefined; // its file may be there at the next try
          if (!stopped) sink.error(errors(cause));
        },
      );
      return () => {
        stopped = true;
        stop?.();
      };
    },
  };
}

async function load(session, url, options) {
  const { createClient } = await import('graphql-ws');
  const sinks = new Set();
  let acknowledged = false; // the token was accepted
  let signed; // what it was opened with last

  const client = createClient({
    url,
    ...options,
    connectionParams: async () => (signed = await session.authorization()),
    on: {
      connecting: () => (acknowledged = false),
      connected: () => (acknowledged = true),
      closed: ({ code }) => code === FORBIDDEN && session.refused(signed),
    },
    // Only this function learns that there will be another try, so it also says so.
    shouldRetry(cause) {
      const nonsense = cause instanceof Error && !('code' in cause); // what the server sends is no graphql-transport-ws
      const again = !nonsense && (cause.code !== FORBIDDEN || acknowledged);
      if (again) for (const sink of sinks) sink.next({ errors: [{ message: `${describe(cause)} Connecting again…` }] });
      return again;
    },
  });

  // Nothing more may come in under the name of somebody who has signed out.
  let who = identity(session.get());
  session.subscribe(() => {
    const now = identity(session.get());
    if (now === who) return;
    who = now;
    client.terminate();
  });

  return {
    subscribe(payload, sink) {
      sinks.add(sink);
      // The library completes stopped subscriptions too, some of them late: by then the sink may belong to the next one.
      const stop = client.subscribe(payload, {
        next: (result) => sinks.has(sink) && sink.next(result),
        error: (cause) => sinks.delete(sink) && sink.error(errors(cause)),
        complete: () => sinks.delete(sink) && sink.complete(),
      });
      return () => {
        sinks.delete(sink);
        stop();
      };
    },
  };
}

/** What goes into "errors": what the server said of the operation, or a sentence about the connection. */
function errors(cause) {
  return Array.isArray(cause) ? cause : [{ message: describe(cause) }];
}

function describe(cause) {
  if (cause.code === TERMINATED) return 'Who is signed in has changed.';
  if (cause.reason) return `The server closed the connection: ${cause.reason} (${cause.code}).`;
  if (cause.code) return `The connection was lost (${cause.code}).`;
  if (cause instanceof Error) return cause.message;
  return 'The server cannot be reached.'; // browsers do not say why
}
