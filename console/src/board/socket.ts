// The socket of the board's subscription. It is opened again for as long as the page is, and asks for what comes behind the last
// message that was seen.
import { createClient, type Client } from 'graphql-ws';
import type { Session } from './session';

/** How the connection is; refused is one whose token is not valid, or not any more. */
export type Connection = 'connecting' | 'live' | 'cut' | 'refused';

/** Whether nothing comes in for now. */
export const isLost = (connection: Connection) => connection === 'cut' || connection === 'refused';

const KEEP_ALIVE_MS = 10_000;
const PONG_MS = 5_000;
const LONGEST_WAIT_MS = 5_000;
const FORBIDDEN = 4403;

/** Opens sockets as the session's user, and tells how they are. */
export function createSocket(session: Session, url: string, tell: (connection: Connection) => void): Client {
  let frozen: ReturnType<typeof setTimeout> | undefined;
  let lost: Connection = 'cut'; // how it was lost last
  let signed = {}; // what it was opened with last
  const client = createClient({
    url,
    connectionParams: async () => (signed = await session.authorization()),
    keepAlive: KEEP_ALIVE_MS,
    retryAttempts: Infinity,
    retryWait: (retries) => wait(Math.min(500 * 2 ** retries, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2)),
    // Nonsense in place of the protocol, and a token that was refused, too: the proxy may have its day, and the next token may do.
    shouldRetry: () => true,
    on: {
      connecting: (again) => tell(again ? lost : 'connecting'),
      connected: () => tell('live'),
      closed: (event) => {
        clearTimeout(frozen);
        lost = (event as CloseEvent | undefined)?.code === FORBIDDEN ? 'refused' : 'cut';
        if (lost === 'refused') void session.refused(signed);
        tell(lost);
      },
      // A network that is gone may close nothing.
      ping: (received) => {
        if (!received) frozen = setTimeout(() => client.terminate(), PONG_MS);
      },
      pong: (received) => {
        if (received) clearTimeout(frozen);
      },
    },
  });
  return client;
}

/** Waits for the time to pass, or for the browser to be on the network again. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener('online', done);
  });
}

type Sink = Parameters<Client['subscribe']>[1];
type Payload = { query: string; variables: Record<string, unknown> };

/**
 * Subscribes so that a new socket goes on behind the last cursor: graphql-ws sends the payload anew on each socket, and what is told in
 * between changes it.
 */
export function resume(client: Pick<Client, 'subscribe'>, request: { query?: string | null; variables?: unknown }, sink: Sink): () => void {
  const payload: Payload = { query: request.query ?? '', variables: { ...(request.variables as object) } };
  return client.subscribe(payload, {
    ...sink,
    next(result) {
      for (const message of Object.values(result.data ?? {}) as { cursor?: string }[]) {
        if (message?.cursor) payload.variables.after = message.cursor;
      }
      sink.next(result);
    },
    error: (cause) => sink.error(cause),
    complete: () => sink.complete(),
  });
}
