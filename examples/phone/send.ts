import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';

/** Sends one operation. Refused says that it was not carried out, and never will be as it is; other errors pass. */
export type Send = <Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables, signal: AbortSignal) => Promise<Data>;

/** The server has refused an operation. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Sends over HTTP, and waits for an answer no longer than that: a phone may have changed its network. */
export function sender(url: string, token: () => Promise<string>, patience = 15_000): Send {
  return async (document, variables, signal) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        accept: 'application/graphql-response+json',
        'content-type': 'application/json',
        authorization: `Bearer ${await token()}`,
      },
      body: JSON.stringify({ query: print(document), variables }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
    });
    const { data, errors } = await response.json();
    if (!errors) return data;
    if (errors.some((error: any) => error.extensions?.retryable)) throw new Error(errors[0].message);
    throw new Refused(errors[0].extensions?.code ?? 'INTERNAL', errors[0].message);
  };
}
