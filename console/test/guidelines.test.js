import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createShelf, follow, isChanged, isConflict } from '../src/board/shelf.ts';
import { createRenderer } from '../src/board/renderer.ts';
import { memory } from './memory.js';

const first = { version: 1, text: 'Look.' };
const second = { version: 2, text: 'Look twice.' };

test('what was not changed follows the text, what was typed stays', () => {
  assert.deepEqual(follow(null, first), { typed: 'Look.', base: first });
  assert.deepEqual(follow({ typed: 'Look.', base: first }, second), { typed: 'Look twice.', base: second });
  const typed = { typed: 'Listen.', base: first };
  assert.equal(follow(typed, first), typed);
  assert.equal(follow(typed, second), typed);
  assert.deepEqual([isConflict(typed, first), isConflict(typed, second)], [false, true]);
  assert.deepEqual(follow({ typed: 'Look twice.', base: first }, second), { typed: 'Look twice.', base: second }, 'both wrote the same');
  const saved = { typed: 'Look twice.', base: second };
  assert.equal(follow(saved, first), saved, 'an old answer');
  assert.equal(isConflict(saved, first), false);
});

test('what was typed is kept until it is saved', () => {
  const storage = memory();
  const shelf = createShelf(storage, 'ada', 'p');
  const edit = { typed: 'Listen.', base: first };
  assert.equal(shelf.keep(edit), true);
  assert.deepEqual(createShelf(storage, 'ada', 'p').edit(), edit);
  assert.equal(createShelf(storage, 'bob', 'p').edit(), null);
  assert.equal(createShelf(storage, 'ada', 'q').edit(), null);
  assert.equal(isChanged(edit), true);
  shelf.keep({ typed: 'Look.', base: first });
  assert.equal(shelf.edit(), null);
  assert.equal(createShelf(memory({ 'taggie:guidelines-edit:ada:p': '{' }), 'ada', 'p').edit(), null);
});

test('a tab removes what it kept, and nothing that another tab keeps', () => {
  const storage = memory();
  const [typing, reading] = [createShelf(storage, 'ada', 'p'), createShelf(storage, 'ada', 'p')];
  const edit = { typed: 'Listen.', base: first };
  typing.keep(edit);
  reading.keep({ typed: 'Look.', base: first });
  assert.deepEqual(reading.edit(), edit);
  reading.keep({ typed: 'Touch.', base: first });
  typing.keep(edit);
  reading.keep({ typed: 'Look.', base: first });
  assert.deepEqual(reading.edit(), edit, 'the other tab has typed since');
  typing.keep({ typed: 'Listen.', base: { version: 2, text: 'Listen.' } });
  assert.equal(typing.edit(), null);
});

test('a browser without room says so', () => {
  const full = { ...memory(), setItem: () => { throw new Error('full'); } };
  assert.equal(createShelf(full, 'ada', 'p').keep({ typed: 'Listen.', base: first }), false);
});

test('the version that was read is remembered', () => {
  const shelf = createShelf(memory(), 'ada', 'p');
  assert.equal(shelf.read(), 0);
  shelf.markRead(3);
  assert.equal(shelf.read(), 3);
});

const render = createRenderer((url) => url.startsWith('https://bucket.example.com/'));

test('links lead elsewhere in another tab, and only to the web or to mail', () => {
  assert.equal(render('[a](https://example.com)'), '<p><a href="https://example.com" target="_blank" rel="noopener noreferrer">a</a></p>\n');
  assert.match(render('see https://example.com/x now'), /<a href="https:\/\/example\.com\/x" target="_blank" rel="noopener noreferrer">/);
  assert.match(render('[a](mailto:ada@example.com)'), /<a href="mailto:/);
  for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', '//example.com', '/board', '#x', '&#106;avascript:x']) {
    assert.doesNotMatch(render(`[a](${bad})`), /<a/, bad);
    assert.doesNotMatch(render(`<${bad}>`), /<a/, bad);
    assert.doesNotMatch(render(`[a][b]\n\n[b]: ${bad}`), /<a/, bad);
  }
});

test('HTML is shown as it was written', () => {
  for (const html of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', 'a <b onclick="x">b</b>', '<!-- x -->', '<svg/onload=x>', '<style>*{}</style>']) {
    assert.doesNotMatch(render(html), /<(?!\/?p>)/, html);
  }
  assert.match(render('[a](https://example.com/"onclick="x)'), /href="https:\/\/example\.com\/%22onclick=%22x"/);
  assert.match(render('```js" onclick="x\ncode\n```'), /class="language-js&quot;"/);
});

test('pictures come from where the page may show them', () => {
  assert.match(render('![an owl](https://bucket.example.com/owl.png)'), /<img src="https:\/\/bucket\.example\.com\/owl\.png" alt="an owl" loading="lazy">/);
  for (const other of ['https://elsewhere.example.com/x.png', 'data:image/png;base64,AA', '/x.png', 'blob:x']) assert.doesNotMatch(render(`![an owl](${other})`), /<img/, other);
  assert.match(render('![a "<b>](https://elsewhere.example.com/x.png)'), /<span class="no-picture">a &quot;&lt;b&gt;<\/span>/);
  assert.doesNotMatch(render('![a](https://bucket.example.com.evil.example.com/x.png)'), /<img/);
});

test('headings are below those of the page, and nothing has a style', () => {
  assert.match(render('# a\n\n## b\n\n##### e'), /<h3>a<\/h3>\n<h4>b<\/h4>\n<h6>e<\/h6>/);
  const table = render('| a | b |\n|--:|:-:|\n| 1 | 2 |');
  assert.match(table, /<th class="is-right">a<\/th>/);
  assert.match(table, /<td class="is-center">2<\/td>/);
  assert.doesNotMatch(table, /style/);
});
