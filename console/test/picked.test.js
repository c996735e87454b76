import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPicture, look } from '../src/board/manage/picked.ts';

/** A file of a size, without its bytes. */
const file = (path, { type = '', size = 3 } = {}) => {
  const made = new File(['abc'], path.split('/').at(-1), { type, lastModified: 1 });
  Object.defineProperty(made, 'size', { value: size });
  return { path, file: made };
};

const faults = (...found) => Object.fromEntries(look(found).map(({ path, fault }) => [path, fault]));

test('what cannot be brought is named, and comes first', () => {
  const long = `${'x'.repeat(200)}.png`;
  const found = [file('a.png', { type: 'image/png' }), file('b.pdf', { type: 'application/pdf' }), file('c.png', { size: 0 }), file('d.webp', { size: 100 * 1024 * 1024 + 1 }), file(long), file('e.svg', { type: 'image/svg+xml' }), file('f.avif', { size: 100 * 1024 * 1024 })];
  assert.deepEqual(faults(...found), {
    'a.png': '',
    'b.pdf': 'No picture that browsers show.',
    'c.png': 'The file is empty.',
    'd.webp': 'It is larger than 100 MiB.',
    [long]: 'Its name is longer than 200 characters.',
    'e.svg': 'No picture that browsers show.',
    'f.avif': '',
  });
  assert.deepEqual(look(found).slice(-2).map(({ path }) => path), ['a.png', 'f.avif']);
  assert.equal(look([file('x.png'), file('x.png')])[0].fault, 'It is here twice.');
});

test('pictures come in the order of their paths, and what systems put into folders is left out', () => {
  const found = ['h/10.png', 'h/2.png', 'h/.DS_Store', 'h/Thumbs.db', '.git/1.png', 'h/a/1.png'].map((path) => file(path));
  assert.deepEqual(look(found).map(({ path }) => path), ['h/2.png', 'h/10.png', 'h/a/1.png']);
});

test('the type is that of the browser, or else of the name; the folder is the set', () => {
  const [one] = look([file('Ferns/1871/Bracken.JPG')]);
  assert.deepEqual([one.name, one.set, one.type], ['Bracken.JPG', 'Ferns/1871', 'image/jpeg']);
  assert.equal(look([file(`${'f'.repeat(80)}/a.png`)])[0].set.length, 64);
  assert.ok(isPicture(file('a', { type: 'image/webp' }).file) && isPicture(file('a.bmp').file) && !isPicture(file('a.csv', { type: 'text/csv' }).file));
});
