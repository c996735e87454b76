// The schema as the file has it, and as the running server tells it.

import { readFile } from 'node:fs/promises';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { buildClientSchema, buildSchema, getIntrospectionQuery, type IntrospectionQuery, parse } from 'graphql';
import { send } from '../testing/server.ts';

/** Where schema.graphqls is. */
export const file = new URL('../../schema.graphqls', import.meta.url);

export const ofFile = async () => buildSchema(await readFile(file, 'utf8'));

export const ofServer = async () => buildClientSchema(await send(introspection, {}));

const introspection: TypedDocumentNode<IntrospectionQuery, object> = parse(
  getIntrospectionQuery({ specifiedByUrl: true, schemaDescription: true, oneOf: true }),
);
