import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolders } from '../src/board/manage/folder.ts';
import { createMemoryLedger } from '../src/board/manage/ledger.ts';
import { look } from '../src/board/manage/picked.ts';
import { refused, settled, unavailable } from './board.js';
import { memory } from './memory.js';

const picture = (path) => ({ path, file: new File([path], path.split('/').at(-1), { type: 'image/png', lastModified: 7 }) });
const folderOf = (count) => look(Array.from({ length: count }, (_, i) => picture(`herbarium/${i}.png`)));

/** A server that keeps what it is asked, and answers as it would unless `answers` has another answer for the moment. */
function world() {
  const asked = [];
  const sent = [];
  const answers = { RequestUpload: [], CompleteUpload: [], ImportItems: [] };
  const items = new Map(); // by idempotency key
  const usual = {
    RequestUpload({ idempotencyKey }) {
      if (!items.has(idempotencyKey)) items.set(idempotencyKey, `item ${items.size}`);
      return { data: { requestUpload: { upload: { itemId: items.get(idempotencyKey), put: { method: 'PUT', url: 'http://bucket', headers: [] } }, problem: null } } };
    },
    CompleteUpload: ({ itemId }) => ({ data: { completeUpload: { item: { id: itemId }, problem: null } } }),
    ImportItems: () => ({ data: { importItems: { import: { id: 'import' }, problem: null } } }),
  };
  const client = {
    mutation: (document, { input }) => ({
      toPromise: async () => {
        const name = document.definitions[0].name.value;
        asked.push([name, input]);
        const answer = answers[name].shift();
        return typeof answer === 'function' ? answer(input) : (answer ?? usual[name](input));
      },
    }),
  };
  const w = { asked, sent, answers, items, ledger: createMemoryLedger(), storage: memory(), statuses: [], most: 0, waits: [] };
  let under = 0;
  const held = new Set();
  /** The page, as after a reload: only the ledger and the storage are the same. */
  w.page = () =>
    createFolders({
      client,
      ledger: w.ledger,
      storage: w.storage,
      sum: async () => 'sum',
      pause: async (ms) => void w.waits.push(ms),
      only: async (name, act) => {
        if (held.has(name)) return false;
        held.add(name);
        await act();
        return held.delete(name);
      },
      send: async (_, file, tell, unwanted) => {
        under += 1;
        w.most = Math.max(w.most, under);
        await new Promise(setImmediate);
        under -= 1;
        if (unwanted.aborted) return 0;
        tell(file.size);
        sent.push(file.name);
        return w.statuses.shift() ?? 200;
      },
    });
  w.named = (wanted) => asked.filter(([name]) => name === wanted).map(([, input]) => input);
  return w;
}

const reached = (page, phase) =>
  new Promise((resolve) => {
    const stop = page.subscribe(() => {
      if (page.get()?.phase !== phase) return;
      stop();
      resolve(page.get());
    });
  });

async function bring(page, picked) {
  await page.choose('ada', 'p', 'herbarium', picked);
  const end = reached(page, 'done');
  page.start();
  return end;
}

test('pictures go up four at a time, and become items in batches of up to 500', async () => {
  const w = world();
  const folder = await bring(w.page(), folderOf(1003));
  assert.deepEqual([folder.total, folder.up, folder.brought, folder.sent], [1003, 1003, 1003, folder.bytes]);
  assert.equal(w.most, 4);
  const given = w.named('ImportItems').map(({ itemIds }) => itemIds);
  assert.deepEqual(given.map(({ length }) => length), [500, 500, 3]);
  assert.equal(new Set(given.flat()).size, 1003);
  const [first] = w.named('RequestUpload');
  assert.deepEqual([first.name, first.setName, first.type, first.size, first.sha256], ['0.png', 'herbarium', 'image/png', 'herbarium/0.png'.length, 'sum']);
  assert.ok(w.waits.length > 900 && w.waits.every((ms) => ms > 0), 'it leaves room for what else the page asks');
});

test('files for the library alone are done when they are up, and known again', async () => {
  const w = world();
  const page = w.page();
  const go = async () => {
    await page.choose('ada', '', 'herbarium', folderOf(3));
    page.start();
    while (page.get().phase === 'going') await new Promise(setImmediate);
    return page.get();
  };
  const { phase, up, brought } = await go();
  assert.deepEqual([phase, up, brought, w.named('ImportItems').length], ['done', 3, 3, 0]);
  assert.equal(page.unfinished('ada', ''), '');
  assert.deepEqual([(await go()).before, w.sent.length], [3, 3]);
});

