import { createClient as createEventClient } from 'graphql-sse';

/** A graphql-sse client for Taggie, in distinct connections mode: a request for each subscription, for networks that refuse sockets. */
export function createClient(url: string, token: () => Promise<string>) {
  return createEventClient({
    url,
    headers: async () => ({ authorization: `Bearer ${await token()}` }), // asked for at each request: the old one may have expired
    retryAttempts: 10, // with growing pauses; not for ever, because the library takes a refusal for a bad network
  });
}
