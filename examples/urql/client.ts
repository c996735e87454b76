import { Client, fetchExchange } from '@urql/core';
import { authExchange } from '@urql/exchange-auth';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import schema from '../operations/generated/schema.json' with { type: 'json' };

/** A urql client for Taggie: a normalised cache that knows the schema, and a token that is asked for again when it was refused. */
export function createClient(url: string, token: () => Promise<string>) {
  return new Client({
    url,
    exchanges: [
      cacheExchange({
        schema: schema as never, // tells what `... on Problem` can be; its JSON has a wider type than the library asks for
        resolvers: {
          User: { notes: relayPagination(), sharedNotes: relayPagination() },
          Project: { items: relayPagination() },
        },
      }),
      authExchange(async ({ appendHeaders }) => {
        let bearer = await token();
        return {
          addAuthToOperation: (operation) => appendHeaders(operation, { Authorization: `Bearer ${bearer}` }),
          didAuthError: ({ graphQLErrors }) => graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED'),
          async refreshAuth() {
            bearer = await token();
          },
        };
      }),
      fetchExchange,
    ],
  });
}
