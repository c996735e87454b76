import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resume } from '../src/board/socket.ts';
import { matching } from '../src/board/options.ts';

test('a new socket asks for what comes behind the last cursor', () => {
  let payload;
  let sink;
  const client = {
    subscribe(p, s) {
      payload = p;
      sink = s;
      return () => {};
    },
  };
  const seen = [];
  const variables = { project: 'p' };
  resume(client, { query: 'subscription', variables }, { next: (result) => seen.push(result), error() {}, complete() {} });
  assert.equal(payload.variables.after, undefined);
  sink.next({ data: { projectEvents: { __typename: 'ProjectSnapshot', cursor: 'c1' } } });
  sink.next({ data: { projectEvents: { __typename: 'ProjectEvent', cursor: 'c2' } } });
  sink.next({ data: { projectEvents: { __typename: 'ProjectGap', message: '' } } });
  sink.next({ data: null, errors: [] });
  assert.equal(payload.variables.after, 'c2');
  assert.equal(seen.length, 4);
  assert.deepEqual(variables, { project: 'p' }, 'what was asked with stays as it is');
});

test('options by what was typed', () => {
  const options = ['Harbour and ships', 'Portraits', 'Ports', 'Work and craft', 'Sport'].map((name) => ({ id: name, name }));
  const found = (typed) => matching(options, typed).map(({ name }) => name);
  assert.deepEqual(found('port'), ['Portraits', 'Ports', 'Sport']);
  assert.deepEqual(found('SHIPS'), ['Harbour and ships']);
  assert.deepEqual(found('craft '), ['Work and craft']);
  assert.deepEqual(found('zebra'), []);
  assert.equal(found(' ').length, options.length);
});
