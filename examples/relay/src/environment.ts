import { Environment, Network, RecordSource, Store } from 'relay-runtime';

/** A Relay environment for Taggie. */
export function createEnvironment(url: string, token: () => Promise<string>) {
  return new Environment({
    network: Network.create(async ({ text, name }, variables) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${await token()}` },
        body: JSON.stringify({ query: text, operationName: name, variables }),
      });
      return response.json();
    }),
    store: new Store(new RecordSource()),
  });
}
