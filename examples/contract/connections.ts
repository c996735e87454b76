// The rules of the Relay Cursor Connections Specification, https://relay.dev/graphql/connections.htm, as far as a schema can
// keep or break them.

import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'graphql';

/** The fields that return a connection, as [type, field]. */
export function connectionFields(schema: GraphQLSchema): [GraphQLObjectType, GraphQLField<unknown, unknown>][] {
  return Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()).map((field) => [type, field] as [typeof type, typeof field]))
    .filter(([, field]) => getNamedType(field.type).name.endsWith('Connection'));
}

/** What breaks a rule, one sentence each. */
export function brokenRules(schema: GraphQLSchema): string[] {
  const broken: string[] = [];
  const rule = (holds: boolean, sentence: string) => void (holds || broken.push(sentence));

  pageInfo(schema, rule);
  node(schema, rule);
  const cursors = new Map<string, string>(); // the type of the cursors of each connection
  for (const type of Object.values(schema.getTypeMap()).filter(({ name }) => name.endsWith('Connection'))) {
    rule(isObjectType(type), `${type.name} is no object type, but its name says that it is a connection`);
    if (isObjectType(type)) cursors.set(type.name, connection(type, rule));
  }
  for (const [type, field] of connectionFields(schema)) {
    pages(`${type.name}.${field.name}`, field, cursors.get(getNamedType(field.type).name) ?? '', rule);
  }
  return broken;
}

type Rule = (holds: boolean, sentence: string) => void;

function pageInfo(schema: GraphQLSchema, rule: Rule) {
  const type = schema.getType('PageInfo');
  if (!isObjectType(type)) return rule(false, 'PageInfo is no object type');
  const fields = type.getFields();
  for (const name of ['hasNextPage', 'hasPreviousPage']) {
    rule(String(fields[name]?.type) === 'Boolean!', `PageInfo.${name} is no Boolean!`);
  }
  for (const name of ['startCursor', 'endCursor']) {
    rule(isText(fields[name]?.type), `PageInfo.${name} is no text`);
  }
}

/** What refetching by id asks for: https://relay.dev/graphql/objectidentification.htm */
function node(schema: GraphQLSchema, rule: Rule) {
  const type = schema.getType('Node');
  rule(isInterfaceType(type) && String(type.getFields().id?.type) === 'ID!', 'Node is no interface with id: ID!');
  const field = schema.getQueryType()?.getFields().node;
  rule(String(field?.type) === 'Node', 'Query.node returns no Node, or is never null');
  const taken = field?.args.map(({ name, type }) => `${name}: ${type}`).join();
  rule(taken === 'id: ID!', 'Query.node takes something else than id: ID!');
}

function connection(type: GraphQLObjectType, rule: Rule): string {
  const { edges, pageInfo } = type.getFields();
  rule(String(pageInfo?.type) === 'PageInfo!', `${type.name}.pageInfo is no PageInfo!`);
  const list = edges && getNullableType(edges.type);
  if (!isListType(list)) {
    rule(false, `${type.name}.edges is no list`);
    return '';
  }
  const edge = getNullableType(list.ofType);
  if (!isObjectType(edge)) {
    rule(false, `${type.name}.edges is no list of objects`);
    return '';
  }
  const { node, cursor } = edge.getFields();
  rule(node !== undefined && !isListType(getNullableType(node.type)), `${edge.name}.node is missing, or a list`);
  rule(isText(cursor?.type), `${edge.name}.cursor is no text`);
  return cursor ? getNamedType(cursor.type).name : '';
}

/** Forward paging, backward paging, or both. */
function pages(where: string, field: GraphQLField<unknown, unknown>, cursor: string, rule: Rule) {
  const type = (name: string) => String(field.args.find((argument) => argument.name === name)?.type);
  const ways = [['first', 'after'], ['last', 'before']] as const;
  rule(ways.some(([count, position]) => type(count) !== 'undefined' && type(position) !== 'undefined'), `${where} cannot be paged`);
  for (const [count, position] of ways) {
    if (type(count) === 'undefined' && type(position) === 'undefined') continue;
    rule(['Int', 'Int!'].includes(type(count)), `${where}(${count}:) is no Int`);
    rule(type(position) === cursor, `${where}(${position}:) is no ${cursor}, or not optional`);
  }
}

/** Whether values of a type are written as text. Of our own scalars, these are. */
function isText(type: GraphQLType | undefined): boolean {
  const bare = type && (isNonNullType(type) ? type.ofType : type);
  return isScalarType(bare) && ['String', 'ID', 'Cursor'].includes(bare.name);
}
