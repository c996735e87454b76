// Clients as their documentation makes them: nothing here tells any of them when to try again, or how often.

import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { Client as UrqlClient, fetchExchange, subscriptionExchange } from '@urql/core';
import { createClient as createEventClient } from 'graphql-sse';
import { createClient, type Client } from 'graphql-ws';
import WebSocket from 'ws'; // a browser has its own

/** What somebody sees of a subscription. */
export interface Sight {
  messages: Record<string, any>[];
  errors: unknown[];
  complete: boolean;
}

/** A client that is tested. */
export interface Stock {
  name: string;
  /** Begins to; the variables are given what was seen so far, when it begins again. */
  watch(query: string, variables: (sight: Sight) => Record<string, unknown>): Sight;
  /** With which codes its sockets were closed; an event stream has none. */
  codes: number[];
  stop(): void;
}

type Told = { data?: unknown; errors?: readonly unknown[]; error?: unknown };

function seeing() {
  const sight: Sight = { messages: [], errors: [], complete: false };
  return {
    sight,
    next({ data, errors, error }: Told) {
      if (errors?.length) sight.errors.push(...errors);
      if (error) sight.errors.push(error);
      if (data) sight.messages.push(data);
    },
    error: (error: unknown) => void sight.errors.push(error),
    complete: () => void (sight.complete = true),
  };
}

/** All of them. */
export function clients(origin: string, token: string): Stock[] {
  const url = `${origin}/graphql`;
  const authorization = `Bearer ${token}`;
  const sockets: Client[] = [];
  const socket = (codes: number[]) => {
    const client = createClient({ url: url.replace(/^http/, 'ws'), webSocketImpl: WebSocket, connectionParams: { authorization } });
    client.on('closed', (event) => codes.push((event as CloseEvent).code));
    sockets.push(client);
    return client;
  };

  const own: number[] = [];
  const plain = socket(own);
  const apolloCodes: number[] = [];
  const apollo = new ApolloClient({ link: new GraphQLWsLink(socket(apolloCodes)), cache: new InMemoryCache() });
  const urqlCodes: number[] = [];
  const urqlSocket = socket(urqlCodes);
  const urql = new UrqlClient({
    url,
    preferGetMethod: false,
    exchanges: [
      subscriptionExchange({
        forwardSubscription: (request) => ({
          subscribe: (sink) => ({ unsubscribe: urqlSocket.subscribe({ ...request, query: request.query ?? '' }, sink as never) }),
        }),
      }),
      fetchExchange,
    ],
  });
  const events = createEventClient({ url, headers: { authorization } });

  return [
    {
      name: 'graphql-ws',
      codes: own,
      watch(query, variables) {
        const sees = seeing();
        const request = { query, get variables() { return variables(sees.sight); } }; // read again at each connection
        plain.subscribe(request, sees as never);
        return sees.sight;
      },
      stop: () => void plain.dispose(),
    },
    {
      name: 'Apollo Client',
      codes: apolloCodes,
      watch(query, variables) {
        const sees = seeing();
        apollo.subscribe({ query: gql(query), variables: variables(sees.sight), errorPolicy: 'all' }).subscribe(sees);
        return sees.sight;
      },
      stop() {
        apollo.stop();
        void sockets[1]?.dispose();
      },
    },
    {
      name: 'urql',
      codes: urqlCodes,
      watch(query, variables) {
        const sees = seeing();
        // It tells of an end by no longer being active, which the server's `complete` brings about.
        urql.subscription(query, variables(sees.sight)).subscribe((result) => {
          if (result.hasNext) sees.next(result);
          else sees.complete(); // with the last result once more
        });
        return sees.sight;
      },
      stop: () => void urqlSocket.dispose(),
    },
    {
      name: 'graphql-sse',
      codes: [],
      watch(query, variables) {
        const sees = seeing();
        const request = { query, get variables() { return variables(sees.sight); } };
        events.subscribe(request, sees as never);
        return sees.sight;
      },
      stop: () => events.dispose(),
    },
  ];
}
