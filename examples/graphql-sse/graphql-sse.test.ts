import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { print } from 'graphql';
import { ProjectEventsDocument } from '../operations/generated/documents.ts';
import { resume } from '../resume/resume.ts';
import { openProxy } from '../testing/proxy.ts';
import { firstProject, work } from '../testing/queue.ts';
import { httpUrl, token } from '../testing/server.ts';
import { createClient } from './client.ts';

let proxy: Awaited<ReturnType<typeof openProxy>>;
let client: ReturnType<typeof createClient>;
before(async () => {
  proxy = await openProxy();
  client = createClient(httpUrl.replace(new URL(httpUrl).host, proxy.host), token);
});
after(() => {
  client?.dispose();
  proxy?.close();
});

test('a subscription that was cut goes on behind the last event, without loss', async () => {
  const projectId = await firstProject();
  const seen: string[] = [];
  for await (const message of resume(client, ProjectEventsDocument, { projectId })) {
    assert.notEqual(message.__typename, 'ProjectGap');
    if (message.__typename === 'ProjectSnapshot') {
      assert.ok(proxy.cut()); // and what happens now is missed
      for (let i = 0; i < 3; i++) await work(projectId);
    }
    if (message.__typename === 'ProjectEvent' && seen.push(message.type) === 6) break;
  }
  // Events of one item come in their order; those of others may come in between.
  assert.deepEqual(seen.sort(), ['CLAIMED', 'CLAIMED', 'CLAIMED', 'RELEASED', 'RELEASED', 'RELEASED']);
});

test('what is wrong with a subscription is told in its first result', async () => {
  const results = [];
  for await (const result of client.iterate({ query: print(ProjectEventsDocument), variables: { projectId: 'nonsense' } })) results.push(result);
  assert.equal(results.length, 1); // and then it is complete
  assert.equal(results[0]?.data ?? null, null);
  assert.equal(results[0]?.errors?.[0]?.extensions.code, 'INVALID_INPUT');
});
