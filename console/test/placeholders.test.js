import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildSchema, parse, validate } from 'graphql';
import { fillPlaceholders, hasPlaceholders, idsQuery } from '../src/placeholders.js';
import { exampleTabs } from '../src/queries.js';

const data = {
  viewer: { projects: { nodes: [{ id: 'p', categories: [{ id: 'c' }, { id: 'd' }], viewerClaims: [{ id: 'i', claim: { token: 't"' } }] }] } },
};

test('the question fits the schema', () => {
  const schema = buildSchema(readFileSync(new URL('../../schema.graphqls', import.meta.url), 'utf8'));
  assert.deepEqual(validate(schema, parse(idsQuery)), []);
});

test('the variables of all examples can be filled', () => {
  const texts = exampleTabs.map(({ variables = '' }) => variables);
  assert.equal(texts.filter(hasPlaceholders).length, 3);
  for (const text of texts) {
    const filled = fillPlaceholders(text, data);
    assert.equal(hasPlaceholders(filled), false);
    assert.doesNotMatch(filled, /"[A-Z_]{4,}"/, 'no placeholder is unknown');
    if (filled) JSON.parse(filled);
  }
});

test('each placeholder has its own id', () => {
  const text = '{"a": ["PROJECT_ID", "PROJECT_ID"], "b": "CATEGORY_ID", "c": "ITEM_ID", "d": "TOKEN", "e": "MY ITEM_ID"}';
  assert.deepEqual(JSON.parse(fillPlaceholders(text, data)), { a: ['p', 'p'], b: 'c', c: 'i', d: 't"', e: 'MY ITEM_ID' });
});

test('what is not known stays as it is', () => {
  const text = '{"p": "PROJECT_ID", "i": "ITEM_ID"}';
  const nodes = (node) => ({ viewer: { projects: { nodes: node } } });
  for (const nothing of [undefined, null, {}, { viewer: null }, { viewer: { projects: null } }, nodes([])]) {
    assert.equal(fillPlaceholders(text, nothing), text);
  }
  for (const claims of [null, [], [{ id: null, claim: null }]]) {
    assert.equal(fillPlaceholders(text, nodes([{ id: 'p', categories: null, viewerClaims: claims }])), '{"p": "p", "i": "ITEM_ID"}');
  }
});
