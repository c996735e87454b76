import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NoteDocument, NotesDocument, UpdateNoteDocument } from '../operations/generated/documents.ts';
import { httpUrl, token } from '../testing/server.ts';
import { createClient } from './client.ts';

const client = createClient(httpUrl, token);

/** The list as a component shows it that has asked for pages up to this one. */
async function list(after?: string | null) {
  const { data, error } = await client.query(NotesDocument, { first: 2, after }).toPromise();
  assert.ifError(error);
  assert.ok(data?.viewer?.notes);
  return data.viewer.notes;
}

/** The same list, without asking the server. */
function cached() {
  return client.readQuery(NotesDocument, { first: 2 })?.data?.viewer?.notes?.edges ?? [];
}

test('pages of a connection grow into one list', async () => {
  let { pageInfo } = await list();
  for (const length of [4, 6]) {
    assert.equal(pageInfo.hasNextPage, true);
    const longer = await list(pageInfo.endCursor);
    assert.equal(longer.edges.length, length);
    pageInfo = longer.pageInfo;
  }
  assert.equal(new Set(cached().map(({ node }) => node.id)).size, 6);
});

test('a mutation changes the note wherever the cache has it', async () => {
  const { node } = cached()[5] ?? assert.fail();
  const rename = (title: string, expectedVersion: number) =>
    client
      .mutation(UpdateNoteDocument, {
        input: { noteId: node.id, title, expectedVersion, idempotencyKey: crypto.randomUUID() },
      })
      .toPromise();

  const { data } = await rename(`${node.title} (urql)`, node.version);
  assert.equal(data?.updateNote?.problem, null);
  assert.equal(cached()[5]?.node.title, `${node.title} (urql)`);

  // Somebody who saw the note as it was: nothing is changed, and the problem carries the note as it is.
  const late = await rename('too late', node.version);
  const problem = late.data?.updateNote?.problem;
  assert.ok(problem?.__typename === 'NoteConflict');
  assert.equal(problem.current.title, `${node.title} (urql)`);

  await rename(node.title, problem.current.version);
  assert.equal(cached()[5]?.node.title, node.title);
});

test('a token that was refused is asked for again', async () => {
  const tokens = ['not.a.token', await token()];
  const client = createClient(httpUrl, async () => tokens.shift() ?? assert.fail('the second one was refused too'));
  const { node } = cached()[0] ?? assert.fail();
  const { data, error } = await client.query(NoteDocument, { id: node.id }).toPromise();
  assert.ifError(error);
  assert.equal(data?.note?.title, node.title);
});
