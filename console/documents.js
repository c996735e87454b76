// Writes what the board and the desk ask, as urql sends it, beside the pages that were built: the server trusts these documents. The name begins
// with a dot because it is no page.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequest, stringifyDocument } from '@urql/core';
import * as board from './src/board/gql/graphql.ts';
import * as desk from './src/desk/gql/graphql.ts';

const texts = [...Object.entries(board), ...Object.entries(desk)]
  .filter(([name]) => name.endsWith('Document'))
  .map(([, document]) => stringifyDocument(createRequest(document, {}).query));
const byHash = Object.fromEntries(texts.map((text) => [createHash('sha256').update(text).digest('hex'), text]));
writeFileSync(new URL('dist/.documents.json', import.meta.url), JSON.stringify(byHash));
