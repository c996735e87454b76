import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';

/** Sends one operation. Refused says that it was not carried out, and never will be as it is. After any other error, send it again. */
export type Send = <Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables, signal: AbortSignal) => Promise<Data>;

// The codes of what was not carried out. After others, such as INTERNAL, nobody knows.
const REFUSALS = ['BAD_REQUEST', 'CONFLICT', 'EXHAUSTED', 'FORBIDDEN', 'GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'INVALID_INPUT', 'NOT_FOUND', 'UNAUTHENTICATED'];

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
    // An error below a root field is about what was read after the operation was carried out.
    const refusal = errors.find(({ path, extensions }: any) => (path?.length ?? 0) <= 1 && !extensions?.retryable && REFUSALS.includes(extensions?.code));
    if (refusal) throw new Refused(refusal.extensions.code, refusal.message);
    throw new Error(errors[0].message);
  };
}
