import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ask, giveBack } from './board.js';
import { category, live, messages, onBoard, out, WAIT_MS, world } from './board-page.js';
import { until } from './server.js';

const bucket = /^(request to|failed:) http:\/\/127\.0\.0\.1:\d+\/taggie\//;
const long = `${'words, words\n'.repeat(30_000)}THE END`;

/** A tone of a tenth of a second as a WAV file. */
function tone() {
  const rate = 8_000;
  const samples = Buffer.from(Array.from({ length: rate / 10 }, (_, i) => 128 + Math.round(100 * Math.sin(i / 3))));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

const files = [
  { name: 'call.wav', type: 'audio/wav', bytes: tone() },
  { name: 'letter.txt', type: 'text/plain', bytes: Buffer.from('Dear <b>Ada</b>,\n\nthe 楽譜 is here.') },
  { name: 'page.html', type: 'text/html', bytes: Buffer.from('<script>document.title = "taken"</script><h1>Hello</h1>') },
  { name: 'long.txt', type: 'text/plain', bytes: Buffer.from(long) },
  { name: 'scores.json', type: 'application/json', bytes: Buffer.from('{"clef": "treble", "staves": 2}') },
  { name: 'broken.mp4', type: 'video/mp4', bytes: Buffer.from('this is no film') },
];

/** A small film, as the browser records it from what is drawn meanwhile. */
async function film(page) {
  const bytes = await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 });
    const pen = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: 'video/webm' });
    const parts = [];
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
    recorder.start(20);
    for (let i = 0; parts.reduce((size, part) => size + part.size, 0) < 4_000; i += 1) {
      pen.fillStyle = `hsl(${i * 47} 80% 50%)`;
      pen.fillRect((i * 13) % 64, (i * 7) % 48, 16, 12);
      await new Promise(requestAnimationFrame);
    }
    const stopped = new Promise((resolve) => recorder.addEventListener('stop', resolve, { once: true }));
    recorder.stop();
    await stopped;
    return [...new Uint8Array(await new Blob(parts).arrayBuffer())];
  });
  return { name: 'dance.webm', type: 'video/webm', bytes: Buffer.from(bytes) };
}

/** Presses the key that plays, and waits until the sound or the film does. */
async function play(page, kind) {
  const player = page.locator(kind);
  await player.evaluate((element) => element.addEventListener('playing', () => (element.dataset.played = 'yes')));
  await page.keyboard.press('Escape');
  await page.keyboard.press('m');
  await page.locator(`${kind}[data-played=yes]`).waitFor({ timeout: WAIT_MS });
}

/** Puts a file into the library of the demo user; resolves to its id. */
async function upload({ name, type, bytes }) {
  const input = { name, type, size: String(bytes.length), sha256: createHash('sha256').update(bytes).digest('base64') };
  const { requestUpload } = await ask(
    world.server,
    'mutation ($input: RequestUploadInput!) { requestUpload(input: $input) { upload { itemId put { url headers { name value } } } problem { ... on Problem { message } } } }',
    { input },
  );
  const { itemId, put } = requestUpload.upload;
  const response = await fetch(put.url, { method: 'PUT', headers: Object.fromEntries(put.headers.map(({ name, value }) => [name, value])), body: bytes });
  assert.equal(response.status, 200);
  await ask(world.server, 'mutation ($input: CompleteUploadInput!) { completeUpload(input: $input) { problem { ... on Problem { message } } } }', { input: { itemId } });
  return itemId;
}

onBoard('sounds, films and texts are shown by what the browser has', { expected: bucket }, async ({ page }) => {
  const { createProject } = await ask(world.server, 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }', {
    input: { name: 'Letters and calls', categories: ['Letter', 'Call'] },
  });
  const { id } = createProject.project;
  const itemIds = [];
  const all = [...files, await film(page)];
  for (const file of all) itemIds.push(await upload(file));
  await ask(world.server, 'mutation ($input: ImportItemsInput!) { importItems(input: $input) { import { id } problem { ... on Problem { message } } } }', { input: { projectId: id, itemIds } });
  await until('the items are in the queue', WAIT_MS, async () => {
    const { project } = await ask(world.server, 'query ($id: ID!) { project(id: $id) { queue { queued } } }', { id });
    return project?.queue?.queued >= all.length;
  });
  await page.goto(`${world.server.origin}/board#project=${encodeURIComponent(id)}`);
  await page.reload();
  await live(page);
  await page.keyboard.press('Shift+N');
  await category(page).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape');
  await page.keyboard.press('Shift+N'); // five at a time
  const mine = page.getByRole('complementary', { name: 'Your items' });
  for (const { name } of all) await mine.getByRole('button', { name: new RegExp(`^${name}`) }).waitFor({ timeout: WAIT_MS });
  const open = (name) => mine.getByRole('button', { name }).click({ timeout: WAIT_MS });

  await open(/^call\.wav/);
  const sound = page.locator('audio');
  await sound.waitFor({ timeout: WAIT_MS });
  await page.waitForFunction(() => document.querySelector('audio').readyState >= 1, undefined, { timeout: WAIT_MS });
  assert.ok(Math.abs((await sound.evaluate(({ duration }) => duration)) - 0.1) < 0.01, 'it is a tenth of a second long');
  await play(page, 'audio');
  await page.screenshot({ path: new URL('media-sound.png', out).pathname });

  const from = await sound.getAttribute('src');
  await page.keyboard.press('e'); // reads the item again, with another address
  await messages(page).getByText('The time for it begins again.').waitFor({ timeout: WAIT_MS });
  assert.equal(await sound.getAttribute('src'), from, 'it plays on');

  await open(/^letter\.txt/);
  const text = page.getByRole('document', { name: 'letter.txt' });
  await text.getByText('the 楽譜 is here.').waitFor({ timeout: WAIT_MS });
  assert.equal(await text.innerText(), files[1].bytes.toString());
  await page.screenshot({ path: new URL('media-text.png', out).pathname });

  await open(/^page\.html/);
  await page.getByRole('document', { name: 'page.html' }).getByText('<script>document.title = "taken"</script><h1>Hello</h1>').waitFor({ timeout: WAIT_MS });
  assert.notEqual(await page.title(), 'taken');

  await open(/^long\.txt/);
  const start = page.getByRole('document', { name: 'long.txt' });
  await start.getByText('Only the beginning is shown.').waitFor({ timeout: WAIT_MS });
  assert.ok(!(await start.innerText()).includes('THE END'));

  await open(/^scores\.json/);
  await page.getByRole('document', { name: 'scores.json' }).getByText('{"clef": "treble", "staves": 2}').waitFor({ timeout: WAIT_MS });

  await open(/^dance\.webm/);
  await play(page, 'video');
  const size = await page.locator('video').evaluate(({ videoWidth, videoHeight }) => [videoWidth, videoHeight]);
  assert.deepEqual(size, [64, 48]);
  await page.screenshot({ path: new URL('media-film.png', out).pathname });

  await open(/^broken\.mp4/);
  await page.getByText('The file did not load.').waitFor({ timeout: WAIT_MS });
  await giveBack(world.server, id);
});
