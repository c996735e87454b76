import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv } from '../src/board/table.ts';

const one = (cell) => csv({ columns: ['x'], rows: [[cell]] }).slice(2, -1);

test('a table is written row by row, in quotes where they are needed', () => {
  const table = { columns: ['Name', 'Finished'], rows: [['Ada', 12_345], ['Grace, the "other" one', 0], ['楽譜', 7]] };
  assert.equal(csv(table), 'Name,Finished\nAda,12345\n"Grace, the ""other"" one",0\n楽譜,7\n');
  assert.equal(one('two\nlines'), '"two\nlines"');
  assert.equal(csv({ columns: ['Name'], rows: [] }), 'Name\n');
});

test('a time is written so that every program reads it', () => {
  assert.equal(one(new Date(Date.UTC(2026, 4, 3, 12, 5))), '2026-05-03T12:05:00.000Z');
});

test('no spreadsheet calculates what somebody wrote', () => {
  const cells = { '': '', a: 'a', "'a": "'a", "'": "'", '=1': "'=1", "'=1": "''=1", "''+1": "'''+1", 'a;-1': '"a;\'-1"', "a;'@b": '"a;\'\'@b"', "a'=b": "a'=b", '\t=': '"\'\t\'="', "\n'\t": '"\n\'\'\t"' };
  for (const [cell, written] of Object.entries(cells)) assert.equal(one(cell), written, JSON.stringify(cell));
  assert.equal(one(-1), '-1', 'a number is one');
});
