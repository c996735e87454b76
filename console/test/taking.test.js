import assert from 'node:assert/strict';
import { test } from 'node:test';
import { take } from '../src/board/manage/taking.ts';

const found = [{ path: 'herbarium/1.png', file: new File(['1'], '1.png', { type: 'image/png' }) }];

/** A page that shows a project, and may show or do something else before the folder is read. */
function page() {
  const p = { viewer: { id: 'ada' }, project: { id: 'p' }, isBusy: false, chosen: [] };
  const taker = { get: () => ({ viewer: p.viewer, project: p.project }), folders: { isBusy: () => p.isBusy, choose: async (...what) => void p.chosen.push(what.slice(0, 3)) } };
  p.takeWhile = (change) => take(taker, Promise.resolve().then(() => (change(), found)));
  return p;
}

test('a folder is taken for the project that is shown', async () => {
  const p = page();
  assert.equal(await p.takeWhile(() => {}), '');
  assert.deepEqual(p.chosen, [['ada', 'p', 'herbarium']]);
});

test('a folder that was read for long is not taken for somebody else, for another project, or over what is under way', async () => {
  for (const [change, said] of [
    [(p) => (p.viewer = { id: 'bea' }), /Choose the folder again/],
    [(p) => (p.viewer = null), /Choose the folder again/],
    [(p) => (p.project = { id: 'q' }), /Choose the folder again/],
    [(p) => (p.isBusy = true), /on their way/],
  ]) {
    const p = page();
    assert.match(await p.takeWhile(() => change(p)), said);
    assert.deepEqual(p.chosen, []);
  }
});
