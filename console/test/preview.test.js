import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatOf, preview, records } from '../src/board/manage/preview.ts';

const meanings = ({ columns }) => Object.fromEntries(columns.map(({ name, meaning }) => [name, meaning]));

test('the format is that of the name, or else of the text', () => {
  assert.equal(formatOf('items.CSV', '{'), 'CSV');
  assert.equal(formatOf('items.ndjson', 'a,b'), 'JSON_LINES');
  assert.equal(formatOf('items.txt', ' {"a":1}'), 'JSON_LINES');
  assert.equal(formatOf('items', 'a,b'), 'CSV');
});

test('records of CSV have commas, quotes and line breaks within quotes', () => {
  assert.deepEqual(records('a,b\r\n"x, ""y""\nz",2\n\n3,', true, 9), [['a', 'b'], ['x, "y"\nz', '2'], ['3', '']]);
});

test('the last record of a part of a file is left out, because it may be cut', () => {
  assert.deepEqual(records('a,b\n1,2\n3,4', false, 9), [['a', 'b'], ['1', '2']]);
  assert.deepEqual(records('a,b\n1,2\n3,4', true, 2), [['a', 'b'], ['1', '2']]);
});

test('columns that an import does not know become metadata', () => {
  const seen = preview('\uFEFFexternalId,name,year\nm1,Map,1871\nm2\n', 'CSV', true);
  assert.equal(seen.problem, '');
  assert.equal(meanings(seen).year, 'metadata');
  assert.deepEqual(seen.rows, [['m1', 'Map', '1871'], ['m2', '', '']]);
});

test('an export is read as one: its results are left out', () => {
  const head = 'externalId,name,type,url,status,category,subcategory,keywords,finishedBy,finishedByName,team,finishedAt,efforts,metadata';
  const seen = meanings(preview(`${head}\n${','.repeat(13)}\n`, 'CSV', true));
  assert.deepEqual([seen.status, seen.metadata, seen.url], ['left out: it is a result', 'metadata', 'where it can be seen']);
});

test('what is missing is named, with what to do', () => {
  assert.match(preview('id,name\n1,Map\n', 'CSV', true).problem, /no column “externalId” in the header row\. Add it/);
  assert.match(preview('externalId,name\n', 'CSV', true).problem, /no rows below its header row/);
  const long = `{"name":"${'x'.repeat(99)}`;
  for (const format of ['CSV', 'JSON_LINES']) {
    const { problem, warning } = preview(long, format, false);
    assert.equal(problem, '');
    assert.match(warning, /too long to be shown/);
  }
  const unnamed = preview('{"externalId":"1"}\n', 'JSON_LINES', true);
  assert.equal(unnamed.problem, '');
  assert.match(unnamed.warning, /no field “name” in the first lines\. The import leaves out each line without it/);
  assert.match(preview('no object\n', 'JSON_LINES', true).problem, /Write one object on each line/);
  for (const isWhole of [true, false]) assert.match(preview('[{"externalId":"1"', 'JSON_LINES', isWhole).problem, /one JSON list\. Write each object on a line of its own/);
});

test('lines of JSON that are mistakes do not hide the others', () => {
  const seen = preview('{"externalId":"m1","name":"Map","metadata":{"year":1871}}\nnonsense\n{"externalId":"m2","name":"Plan","year":3}\n{"cut', 'JSON_LINES', false);
  assert.deepEqual(seen.rows, [['m1', 'Map', '{"year":1871}', ''], ['m2', 'Plan', '', '3']]);
  assert.equal(meanings(seen).year, 'not known: write it into metadata');
  assert.equal(seen.problem, '');
});
