import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { SetContextLink } from '@apollo/client/link/context';
import { relayStylePagination } from '@apollo/client/utilities';
import possibleTypes from '../operations/generated/possibleTypes.json' with { type: 'json' };

/** An Apollo Client for Taggie: a token for each request, and a cache that knows its unions, interfaces and connections. */
export function createClient(uri: string, token: () => Promise<string>) {
  const authorization = new SetContextLink(async ({ headers }) => ({
    headers: { ...headers, authorization: `Bearer ${await token()}` },
  }));
  return new ApolloClient({
    link: ApolloLink.from([authorization, new HttpLink({ uri })]),
    cache: new InMemoryCache({
      possibleTypes, // without it `... on Problem` matches nothing
      typePolicies: {
        // In keyArgs stand the arguments that make another list, which are all but first, last, after and before.
        User: { fields: { notes: relayStylePagination(['due']), sharedNotes: relayStylePagination() } },
        Project: { fields: { items: relayStylePagination(['status']) } },
      },
    }),
  });
}
