import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildSchema, getVariableValues, Kind, parse, validate } from 'graphql';
import { exampleTabs, firstQuery } from '../src/queries.js';

const schema = buildSchema(readFileSync(new URL('../../schema.graphqls', import.meta.url), 'utf8'));

test('the first tab is the first query', () => {
  assert.equal(exampleTabs[0].query, firstQuery);
});

for (const { query, variables = '{}' } of exampleTabs) {
  const document = parse(query);
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);

  test(`example ${operations[0].name?.value} fits the schema`, () => {
    assert.deepEqual(validate(schema, document), []);
    assert.equal(operations.length, 1);
    assert.ok(operations[0].name, 'the name is the title of the tab');
    const { errors } = getVariableValues(schema, operations[0].variableDefinitions ?? [], JSON.parse(variables));
    assert.equal(errors, undefined);
  });
}
