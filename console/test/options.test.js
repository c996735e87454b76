import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canBeNumbered, numbered } from '../src/board/options.ts';

const options = ['Music', 'Text', 'Nothing'].map((name) => ({ id: name, name }));

test('digits stand for the first nine options', () => {
  assert.equal(numbered(options, '1').name, 'Music');
  assert.equal(numbered(options, '3').name, 'Nothing');
  for (const key of ['0', '4', 'Enter', 'a', '12']) assert.equal(numbered(options, key), undefined, key);
});

test('digits are typed where a name has a word that begins with one', () => {
  assert.equal(canBeNumbered(options), true);
  assert.equal(canBeNumbered([...options, { id: 'x', name: 'B2' }]), true, 'nobody begins to type with it');
  assert.equal(canBeNumbered([...options, { id: 'x', name: 'Op. 27' }]), false);
  assert.equal(canBeNumbered([...options, { id: 'x', name: '19th century' }]), false);
});
