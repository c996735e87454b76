import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHolder } from '../src/board/state.ts';
import { createUploads } from '../src/board/manage/uploads.ts';
import { settled, unavailable } from './board.js';

const made = { data: { createProjectImport: { import: { id: 'import' }, upload: { method: 'PUT', url: 'http://bucket', headers: [] } } } };
const started = { data: { startProjectImport: { import: { id: 'import' } } } };

/** Uploads whose server and bucket answer as they are told, one after the other. */
function uploading(answers, statuses) {
  const asked = [];
  const mutation = (document, { input }) => ({
    toPromise: async () => {
      asked.push([document.definitions[0].name.value, input]);
      return answers.shift();
    },
  });
  const holder = createHolder();
  const uploads = createUploads({ mutation }, holder, async (_, file, tell) => {
    tell(file.size);
    return statuses.shift();
  });
  return { ...holder, asked, uploads, file: new File(['abc'], 'items.csv') };
}

const names = ({ asked }) => asked.map(([name]) => name);

test('a file is announced with its size, sent, and the import is started', async () => {
  const u = uploading([made, started], [200]);
  u.uploads.send('p', u.file, 'CSV');
  await settled();
  assert.deepEqual(names(u), ['CreateImport', 'StartImport']);
  assert.deepEqual([u.asked[0][1].bytes, u.asked[0][1].format, u.asked[1][1].importId], [3, 'CSV', 'import']);
  assert.deepEqual(u.get().uploads.map(({ sent, started, problem }) => [sent, started, problem]), [[3, 'import', '']]);
});

test('what is tried again has the same keys, and a file that arrived counts', async () => {
  const u = uploading([made, made, unavailable, made, started], [0, 412, 412]);
  u.uploads.send('p', u.file, 'CSV');
  await settled();
  const [{ id, problem }] = u.get().uploads;
  assert.match(problem, /did not reach the bucket\. Check your connection, then try again/);
  u.uploads.again(id);
  await settled();
  assert.match(u.get().uploads[0].problem, /Later\. Try again in a moment\./);
  u.uploads.again(id);
  await settled();
  const keys = (wanted) => new Set(u.asked.filter(([name]) => name === wanted).map(([, input]) => input.idempotencyKey)).size;
  assert.deepEqual([keys('CreateImport'), keys('StartImport'), u.get().uploads[0].started], [1, 1, 'import']);
});

test('what was dropped is not started', async () => {
  const u = uploading([made, started], [200]);
  u.uploads.send('p', u.file, 'CSV');
  u.uploads.drop(u.get().uploads[0].id);
  await settled();
  assert.deepEqual([names(u), u.get().uploads], [['CreateImport'], []]);
});

test('what is dropped while it is sent is stopped at once', async () => {
  const mutation = () => ({ toPromise: async () => made });
  const holder = createHolder();
  let stopped = false;
  const uploads = createUploads({ mutation }, holder, (_, __, ___, unwanted) => new Promise((resolve) => unwanted.addEventListener('abort', () => resolve(((stopped = true), 0)))));
  uploads.send('p', new File(['abc'], 'items.csv'), 'CSV');
  await settled();
  uploads.drop(holder.get().uploads[0].id);
  assert.ok(stopped);
  await settled();
  assert.deepEqual(holder.get().uploads, []);
});
