// The server that the examples run against: TAGGIE_URL, or the one that `make run` starts.

import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';

/** Where the server is. */
export const origin = (process.env.TAGGIE_URL ?? 'http://127.0.0.1:8080').replace(/\/$/, '');

/** Where operations go by HTTP, SSE included. */
export const httpUrl = `${origin}/graphql`;

/** Where operations go by WebSocket. */
export const socketUrl = httpUrl.replace(/^http/, 'ws');

/** A token: TAGGIE_TOKEN, or that of the demo user, whom the embedded issuer signs in. An app asks its identity provider. */
export async function token(): Promise<string> {
  if (process.env.TAGGIE_TOKEN) return process.env.TAGGIE_TOKEN;
  const response = await fetch(`${origin}/session`);
  if (!response.ok) throw new Error(`${origin}/session answered ${response.status}: set TAGGIE_TOKEN`);
  return ((await response.json()) as { token: string }).token;
}

/** Sends one operation over HTTP: what other people do while an example looks on. Errors end the example. */
export async function send<Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await token()}` },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown };
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
