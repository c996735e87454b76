// Redis goes away and comes back while clients as one gets them follow all six subscriptions.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { query, until } from '../../e2e/server.js';
import { createClient as createEventClient } from '../graphql-sse/client.ts';
import { createClient as createSocketClient } from '../graphql-ws/client.ts';
import { type ProjectEventsSubscription, ProjectEventsDocument } from '../operations/generated/documents.ts';
import { resume } from '../resume/resume.ts';
import { clients, type Sight, type Stock } from './clients.ts';
import { start } from './stores.ts';

const WAIT_MS = 60_000; // only a mistake lets it wait that long

const SUBSCRIPTIONS: Record<string, string> = {
  projectEvents: `subscription Events($projectId: ID!, $after: EventCursor) { projectEvents(projectId: $projectId, after: $after) {
    __typename ... on ProjectSnapshot { cursor claims { id } } ... on ProjectEvent { cursor type item { id } } ... on ProjectGap { message } } }`,
  myQueue: 'subscription Queue($projectId: ID!) { myQueue(projectId: $projectId) { claims { id } } }',
  onlineCount: 'subscription Online { onlineCount }',
  importProgress: 'subscription Import($importId: ID!) { importProgress(importId: $importId) { state } }',
  exportProgress: 'subscription Export($exportId: ID!) { exportProgress(exportId: $exportId) { state } }',
  indexProgress: 'subscription Index($scopeId: ID!) { indexProgress(scopeId: $scopeId, name: "plants") { ready } }',
};

let stores: Awaited<ReturnType<typeof start>>;
let stocks: Stock[];
const stop = new AbortController();
before(async () => {
  stores = await start();
});
after(async () => {
  stop.abort();
  for (const stock of stocks ?? []) stock.stop();
  await stores?.stop();
});

/** Does something that succeeds, and returns what was selected of it. */
async function ask(text: string, variables: Record<string, unknown> = {}, token?: string) {
  const { data, errors } = await query(stores.origin, text, variables, token);
  if (errors) throw Object.assign(new Error(JSON.stringify(errors)), { errors });
  return data;
}

/** The same, as soon as it can be done. */
const asSoonAsPossible = (text: string, variables: Record<string, unknown>) =>
  until(text, WAIT_MS, () =>
    ask(text, variables).catch((error) => {
      if (error.errors?.every((one: any) => one.extensions.retryable)) return undefined;
      throw error;
    }),
  );

const createImport = `mutation($in: CreateProjectImportInput!) { createProjectImport(input: $in) {
  import { id } upload { method url headers { name value } } } }`;
const cancelImport = 'mutation($id: ID!) { cancelProjectImport(input: { importId: $id }) { import { state } } }';
const claim = 'mutation($id: ID!, $key: String) { claimProjectItems(input: { projectId: $id, idempotencyKey: $key }) { items { id claim { token } } } }';
const release = 'mutation($id: ID!, $token: String!) { releaseProjectItem(input: { itemId: $id, token: $token }) { item { status } } }';
const beat = 'mutation { heartbeat(input: {}) { onlineCount } }';

/** What `resume` tells of a project, by each of the example clients. */
function resumed(projectId: string, token: () => Promise<string>) {
  const url = `${stores.origin}/graphql`;
  return [createSocketClient(url.replace(/^http/, 'ws'), token), createEventClient(url, token)].map((client) => {
    stop.signal.addEventListener('abort', () => void client.dispose());
    const told: { messages: NonNullable<ProjectEventsSubscription['projectEvents']>[]; end?: unknown } = { messages: [] };
    (async () => {
      for await (const message of resume(client, ProjectEventsDocument, { projectId }, { signal: stop.signal })) told.messages.push(message);
      told.end = 'complete';
    })().catch((error) => (told.end = error));
    return told;
  });
}

/** Begins two imports that go on for minutes, which leaves no room for an export. */
async function busy() {
  const { createProject } = await ask('mutation { createProject(input: { name: "Busy", categories: ["One"] }) { project { id } } }');
  const file = Array.from({ length: 100_000 }, (_, i) => `{"externalId":"${i}","name":"item ${i}"}\n`).join('');
  return Promise.all(
    [1, 2].map(async () => {
      const { createProjectImport } = await ask(createImport, { in: { projectId: createProject.project.id, format: 'JSON_LINES', bytes: file.length } });
      const { method, url, headers } = createProjectImport.upload;
      const uploaded = await fetch(url, { method, headers: headers.map(({ name, value }: any) => [name, value]), body: file });
      assert.ok(uploaded.ok);
      const { id } = createProjectImport.import;
      await ask('mutation($id: ID!) { startProjectImport(input: { importId: $id }) { import { state } } }', { id });
      await until('an import has begun', WAIT_MS, async () => {
        const { node } = await ask('query($id: ID!) { node(id: $id) { ... on ProjectImport { state } } }', { id });
        return node.state === 'RUNNING';
      });
      return id as string;
    }),
  );
}

