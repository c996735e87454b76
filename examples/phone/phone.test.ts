// Phones of two users change the same notes while their networks fail and their apps are ended, at random.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { query, startServer, until } from '../../e2e/server.js';
import { createClient } from '../graphql-ws/client.ts';
import { openProxy } from '../testing/proxy.ts';
import { type Conflict, type Kept, Phone, type Storage } from './phone.ts';
import { Refused, sender } from './send.ts';

const WAIT_MS = 60_000; // only a mistake lets it wait that long
const STEPS = 120;
const seed = Number(process.env.TAGGIE_TEST_SEED ?? Date.now() % 1_000_000);

let server: Awaited<ReturnType<typeof startServer>>;
before(async () => {
  server = await startServer();
});
after(() => server?.stop());

/** The same numbers for the same seed. */
function random(state: number) {
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What apps of a phone keep, one after the other. What an app saves after its end is lost. */
function storage() {
  let text: string | undefined;
  return (ended: AbortSignal): Storage => ({
    load: async () => (text ? (JSON.parse(text) as Kept) : undefined),
    save: async (kept) => {
      if (!ended.aborted) text = JSON.stringify(kept);
    },
  });
}

/** A phone with a network of its own. */
async function phoneOf(token: string, patience = 1_000) {
  const proxy = await openProxy(server.origin);
  const kept = storage();
  const start = async () => {
    const stop = new AbortController();
    const client = createClient(`ws://${proxy.host}/graphql`, async () => token, 500);
    const phone = await Phone.open({
      send: sender(`http://${proxy.host}/graphql`, async () => token, patience),
      client,
      storage: kept(stop.signal),
      pause: () => 50,
    });
    const over = phone.run(stop.signal);
    const end = async () => {
      stop.abort();
      proxy.cut();
      await over;
      await Promise.resolve(client.dispose()).catch(() => {}); // it was connecting
    };
    return { phone, end };
  };
  let running = await start();
  return {
    proxy,
    get app() {
      return running.phone;
    },
    async restart() {
      await running.end();
      running = await start();
    },
    async end() {
      await running.end();
      proxy.close();
    },
  };
}

/** Somebody who has signed up, and asks the server without a phone. */
async function signUp(name: string) {
  const token = await server.token(`${name}@example.com`);
  const ask = async (text: string, variables = {}) => {
    const { data, errors } = await query(server.origin, text, variables, token);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const { createUser } = await ask('mutation($name: String!, $email: String!) { createUser(input: { name: $name, email: $email }) { user { id } } }', { name, email: `${name}@example.com` });
  return { token, ask, id: createUser.user.id as string };
}

/** All notes that a user can read, by their ids. */
async function truth(ask: (text: string, variables?: object) => Promise<any>) {
  const all = new Map<string, string>();
  for (let after = null, more = true; more; ) {
    const { viewer } = await ask(
      `query($after: Cursor) { viewer { noteChanges(first: 100, after: $after) {
        nodes { ... on Note { id title content viewerPermission } } pageInfo { hasNextPage endCursor } } } }`,
      { after },
    );
    for (const { id, title, content, viewerPermission } of viewer.noteChanges.nodes) if (id) all.set(id, JSON.stringify([title, content, viewerPermission]));
    ({ endCursor: after, hasNextPage: more } = viewer.noteChanges.pageInfo);
  }
  return all;
}

const shownBy = (phone: Phone) => new Map(phone.notes().map(({ id, title, content, viewerPermission }) => [id, JSON.stringify([title, content, viewerPermission])]));
const sorted = (notes: Map<string, string>) => JSON.stringify([...notes].sort());
const words = (content: string) => content.split(' ').filter(Boolean);

test(`phones that lose their network have what the server has, and no word is lost (seed ${seed})`, async (t) => {
  const below = random(seed);
  const [ada, ben] = [await signUp('phone-ada'), await signUp('phone-ben')];
  const phones = [await phoneOf(ada.token), await phoneOf(ada.token), await phoneOf(ben.token)];
  t.after(() => Promise.all(phones.map((phone) => phone.end())));

  const create = 'mutation($title: String!) { createNote(input: { title: $title, content: "begin" }) { note { id } } }';
  const share = 'mutation($id: ID!, $with: ID!) { shareNote(input: { noteId: $id, userId: $with, permission: EDIT }) { note { id } } }';
  const unshare = 'mutation($id: ID!, $with: ID!) { unshareNote(input: { noteId: $id, userId: $with }) { note { id } } }';
  const shared: { id: string; owner: typeof ada; other: typeof ada }[] = [];
  for (const [owner, other] of [[ada, ben], [ben, ada]] as const) {
    for (let i = 0; i < 8; i++) {
      const { createNote } = await owner.ask(create, { title: `shared ${i}` });
      await owner.ask(share, { id: createNote.note.id, with: other.id });
      shared.push({ id: createNote.note.id, owner, other });
    }
  }

  const written = new Set<string>(); // words, each of one edit
  const titles = new Set<string>(); // of notes that phones made
  const told = new Set<string>(); // words of changes that could not be carried out, since the note was gone: the user was told
  const ends = new Set<string>(); // titles of notes that were deleted
  const seen = { conflicts: 0, cuts: 0, restarts: 0 };

  /** The user puts what both wrote into the note. */
  const settle = async (app: Phone, conflict: Conflict) => {
    seen.conflicts++;
    assert.ok(conflict.noteId, conflict.reason);
    const mine = words(conflict.mine?.content ?? '');
    const now = app.notes().find(({ id }) => id === conflict.noteId);
    if (!now || !conflict.theirs) {
      for (const word of mine) told.add(word);
      return app.resolve(conflict, null);
    }
    const lost = mine.filter((word) => !words(now.content).includes(word) && written.has(word));
    await app.resolve(conflict, lost.length ? { content: [now.content, ...lost].join(' ') } : null);
  };

  const steps: (() => unknown)[] = [
    async () => { // most often, somebody writes a word
      const { app } = phones[below(3)]!;
      const notes = app.notes().sort((a, b) => (a.id < b.id ? -1 : 1));
      const note = notes[below(notes.length)];
      if (!note) return;
      const word = `w${written.size}`;
      written.add(word);
      await app.edit(note.id, { content: `${note.content} ${word}` });
    },
    async () => {
      const title = `own ${titles.size}`;
      titles.add(title);
      await phones[below(3)]!.app.create(title, 'begin');
    },
    async () => {
      const { app } = phones[below(3)]!;
      const own = app.notes().filter(({ title, viewerPermission }) => viewerPermission === 'OWNER' && title.startsWith('own'));
      const note = own[below(own.length)];
      if (!note) return;
      ends.add(note.title);
      for (const word of words(note.content)) told.add(word);
      await app.remove(note.id);
    },
    () => (seen.cuts++, phones[below(3)]!.proxy.cut()),
    () => (seen.cuts++, phones[below(3)]!.proxy.freeze()),
    () => (seen.cuts++, phones[below(3)]!.proxy.mute()),
    () => (seen.cuts++, phones[below(3)]!.proxy.mute()),
    () => (seen.cuts++, phones[below(3)]!.proxy.down()),
    () => phones[below(3)]!.proxy.up(),
    () => phones[below(3)]!.proxy.up(),
    () => (seen.restarts++, phones[below(3)]!.restart()),
    async () => {
      const { id, owner, other } = shared[below(shared.length)]!;
      await owner.ask(below(2) ? share : unshare, { id, with: other.id });
    },
    async () => {
      const { app } = phones[below(3)]!;
      const [conflict] = app.conflicts();
      if (conflict) await settle(app, conflict);
    },
  ];
  for (let i = 0; i < STEPS; i++) {
    await steps[below(2) ? 0 : below(steps.length)]!();
    await new Promise((resolve) => setTimeout(resolve, below(40))); // so that things happen at all moments of one another
  }

  for (const { proxy } of phones) proxy.up();
  for (const { id, owner, other } of shared) await owner.ask(share, { id, with: other.id });
  await until('nothing waits, and every phone has what the server has', WAIT_MS, async () => {
    for (const { app } of phones) for (const conflict of app.conflicts()) await settle(app, conflict);
    if (phones.some(({ app }) => app.waiting().length)) return false;
    const [of, others] = [sorted(await truth(ada.ask)), sorted(await truth(ben.ask))];
    return sorted(shownBy(phones[0]!.app)) === of && sorted(shownBy(phones[1]!.app)) === of && sorted(shownBy(phones[2]!.app)) === others;
  });

  const all = new Map([...(await truth(ada.ask)), ...(await truth(ben.ask))]);
  const contents = [...all.values()].map((text) => JSON.parse(text) as [string, string, string]);
  const count = (of: string[]) => of.reduce((counts, one) => counts.set(one, (counts.get(one) ?? 0) + 1), new Map<string, number>());
  const found = count(contents.flatMap(([, content]) => words(content)));
  for (const word of written) {
    assert.ok(told.has(word) || found.get(word) === 1, `${word} is in ${found.get(word) ?? 0} places, and nobody was told`);
  }
  const made = count(contents.map(([title]) => title));
  for (const title of titles) assert.ok(made.get(title) === 1 || (ends.has(title) && !made.has(title)), `${title} is there ${made.get(title) ?? 0} times`);
  t.diagnostic(JSON.stringify({ ...seen, words: written.size, told: told.size, notes: all.size }));
});

test('what was sent takes effect once, though its answer is lost', async (t) => {
  const { token, ask } = await signUp('phone-dan');
  const phone = await phoneOf(token, WAIT_MS); // it does not send again before it is ended
  t.after(() => phone.end());
  await phone.app.create('first', 'so that there is a connection');
  await until('it is made', WAIT_MS, () => !phone.app.waiting().length);
  phone.proxy.mute();
  await phone.app.create('second', 'content');
  await until('the server has made the second', WAIT_MS, async () => (await truth(ask)).size === 2);
  assert.equal(phone.app.waiting().length, 1);
  await phone.restart();
  await until('the phone knows', WAIT_MS, () => !phone.app.waiting().length && phone.app.notes().length === 2);
  assert.equal(sorted(shownBy(phone.app)), sorted(await truth(ask)));
  assert.deepEqual(phone.app.conflicts(), []);
});

test('a change of what somebody else has changed meanwhile is for the user to decide', async (t) => {
  const { token, ask } = await signUp('phone-eve');
  const phone = await phoneOf(token);
  t.after(() => phone.end());
  await phone.app.create('title', 'content');
  await until('it is made', WAIT_MS, () => !phone.app.waiting().length);
  const { id } = phone.app.notes()[0]!;
  phone.proxy.down();
  await phone.app.edit(id, { content: 'mine' });
  await phone.app.edit(id, { title: 'mine, too' });
  assert.deepEqual(phone.app.notes().map(({ title, content, waiting }) => [title, content, waiting]), [['mine, too', 'mine', true]]);
  await ask('mutation($id: ID!) { updateNote(input: { noteId: $id, content: "theirs" }) { note { id } } }', { id });
  phone.proxy.up();
  await until('the conflict is shown', WAIT_MS, () => phone.app.conflicts().length);
  const [conflict] = phone.app.conflicts();
  assert.deepEqual(conflict!.mine, { title: 'mine, too', content: 'mine' });
  assert.equal(conflict!.theirs?.content, 'theirs');
  await phone.app.resolve(conflict!, { content: 'theirs and mine' });
  await until('it is changed', WAIT_MS, () => !phone.app.waiting().length);
  assert.deepEqual([...(await truth(ask)).values()].map((text) => JSON.parse(text)), [['title', 'theirs and mine', 'OWNER']]);
  assert.deepEqual(phone.app.conflicts(), []);
});

test('what the server refuses is told, and does not hold up what follows', async (t) => {
  const { token } = await signUp('phone-cleo');
  const phone = await phoneOf(token);
  t.after(() => phone.end());
  await phone.app.create('x'.repeat(201), 'too long a title');
  await phone.app.create('good', 'content');
  await until('the second is made', WAIT_MS, () => !phone.app.waiting().length);
  assert.deepEqual(phone.app.notes().map(({ title, waiting }) => [title, waiting]), [['good', false]]);
  const [conflict] = phone.app.conflicts();
  assert.equal(conflict?.mine?.content, 'too long a title');
  assert.match(conflict!.reason, /200/);
  await phone.app.resolve(conflict!, { title: 'short', content: conflict!.mine!.content });
  await until('the first is made, too', WAIT_MS, () => !phone.app.waiting().length);
  assert.deepEqual(phone.app.notes().map(({ title, content }) => [title, content]).sort(), [['good', 'content'], ['short', 'too long a title']]);
});

test('a note can be changed by the id that it was shown with', async (t) => {
  const { token, ask } = await signUp('phone-finn');
  const phone = await phoneOf(token);
  t.after(() => phone.end());
  await phone.app.create('title', 'content');
  const { id } = phone.app.notes()[0]!;
  await until('it is made', WAIT_MS, () => !phone.app.waiting().length);
  await phone.app.edit(id, { content: 'changed' });
  await until('it is changed', WAIT_MS, () => !phone.app.waiting().length);
  assert.deepEqual([...(await truth(ask)).values()].map((text) => JSON.parse(text)), [['title', 'changed', 'OWNER']]);
});

test('what could not be saved once is saved with the next change', async () => {
  let saved: Kept | undefined;
  const saves = [() => Promise.reject(new Error('the disk is full')), async (kept: Kept) => void (saved = kept)];
  const phone = await Phone.open({
    send: () => assert.fail('nobody sends'),
    client: { subscribe: () => assert.fail('nobody follows') },
    storage: { load: async () => undefined, save: (kept) => (saves.shift() ?? assert.fail('one save too many'))(kept) },
  });
  await assert.rejects(phone.create('first', 'content'), /full/);
  await phone.create('second', 'content');
  assert.deepEqual(saved!.changes.map(({ draft }) => draft?.title), ['first', 'second']);
});

test('what may pass is not refused', async (t) => {
  const answering = async (answer: object) => {
    const server = createServer((_, response) => response.end(JSON.stringify(answer))).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    return sender(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => 'a token');
  };
  const send = sender(`${server.origin}/graphql`, async () => 'no token');
  const { SyncNotesDocument } = await import('../operations/generated/documents.ts');
  await assert.rejects(send(SyncNotesDocument, { first: 1 }, new AbortController().signal), (error) => error instanceof Refused && error.code === 'UNAUTHENTICATED');
  const internal = await answering({ data: { createNote: { note: null } }, errors: [{ message: 'm', path: ['createNote', 'note'], extensions: { code: 'NOT_FOUND' } }] });
  await assert.rejects(internal(SyncNotesDocument, { first: 1 }, new AbortController().signal), (error) => !(error instanceof Refused), 'it was carried out');
  const unknown = await answering({ data: null, errors: [{ message: 'm', path: ['createNote'], extensions: { code: 'INTERNAL' } }] });
  await assert.rejects(unknown(SyncNotesDocument, { first: 1 }, new AbortController().signal), (error) => !(error instanceof Refused), 'nobody knows');
  const away = sender('http://127.0.0.1:1/graphql', async () => 'a token');
  await assert.rejects(away(SyncNotesDocument, { first: 1 }, new AbortController().signal), (error) => !(error instanceof Refused));
});
