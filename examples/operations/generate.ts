// Makes what the TypeScript examples need of the schema and of the operations beside this file: typed documents, which
// types an interface or a union can be, and the schema as introspection gives it.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { codegen } from '@graphql-codegen/core';
import * as documents from '@graphql-codegen/typed-document-node';
import * as types from '@graphql-codegen/typescript';
import * as operations from '@graphql-codegen/typescript-operations';
import { buildSchema, introspectionFromSchema, isAbstractType, parse } from 'graphql';

const here = new URL('.', import.meta.url);
const out = new URL('generated/', here);

/** How the custom scalars travel; README.md says what they hold. */
const scalars = {
  DateTime: 'string',
  Cursor: 'string',
  EventCursor: 'string',
  NoteCursor: 'string',
  ScoreCursor: 'string',
  Int64: 'number', // exact up to 2^53 only, as JSON.parse reads it
  IndexKey: 'string | number',
  JSON: 'Record<string, unknown>',
};

const sdl = await readFile(new URL('../../schema.graphqls', here), 'utf8');
const schema = buildSchema(sdl);
const files = (await readdir(here)).filter((name) => name.endsWith('.graphql')).sort();

const typescript = await codegen({
  filename: 'documents.ts',
  schema: parse(sdl),
  documents: await Promise.all(
    files.map(async (location) => ({ location, document: parse(await readFile(new URL(location, here), 'utf8')) })),
  ),
  config: { scalars, strictScalars: true, enumsAsTypes: true, useTypeImports: true, onlyOperationTypes: true },
  plugins: [{ types: {} }, { operations: {} }, { documents: {} }],
  pluginMap: { types, operations, documents },
});

const possibleTypes = Object.fromEntries(
  Object.values(schema.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]),
);

await mkdir(out, { recursive: true });
await writeFile(new URL('documents.ts', out), typescript);
await writeFile(new URL('possibleTypes.json', out), JSON.stringify(possibleTypes, null, 2));
await writeFile(new URL('schema.graphql', out), sdl); // relay-compiler reads nothing that ends otherwise
await writeFile(new URL('schema.json', out), JSON.stringify(introspectionFromSchema(schema, { descriptions: false })));
