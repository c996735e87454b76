import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { buildSchema, getNamedType, GraphQLSchema, isObjectType, lexicographicSortSchema, printSchema, specifiedDirectives } from 'graphql';
// @ts-expect-error: the path of its program, without a type
import relayCompiler from 'relay-compiler';
import { brokenRules, connectionFields } from './connections.ts';
import { ofFile, ofServer } from './schemas.ts';

test('the server tells the schema that the file has', async () => {
  const [served, written] = (await Promise.all([ofServer(), ofFile()])).map((schema) => {
    const types = new GraphQLSchema({ ...schema.toConfig(), directives: specifiedDirectives }); // @defer is of the server alone
    return printSchema(lexicographicSortSchema(types));
  });
  assert.equal(served, written);
});

test('every connection of the running server keeps the rules', async () => {
  const schema = await ofServer();
  const found = new Set(connectionFields(schema).map(([, field]) => getNamedType(field.type).name));
  const named = Object.keys(schema.getTypeMap()).filter((name) => name.endsWith('Connection'));
  assert.deepEqual([...found].sort(), named.sort(), 'each is used');
  assert.deepEqual(brokenRules(schema), []);
});

// Relay and the caches of Apollo and urql know an object by its id, and Relay by that alone.
test('what has an id is a Node', async () => {
  const schema = await ofServer();
  const others = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .filter((type) => String(type.getFields().id?.type) === 'ID!' && !type.getInterfaces().some(({ name }) => name === 'Node'));
  assert.deepEqual(others.map(String), []);
});

const sound = `
  scalar Cursor
  interface Node { id: ID! }
  type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: Cursor endCursor: Cursor }
  type Thing implements Node { id: ID! }
  type ThingEdge { cursor: Cursor! node: Thing }
  type ThingConnection { edges: [ThingEdge!]! pageInfo: PageInfo! }
  type Query { node(id: ID!): Node things(first: Int, after: Cursor, last: Int, before: Cursor): ThingConnection }`;

test('a schema that keeps the rules breaks none', () => assert.deepEqual(brokenRules(buildSchema(sound)), []));

for (const [from, to, sentence] of [
  ['hasNextPage: Boolean!', 'hasNextPage: Boolean', 'PageInfo.hasNextPage is no Boolean!'],
  ['startCursor: Cursor', 'startCursor: Int', 'PageInfo.startCursor is no text'],
  ['Node { id: ID! }\n  type PageInfo', 'Node { name: String id: ID }\n  type PageInfo', 'Node is no interface with id: ID!'],
  ['node(id: ID!): Node', 'node(key: ID!): Node', 'Query.node takes something else than id: ID!'],
  ['): Node', '): Node!', 'Query.node returns no Node, or is never null'],
  ['pageInfo: PageInfo!', 'pageInfo: PageInfo', 'ThingConnection.pageInfo is no PageInfo!'],
  ['edges: [ThingEdge!]!', 'edges: ThingEdge!', 'ThingConnection.edges is no list'],
  ['edges: [ThingEdge!]!', 'edges: [Node!]!', 'ThingConnection.edges is no list of objects'],
  ['node: Thing }', 'node: [Thing] }', 'ThingEdge.node is missing, or a list'],
  ['cursor: Cursor!', 'cursor: Int!', 'ThingEdge.cursor is no text'],
  ['(first: Int, after: Cursor, last: Int, before: Cursor)', '', 'Query.things cannot be paged'],
  ['after: Cursor', 'after: Int', 'Query.things(after:) is no Cursor, or not optional'],
  ['first: Int', 'first: String', 'Query.things(first:) is no Int'],
  ['before: Cursor', 'below: Cursor', 'Query.things(before:) is no Cursor, or not optional'],
  ['type ThingConnection {', 'interface ThingConnection {', 'ThingConnection is no object type, but its name says that it is a connection'],
] as const) {
  test(`it is found that ${sentence}`, () => {
    const broken = sound.replace(from, to);
    assert.notEqual(broken, sound);
    assert.ok(brokenRules(buildSchema(broken, { assumeValid: true })).includes(sentence));
  });
}

test('relay-compiler takes a pagination fragment of every connection', async () => {
  const schema = await ofFile();
  const modules = connectionFields(schema).map(([type, field]) => {
    const name = `${type.name}_${field.name}`;
    const forward = field.args.some((argument) => argument.name === 'first');
    const needed = field.args.filter((argument) => String(argument.type).endsWith('!') && argument.defaultValue === undefined);
    assert.ok(forward, `${name} can be paged forward`);
    assert.deepEqual(needed.filter((argument) => !['ID!', 'String!'].includes(String(argument.type))).map(String), []);
    const others = needed.map((argument) => `, ${argument.name}: "x"`).join('');
    return `graphql\`
      fragment ${name}_list on ${type.name} @argumentDefinitions(cursor: { type: "Cursor" }) {
        ${field.name}(first: 10, after: $cursor${others}) @connection(key: "${name}_${field.name}") {
          edges { node { __typename } }
        }
      }\``;
  });

  const directory = await mkdtemp(path.join(tmpdir(), 'taggie-relay-'));
  try {
    await mkdir(path.join(directory, 'src'));
    await writeFile(path.join(directory, 'schema.graphql'), printSchema(schema));
    await writeFile(path.join(directory, 'relay.config.json'), JSON.stringify({ src: 'src', schema: 'schema.graphql', language: 'typescript' }));
    await Promise.all(modules.map((text, i) => writeFile(path.join(directory, 'src', `module${i}.ts`), text)));
    const { stdout } = await promisify(execFile)(relayCompiler, ['--output', 'verbose'], { cwd: directory });
    assert.match(stdout, new RegExp(`compiled documents: ${modules.length} reader`));
  } finally {
    await rm(directory, { recursive: true });
  }
});