test('after a reload only the rest goes up, and nothing twice', async () => {
  const w = world();
  const before = w.page();
  await before.choose('ada', 'p', 'herbarium', folderOf(20));
  w.answers.CompleteUpload = Array.from({ length: 9 }, () => undefined);
  w.answers.CompleteUpload.push((input) => {
    before.clear(); // the page is left before it has the answer
    return { data: { completeUpload: { item: { id: input.itemId }, problem: null } } };
  });
  before.start();
  while (before.get()) await new Promise(setImmediate);
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate); // what was under way has ended
  assert.equal(w.named('ImportItems').length, 0);

  const page = w.page();
  assert.equal(page.unfinished('ada', 'p'), 'herbarium');
  assert.equal(page.unfinished('bea', 'p'), '');
  const sentBefore = w.sent.length;
  const folder = await bring(page, folderOf(20));
  assert.equal(folder.brought, 20);
  assert.ok(sentBefore >= 10, String(sentBefore));
  assert.equal(new Set(w.sent).size, 20);
  assert.equal(w.sent.length, 20, 'no bytes twice');
  assert.equal(w.items.size, 20, 'no item twice');
  assert.equal(page.unfinished('ada', 'p'), '');

  await page.choose('ada', 'p', 'herbarium', folderOf(21));
  assert.deepEqual([page.get().before, page.get().up], [20, 20]);
});

test('what is brought again is given to the project again, and goes up only if the library has it no longer', async () => {
  const w = world();
  await bring(w.page(), folderOf(20));
  const page = w.page();
  await page.choose('ada', 'p', 'herbarium', folderOf(20));
  await page.giveAgain();
  assert.deepEqual([page.get().before, page.get().up, page.get().brought], [0, 20, 0]);
  w.answers.ImportItems.push(({ itemIds }) => ({ data: { importItems: { import: null, problem: { message: 'unknown', itemId: itemIds[7] } } } }));
  const done = reached(page, 'done');
  page.start();
  assert.equal((await done).brought, 20);
  assert.deepEqual([w.sent.length, w.items.size], [21, 21]);
  const keys = w.named('ImportItems').map(({ idempotencyKey }) => idempotencyKey);
  assert.equal(new Set(keys).size, 2, 'the server does not answer from memory');
});

test('the same folder in two tabs is brought once', async () => {
  const w = world();
  const one = w.page();
  const other = w.page();
  for (const page of [one, other]) await page.choose('ada', 'p', 'herbarium', folderOf(9));
  const done = reached(one, 'done');
  const stopped = reached(other, 'stopped');
  one.start();
  other.start();
  assert.match((await stopped).problem, /^Another tab/);
  await done;
  await settled(); // the other tab may begin
  const also = reached(other, 'done');
  other.start();
  const folder = await also;
  assert.deepEqual([folder.brought, folder.before, folder.sent], [9, 9, folder.bytes]);
  assert.deepEqual([w.sent.length, w.items.size, w.named('ImportItems').length], [9, 9, 1]);
});

test('what another tab has done while this one was stopped is known when it goes on', async () => {
  const w = world();
  const one = w.page();
  await one.choose('ada', 'p', 'herbarium', folderOf(9));
  w.answers.CompleteUpload.push(refused);
  const stopped = reached(one, 'stopped');
  one.start();
  await stopped;
  for (let i = 0; i < 9; i += 1) await settled(); // what was under way has ended
  await bring(w.page(), folderOf(9));
  await settled(); // this tab may begin
  const sent = w.sent.length;
  const done = reached(one, 'done');
  one.start();
  assert.equal((await done).brought, 9);
  assert.deepEqual([w.sent.length, w.items.size], [sent, 9]);
});

test('what is given up is no longer told of, and what is up stays known', async () => {
  const w = world();
  const page = w.page();
  await page.choose('ada', 'p', 'herbarium', folderOf(3));
  w.answers.RequestUpload.push(refused);
  const stopped = reached(page, 'stopped');
  page.start();
  await stopped;
  page.clear();
  assert.equal(page.unfinished('ada', 'p'), 'herbarium', 'after a reload one is reminded');
  page.dismiss('ada', 'p');
  assert.equal(page.unfinished('ada', 'p'), '');
});

test('other users and other projects do not know what one has brought', async () => {
  const w = world();
  await bring(w.page(), folderOf(2));
  const page = w.page();
  for (const [viewer, project] of [['bea', 'p'], ['ada', 'q']]) {
    await page.choose(viewer, project, 'herbarium', folderOf(2));
    assert.equal(page.get().up, 0);
  }
});