test('all six subscriptions go on by themselves, in each client', async (t) => {
  const { viewer } = await ask('{ viewer { projects(first: 1) { nodes { id } } } }');
  const projectId: string = viewer.projects.nodes[0].id;
  const running = await busy();
  const waiting = (await ask(createImport, { in: { projectId, format: 'CSV', bytes: 1 } })).createProjectImport.import.id;
  const { createProjectExport } = await ask('mutation($p: ID!) { createProjectExport(input: { projectId: $p, format: CSV }) { export { id state } } }', { p: projectId });
  const { createScope } = await ask('mutation { createScope(input: { name: "Herbarium" }) { scope { id } } }');
  const scopeId = createScope.scope.id;
  await ask(
    'mutation($s: ID!) { declareEntityIndex(input: { scopeId: $s, name: "plants", type: "plant", path: ["name"], kind: STRING }) { scope { id } } }',
    { s: scopeId },
  );
  const about: Record<string, Record<string, unknown>> = {
    projectEvents: { projectId },
    myQueue: { projectId },
    onlineCount: {},
    importProgress: { importId: waiting },
    exportProgress: { exportId: createProjectExport.export.id },
    indexProgress: { scopeId },
  };

  const { token } = (await (await fetch(`${stores.origin}/session`)).json()) as { token: string };
  stocks = clients(stores.origin, token);
  const sights = stocks.map((stock) => ({
    stock,
    of: Object.fromEntries(
      Object.entries(SUBSCRIPTIONS).map(([name, text]) => [
        name,
        stock.watch(text, (sight) => ({ ...about[name], ...(name === 'projectEvents' && { after: last(sight) }) })),
      ]),
    ) as Record<string, Sight>,
  }));
  const followed = resumed(projectId, async () => token);
  const eachFollows = (what: string, wanted: (told: (typeof followed)[number]) => boolean) =>
    until(`resume ${what}`, WAIT_MS, () => {
      for (const { end } of followed) assert.equal(end, undefined);
      return followed.every(wanted);
    });
  const everybody = (what: string, name: string, wanted: (sight: Sight, stock: Stock) => boolean) =>
    until(`${name} of each client: ${what}`, WAIT_MS, () => {
      for (const { stock, of } of sights) {
        for (const [one, { errors, complete, messages }] of Object.entries(of)) {
          assert.deepEqual(errors, [], `${stock.name}, ${one}`);
          assert.ok(!complete || isOver(messages.at(-1)), `${stock.name}, ${one} is complete`);
        }
      }
      return sights.every(({ stock, of }) => wanted(of[name]!, stock));
    });
  for (const name of Object.keys(SUBSCRIPTIONS)) await everybody('begins', name, ({ messages }) => messages.length > 0);
  assert.ok(sights.every(({ of }) => of.exportProgress!.messages.at(-1)?.exportProgress.state === 'QUEUED'));

  await eachFollows('begins', ({ messages }) => messages.length === 1);

  const { items } = (await asSoonAsPossible(claim, { id: projectId, key: randomUUID() })).claimProjectItems;
  await everybody('sees the claim', 'projectEvents', saw('CLAIMED', items[0].id));
  await everybody('sees the claim', 'myQueue', ({ messages }) => messages.at(-1)?.myQueue.claims.length === 1);

  await t.test('Redis is away', async () => {
    const before = sights.map(({ of }) => Object.fromEntries(Object.entries(of).map(([name, { messages }]) => [name, messages.length])));
    const further = (name: string, wanted = (_: Stock) => true) =>
      everybody('goes on', name, ({ messages, complete }, stock) => complete || !wanted(stock) || messages.length > before[stocks.indexOf(stock)]![name]!);
    stores.away();
    await until('sockets are closed', WAIT_MS, () => stocks.every(({ name, codes }) => name === 'graphql-sse' || codes.length > 1)); // more than once
    await asSoonAsPossible(release, { id: items[0].id, token: items[0].claim.token });
    stores.back();
    await everybody('sees that the item was released', 'projectEvents', (sight, stock) =>
      resumes(stock) ? saw('RELEASED', items[0].id)(sight, stock) : isFree(sight, items[0].id) || saw('RELEASED', items[0].id)(sight, stock));
    await everybody('sees that the item was released', 'myQueue', ({ messages }) => messages.at(-1)?.myQueue.claims.length === 0);
    await eachFollows('misses nothing and repeats nothing', ({ messages }) => messages.length === 3);
    for (const { messages } of followed)
      assert.deepEqual(messages.map((m) => (m.__typename === 'ProjectEvent' ? m.type : m.__typename)), ['ProjectSnapshot', 'CLAIMED', 'RELEASED']);
    for (const name of ['onlineCount', 'projectEvents', 'myQueue']) await further(name);
    for (const name of ['importProgress', 'exportProgress', 'indexProgress']) await further(name, ({ codes }) => codes.length > 0); // a socket is one for all
  });

  await t.test('Redis comes back with nothing', async () => {
    await stores.replace();
    const again = (await asSoonAsPossible(claim, { id: projectId, key: randomUUID() })).claimProjectItems.items;
    await everybody('sees the claim or is told a gap', 'projectEvents', (sight, stock) =>
      saw('CLAIMED', again[0].id)(sight, stock) || sight.messages.findLast(({ projectEvents }) => projectEvents.claims)?.projectEvents.claims.some(({ id }: any) => id === again[0].id));
    await everybody('sees the claim', 'myQueue', ({ messages }) => messages.at(-1)?.myQueue.claims.length === 1);
    await eachFollows('tells of the gap', ({ messages }) => messages.some(({ __typename }, i) => __typename === 'ProjectGap' && messages[i + 1]?.__typename === 'ProjectSnapshot'));
    await asSoonAsPossible(release, { id: again[0].id, token: again[0].claim.token });
    await everybody('sees the release', 'projectEvents', saw('RELEASED', again[0].id));

    const newcomer = await stores.token('newcomer@example.com');
    await ask('mutation { createUser(input: { name: "Newcomer", email: "newcomer@example.com" }) { user { id } } }', {}, newcomer);
    const counts = sights.map(({ of }) => of.onlineCount!.messages.length);
    await ask(beat, {}, newcomer);
    await everybody('sees who is online', 'onlineCount', ({ messages }, stock) => messages.length > counts[stocks.indexOf(stock)]!);
  });

  await t.test('complete is said when there is nothing more to follow', async () => {
    await asSoonAsPossible(cancelImport, { id: waiting });
    await everybody('ends', 'importProgress', ({ messages, complete }) => complete && messages.at(-1)?.importProgress.state === 'CANCELLED');
    for (const id of running) await asSoonAsPossible(cancelImport, { id });
    await everybody('ends', 'exportProgress', ({ messages, complete }) => complete && messages.at(-1)?.exportProgress.state === 'DONE');
    for (const { name, codes } of stocks) assert.ok(codes.every((code) => code === 1013), `${name}: ${codes}`);
  });
});

const resumes = ({ name }: Stock) => name.startsWith('graphql-'); // others know no variables that are read again

/** Where to go on: the cursor of the last message that has one. */
const last = ({ messages }: Sight) => messages.findLast(({ projectEvents }) => projectEvents.cursor)?.projectEvents.cursor ?? null;

/** Whether nothing can follow: on a slow machine this may come before it is waited for. */
const isOver = (message: Record<string, any> | undefined) =>
  message?.indexProgress?.ready || ['DONE', 'FAILED', 'CANCELLED'].includes((message?.importProgress ?? message?.exportProgress)?.state);

const saw =
  (type: string, item: string) =>
  ({ messages }: Sight, _: Stock) =>
    messages.some(({ projectEvents }) => projectEvents.type === type && projectEvents.item?.id === item);

/** Whether the last snapshot does not have the item claimed. */
const isFree = ({ messages }: Sight, item: string) => {
  const snapshot = messages.findLast(({ projectEvents }) => projectEvents.claims)?.projectEvents;
  return messages.indexOf(messages.findLast(({ projectEvents }) => projectEvents.claims)!) > 0 && !snapshot.claims.some(({ id }: any) => id === item);
};
