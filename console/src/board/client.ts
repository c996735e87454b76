// The GraphQL client: urql, over POST, and over a socket for the subscription.
import { Client, CombinedError, createRequest, fetchExchange, mapExchange, subscriptionExchange, type TypedDocumentNode, type AnyVariables } from '@urql/core';
import { learn } from './clock';
import { createSocket, resume, type Connection } from './socket';
import type { Session } from './session';

/** Creates the client. There is no cache in it: what the board shows follows the events. It tells how the connection is, and when an answer is that something is unavailable. */
export function createBoardClient(session: Session, tell: (connection: Connection) => void, unavailable: () => void) {
  const address = new URL('graphql', window.location.href);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = createSocket(session, address.href, tell);
  const client = new Client({
    url: 'graphql',
    preferGetMethod: false,
    fetch: async (input, init) => {
      const send = (signed: Record<string, string>) => {
        const headers = new Headers(init?.headers);
        new Headers(signed).forEach((value, name) => headers.set(name, value));
        return fetch(input, { ...init, headers });
      };
      const signed = (await session.authorization()) as Record<string, string>;
      let response = await patiently(() => send(signed));
      // Nothing was carried out: it may be sent again.
      if (response.status === 401 && (await session.refused(signed))) {
        const renewed = (await session.authorization()) as Record<string, string>;
        response = await patiently(() => send(renewed));
      }
      learn(response.headers.get('date'));
      return response;
    },
    exchanges: [
      mapExchange({
        onError: (error) => {
          if (describe(error).code === 'UNAVAILABLE') unavailable();
        },
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (request) => ({ subscribe: (sink) => ({ unsubscribe: resume(socket, request, sink as never) }) }),
      }),
    ],
  });
  return { client, socket };
}

const SENT = 4; // times, at most
const LONGEST_S = 10;

/**
 * Sends a request, and sends it again, as often as it takes up to four times, when the server asks to be left alone for up to ten seconds: the
 * user's budget is used up, and nothing was carried out. Resolves to the last answer.
 */
export async function patiently(send: () => Promise<Response>, pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))): Promise<Response> {
  for (let sent = 1; ; sent += 1) {
    const response = await send();
    const seconds = Number(response.headers.get('retry-after'));
    if (response.status !== 429 || !(seconds > 0 && seconds <= LONGEST_S) || sent === SENT) return response;
    await pause(seconds * 1000);
  }
}

/** Why there is no answer, in a sentence; again says that the same may be asked later with success. */
export interface Failure {
  message: string;
  again: boolean;
  code: string;
  /** The field of the input that is wrong; empty if none is. */
  field: string;
  /** How many seconds the server wants to be left alone. */
  retryAfter?: number;
}

export type Answer<Data> = { data: Data; failure?: undefined } | { data?: undefined; failure: Failure };

let asked = 0;

/** Asks once; never rejects. The client would give the answer of the same question that is under way: it may be older than what is asked about, hence a key of its own. */
export async function ask<Data, Variables extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Answer<Data>> {
  const isMutation = document.definitions.some((part) => part.kind === 'OperationDefinition' && part.operation === 'mutation');
  const source = isMutation ? client.mutation(document, variables) : client.executeQuery<Data, Variables>({ ...createRequest(document, variables), key: -++asked }, { requestPolicy: 'network-only' });
  const { data, error } = await source.toPromise();
  // Parts of an answer may fail while the others are there.
  if (data && (!error || Object.values(data).some((part) => part !== null))) return { data };
  return { failure: describe(error) };
}

/** Says why. */
export function describe(error: CombinedError | undefined): Failure {
  const first = error?.graphQLErrors[0];
  if (first) {
    const code = String(first.extensions.code ?? '');
    const wait = first.extensions.retryAfter;
    // "input.categories.2" is about the field categories.
    const [, field = ''] = /^input\.([^.]+)/.exec(String(first.extensions.field ?? '')) ?? [];
    return { message: first.message, again: first.extensions.retryable === true || code === 'UNAVAILABLE', code, field, ...(typeof wait === 'number' && { retryAfter: wait }) };
  }
  if (error?.networkError) return { message: 'The server cannot be reached.', again: true, code: '', field: '' };
  return { message: 'The server gave no answer.', again: true, code: '', field: '' };
}