test('what fails for a moment goes on by itself, with the same keys', async () => {
  const w = world();
  const exhausted = { error: { graphQLErrors: [{ message: 'Too much.', extensions: { code: 'EXHAUSTED', retryable: true, retryAfter: 9 } }] } };
  w.answers.RequestUpload.push(unavailable, exhausted);
  w.answers.CompleteUpload.push(unavailable);
  w.answers.ImportItems.push(unavailable);
  w.statuses.push(0, 412);
  const folder = await bring(w.page(), folderOf(1));
  assert.deepEqual([folder.brought, folder.problem], [1, '']);
  for (const name of Object.keys(w.answers)) assert.equal(new Set(w.named(name).map(({ idempotencyKey }) => idempotencyKey)).size, 1, name);
  assert.ok(w.waits.includes(9000), String(w.waits));
});

test('a file that was changed or deleted after its checksum is named, and the others go on', async () => {
  const w = world();
  const picked = folderOf(3);
  picked[0].file.slice = () => ({ arrayBuffer: async () => Promise.reject(new DOMException('changed', 'NotReadableError')) });
  w.statuses.push(0);
  const folder = await bring(w.page(), picked);
  assert.deepEqual([folder.brought, folder.refused, folder.problem], [2, 1, '']);
  assert.match(folder.pictures[0].reason, /changed or deleted\. Drop it again\./);
});

test('a limit that no waiting helps against stops it, one that passes does not', async () => {
  const w = world();
  const exhausted = (more) => ({ error: { graphQLErrors: [{ message: 'a user has at most 100000 items: delete others first', extensions: { code: 'EXHAUSTED', ...more } }] } });
  w.answers.RequestUpload.push(exhausted({ retryable: false }));
  const page = w.page();
  await page.choose('ada', 'p', 'herbarium', folderOf(1));
  const stopped = reached(page, 'stopped');
  page.start();
  assert.match((await stopped).problem, /delete others first\. Once that is done, try again\./);
  assert.equal(w.named('RequestUpload').length, 1);
  w.answers.RequestUpload.push(exhausted({ retryable: true, retryAfter: 60 }));
  const done = reached(page, 'done');
  page.start();
  assert.equal((await done).brought, 1);
  assert.ok(w.waits.includes(60_000), String(w.waits));
});

test('what the server does not take is named, and the others go on', async () => {
  const w = world();
  w.answers.CompleteUpload.push({ data: { completeUpload: { item: null, problem: { __typename: 'UploadRefused', message: 'the image cannot be read' } } } });
  const folder = await bring(w.page(), folderOf(3));
  assert.deepEqual([folder.brought, folder.refused], [2, 1]);
  assert.deepEqual(folder.pictures.filter(({ state }) => state === 'refused').map(({ reason }) => reason), ['The image cannot be read.']);
});

test('an upload that has ended meanwhile is begun anew, with another key', async () => {
  const w = world();
  const over = { error: { graphQLErrors: [{ message: 'the upload has ended', extensions: { code: 'CONFLICT' } }] } };
  w.answers.RequestUpload.push(over);
  const folder = await bring(w.page(), folderOf(1));
  assert.equal(folder.brought, 1);
  assert.equal(new Set(w.named('RequestUpload').map(({ idempotencyKey }) => idempotencyKey)).size, 2);
});

test('an item that was deleted meanwhile goes up again', async () => {
  const w = world();
  w.answers.ImportItems.push(({ itemIds }) => ({ data: { importItems: { import: null, problem: { message: 'unknown', itemId: itemIds[1] } } } }));
  const folder = await bring(w.page(), folderOf(3));
  assert.equal(folder.brought, 3);
  assert.deepEqual([w.sent.length, w.items.size], [4, 4]);
});

test('no room, or no right: it stops, says why, and goes on when it is told to', async () => {
  const w = world();
  w.answers.RequestUpload.push({ data: { requestUpload: { upload: null, problem: { message: 'There is no room.' } } } });
  const page = w.page();
  await page.choose('ada', 'p', 'herbarium', folderOf(9));
  const stopped = reached(page, 'stopped');
  page.start();
  assert.match((await stopped).problem, /no room\. Delete files/);
  w.answers.RequestUpload.push(refused);
  const again = reached(page, 'stopped');
  page.start();
  assert.match((await again).problem, /^No\./);
  const done = reached(page, 'done');
  page.start();
  assert.equal((await done).brought, 9);
  assert.equal(w.items.size, 9);
});
