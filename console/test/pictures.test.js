import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictureSources, readAddress, readPolicy } from '../src/board/pictures.ts';

test('which pictures a policy allows', () => {
  assert.deepEqual(pictureSources("default-src 'none'; img-src 'self' data: http://127.0.0.1:9; base-uri 'none'"), ["'self'", 'data:', 'http://127.0.0.1:9']);
  assert.equal(pictureSources("default-src 'none'"), null);
  assert.equal(pictureSources(null), null);
});

test('what may be shown: from the page, and from the sources of its policy', async () => {
  const page = new URL('https://board.example/board#page=work');
  const fetch = async () => new Response('', { headers: { 'Content-Security-Policy': "img-src 'self' data: https://pics.example" } });
  const { mayShow, mayShowInText } = await readPolicy(fetch, page);
  assert.equal(mayShow('https://pics.example/a.jpg'), true);
  assert.equal(mayShow('/a.jpg'), true);
  assert.equal(mayShow('https://other.example/a.jpg'), false);
  for (const unreadable of ['https://pics.example:99999/a.jpg', 'https://a<b/x', 'https://1.2.3.999/x']) {
    assert.equal(mayShow(unreadable), false, unreadable);
    assert.equal(readAddress(unreadable), null, unreadable);
  }
  assert.deepEqual(['https://pics.example/a.jpg', '/a.jpg', 'https://other.example/a.jpg'].map(mayShowInText), [true, true, false]);
});

test('when the policy cannot be read, pictures of items are tried, and texts have none', async () => {
  const page = new URL('https://board.example/board#page=work');
  const { mayShow, mayShowInText } = await readPolicy(() => Promise.reject(new Error('no network')), page);
  assert.equal(mayShow('https://pics.example/a.jpg'), true);
  assert.equal(mayShow('https://pics.example:99999/a.jpg'), false);
  for (const url of ['https://pics.example/a.jpg', '/a.jpg', 'https://pics.example:99999/a.jpg']) assert.equal(mayShowInText(url), false, url);
});

test('an address that an import told', () => {
  assert.equal(readAddress('https://pics.example/a b.jpg').href, 'https://pics.example/a%20b.jpg');
  assert.equal(readAddress(null), null);
  assert.equal(readAddress(''), null);
});
