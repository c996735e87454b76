// resume against a real server, through a network that fails.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient } from '../graphql-ws/client.ts';
import { ProjectEventsDocument } from '../operations/generated/documents.ts';
import { openProxy } from '../testing/proxy.ts';
import { firstProject, rebuild, work } from '../testing/queue.ts';
import { socketUrl, token } from '../testing/server.ts';
import { resume } from './resume.ts';

type Proxy = Awaited<ReturnType<typeof openProxy>>;

let projectId: string;
let proxy: Proxy;
let near: ReturnType<typeof createClient>; // sees everything
let far: ReturnType<typeof createClient>; // behind the proxy
before(async () => {
  projectId = await firstProject();
  proxy = await openProxy();
  near = createClient(socketUrl, token);
  far = createClient(socketUrl.replace(new URL(socketUrl).host, proxy.host), token);
});
after(async () => {
  await near?.dispose();
  await far?.dispose();
  proxy?.close();
});

/** Reads on until it has seen a message like this; returns the cursors of events on the way. */
async function readTo(messages: ReturnType<typeof watch>, wanted: (message: Message) => boolean) {
  const cursors: string[] = [];
  for (;;) {
    const { value, done } = await messages.next();
    assert.ok(!done && value);
    if (value.__typename === 'ProjectEvent') cursors.push(value.cursor);
    if (wanted(value)) return cursors;
  }
}

const watch = (client: typeof far, signal?: AbortSignal) => resume(client, ProjectEventsDocument, { projectId }, { signal });
type Message = ReturnType<typeof watch> extends AsyncGenerator<infer M> ? M : never;
const isSnapshot = (message: Message) => message.__typename === 'ProjectSnapshot';
const isRelease = (message: Message) => message.__typename === 'ProjectEvent' && message.type === 'RELEASED';

test('cut again and again, it misses nothing and repeats nothing', async () => {
  const [all, mine] = [watch(near), watch(far)];
  await Promise.all([readTo(all, isSnapshot), readTo(mine, isSnapshot)]);

  const disturbance = (async () => {
    for (let i = 0; i < 15; i++) {
      if (i % 5 === 2) proxy.cut(); // in the middle of events
      if (i === 6) proxy.down();
      await work(projectId);
      if (i === 8) proxy.up();
    }
  })();
  let events = 0;
  const last = (message: Message) => message.__typename === 'ProjectEvent' && ++events === 30;
  const complete = await readTo(all, last);
  events = 0;
  const resumed = await readTo(mine, last);
  await disturbance;

  assert.deepEqual(resumed, complete);
  assert.equal(new Set(resumed).size, 30);
  await Promise.all([all.return(), mine.return()]);
});

test('somebody who was away while the events began anew is told of the gap, and gets a snapshot', async () => {
  const mine = watch(far);
  await readTo(mine, isSnapshot);
  proxy.down();
  await rebuild(projectId);
  proxy.up();
  assert.equal((await mine.next()).value?.__typename, 'ProjectGap');
  assert.equal((await mine.next()).value?.__typename, 'ProjectSnapshot');

  await Promise.all([work(projectId), readTo(mine, isRelease)]);
  await mine.return();
});

test('a connection that says nothing any more is given up for another one', async () => {
  const alert = createClient(socketUrl.replace(new URL(socketUrl).host, proxy.host), token, 500);
  const mine = watch(alert);
  await readTo(mine, isSnapshot);
  proxy.freeze();
  await work(projectId);
  const cursors = await readTo(mine, isRelease);
  assert.equal(cursors.length, 2);
  await mine.return();
  await alert.dispose();
});

test('a signal ends it while nothing happens', async () => {
  const stop = new AbortController();
  const mine = watch(far, stop.signal);
  await readTo(mine, isSnapshot);
  const next = mine.next();
  const closed = new Promise((resolve) => far.on('closed', resolve)); // with its last subscription
  stop.abort();
  await assert.rejects(next, { name: 'AbortError' });
  await closed;
});
