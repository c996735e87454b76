import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import {
  concatAST,
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  parse,
  validate,
  visit,
} from 'graphql';
import { ofFile } from './schemas.ts';

const directory = new URL('../operations/', import.meta.url);

let schema: GraphQLSchema;
let document: DocumentNode; // of all files: code generators read them together
before(async () => {
  schema = await ofFile();
  const files = (await readdir(directory)).filter((name) => name.endsWith('.graphql'));
  document = concatAST(await Promise.all(files.map(async (name) => parse(await readFile(new URL(name, directory), 'utf8')))));
});

const named = (definition: DefinitionNode) => ('name' in definition ? definition.name?.value : undefined);

test('the operations fit the schema', () => {
  assert.deepEqual(validate(schema, document).map(String), []); // names are unique, fragments used, by the rules of GraphQL
});

test('every operation has a name, and no fragment has the same', () => {
  const names = document.definitions.map(named);
  for (const name of names) assert.match(name ?? '', /^[A-Z]\w*$/, 'a class is named after it');
  assert.equal(new Set(names).size, names.length);
});

test('no name is one that Apollo iOS refuses', () => {
  const refused: string[] = [];
  visit(document, {
    Field({ alias, name }) {
      if (['__data', 'fragments', 'Fragments', '_'].includes((alias ?? name).value)) refused.push((alias ?? name).value);
    },
    Variable({ name }) {
      if (['self', 'Self', '_'].includes(name.value)) refused.push(name.value);
    },
    FragmentDefinition({ name }) {
      if (['Fragments', 'fragments'].includes(name.value)) refused.push(name.value);
    },
  });
  assert.deepEqual(refused, []);
});

// The generated class of a union tells its members apart by it. Generators add it everywhere; other clients must ask.
test('where a union or an interface is selected, its __typename is too', () => {
  const lacking: string[] = [];
  const field = (set: { kind: Kind; name?: { value: string } }) => set.kind === Kind.FIELD && set.name?.value === '__typename';
  visit(document, {
    Field({ name, selectionSet }) {
      const chooses = selectionSet?.selections.some(({ kind }) => kind === Kind.INLINE_FRAGMENT);
      if (chooses && !selectionSet?.selections.some(field)) lacking.push(name.value);
    },
  });
  assert.deepEqual(lacking, []);
});

test('the README says of each scalar of ours how it travels', async () => {
  const readme = await readFile(new URL('README.md', directory), 'utf8');
  const ours = Object.values(schema.getTypeMap()).filter(isScalarType).filter((type) => !isSpecifiedScalarType(type));
  for (const { name } of ours) assert.match(readme, new RegExp(`^\\| \`${name}\` \\|`, 'm'), name);
});
