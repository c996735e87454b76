import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { filter, firstValueFrom, map } from 'rxjs';
import { NoteDocument, type NotesQuery, NotesDocument, UpdateNoteDocument } from '../operations/generated/documents.ts';
import { httpUrl, token } from '../testing/server.ts';
import { createClient } from './client.ts';

type List = NonNullable<NonNullable<NotesQuery['viewer']>['notes']>;

const client = createClient(httpUrl, token);
const notes = client.watchQuery({ query: NotesDocument, variables: { first: 2 } });
const component = notes.subscribe(() => {}); // shows the list
after(() => {
  component.unsubscribe();
  client.stop();
});

/** Waits until the component shows a list like this. */
const shown = (wanted: (list: List) => boolean = () => true) =>
  firstValueFrom(
    notes.pipe(
      map(({ data, dataState }) => (dataState === 'complete' ? data.viewer?.notes : undefined)),
      filter((list) => list != null),
      filter(wanted),
    ),
  );

async function note(index: number) {
  const edge = (await shown()).edges[index];
  assert.ok(edge);
  return edge.node;
}

test('pages of a connection grow into one list', async () => {
  for (const length of [2, 4]) {
    const list = await shown((list) => list.edges.length === length);
    assert.equal(list.pageInfo.hasNextPage, true);
    await notes.fetchMore({ variables: { after: list.pageInfo.endCursor } });
  }
  const list = await shown((list) => list.edges.length === 6);
  assert.equal(new Set(list.edges.map(({ node }) => node.id)).size, 6);
});

test('a mutation changes the note wherever the cache has it', async () => {
  const { id, title, version } = await note(5); // of the last page
  const rename = (title: string, expectedVersion: number) =>
    client.mutate({
      mutation: UpdateNoteDocument,
      variables: { input: { noteId: id, title, expectedVersion, idempotencyKey: crypto.randomUUID() } },
    });

  const { data } = await rename(`${title} (apollo)`, version);
  assert.equal(data?.updateNote?.problem, null);
  await shown(({ edges }) => edges[5]?.node.title === `${title} (apollo)`);

  // Somebody who saw the note as it was: nothing is changed, and the problem carries the note as it is.
  const { data: late } = await rename('too late', version);
  const problem = late?.updateNote?.problem;
  assert.ok(problem?.__typename === 'NoteConflict');
  assert.equal(problem.current.title, `${title} (apollo)`);

  await rename(title, problem.current.version);
  await shown(({ edges }) => edges[5]?.node.title === title);
});

test('an object is read from the cache by its id', async () => {
  const { id, title } = await note(0);
  const ask = (fetchPolicy: 'cache-only' | 'network-only') =>
    client.query({ query: NoteDocument, variables: { id }, fetchPolicy });
  await ask('network-only');
  assert.equal((await ask('cache-only')).data?.note?.title, title);
});
