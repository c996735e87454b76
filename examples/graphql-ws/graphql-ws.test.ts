import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { print } from 'graphql';
import { ProjectEventsDocument, type ProjectEventsSubscription } from '../operations/generated/documents.ts';
import { firstProject, work } from '../testing/queue.ts';
import { socketUrl, token } from '../testing/server.ts';
import { createClient } from './client.ts';

const client = createClient(socketUrl, token);
after(() => client.dispose());

test('a subscription that was cut goes on behind the last event, without loss', async () => {
  const projectId = await firstProject();
  const seen: string[] = [];
  let last: string | undefined;
  let connections = 0;
  client.on('connected', () => connections++);

  const events = client.iterate<ProjectEventsSubscription>({
    query: print(ProjectEventsDocument),
    get variables() {
      return { projectId, after: last }; // read again at each connection
    },
  });
  for await (const { data, errors } of events) {
    assert.equal(errors, undefined);
    const message = data?.projectEvents;
    assert.ok(message && message.__typename !== 'ProjectGap');
    last = message.cursor;

    if (message.__typename === 'ProjectSnapshot') {
      client.terminate(); // the connection is lost, and what happens now is missed
      for (let i = 0; i < 3; i++) await work(projectId);
    } else if (seen.push(message.type) === 6) break;
  }
  // Events of one item come in their order; those of others may come in between.
  assert.deepEqual(seen.sort(), ['CLAIMED', 'CLAIMED', 'CLAIMED', 'RELEASED', 'RELEASED', 'RELEASED']);
  assert.equal(connections, 2);
});
