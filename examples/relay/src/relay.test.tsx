import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Window } from 'happy-dom';
import { act, Suspense } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { RelayEnvironmentProvider } from 'react-relay';
import { NoteDocument, UpdateNoteDocument } from '../../operations/generated/documents';
import { httpUrl, send, token } from '../../testing/server';
import { createEnvironment } from './environment';
import { Notes } from './Notes';

const window = new Window({ url: httpUrl });
const { document } = window;
Object.assign(globalThis, { window, document, IS_REACT_ACT_ENVIRONMENT: true });

let root: Root;
before(async () => {
  root = createRoot(document.body as never);
  await act(async () =>
    root.render(
      <RelayEnvironmentProvider environment={createEnvironment(httpUrl, token)}>
        <Suspense fallback={<p>Loading</p>}>
          <Notes />
        </Suspense>
      </RelayEnvironmentProvider>,
    ),
  );
});
after(async () => {
  await act(async () => root.unmount());
  await window.happyDOM.close();
});

const rows = () => [...document.querySelectorAll('li')];
const title = (row: number) => rows()[row]?.querySelector('span')?.textContent;

/** Lets React go on until the page looks as expected; the test's time limit ends a wait in vain. */
async function shows(condition: () => boolean) {
  while (!condition()) await act(() => new Promise((resolve) => setTimeout(resolve, 10)));
}

async function press(label: string, within: { querySelectorAll: typeof document.querySelectorAll } = document) {
  const button = [...within.querySelectorAll('button')].find(({ textContent }) => textContent === label);
  assert.ok(button);
  await act(async () => (button as unknown as HTMLElement).click());
}

test('loadNext adds page after page to a connection', async () => {
  for (const length of [2, 4]) {
    await shows(() => rows().length === length);
    await press('More');
  }
  await shows(() => rows().length === 6);
  assert.equal(new Set(rows().map(({ id }) => id)).size, 6);
});

test('an object is fetched again by its id alone', async () => {
  const row = rows()[5] ?? assert.fail();
  const { note } = await send(NoteDocument, { id: row.id });
  assert.equal(title(5), note?.title);
  const rename = (title: string) => send(UpdateNoteDocument, { input: { noteId: row.id, title } });

  await rename(`${note?.title} (relay)`); // by somebody else
  await press('Refresh', row as never);
  await shows(() => title(5) === `${note?.title} (relay)`);
  await rename(note!.title);
  assert.equal(rows().length, 6);
});
