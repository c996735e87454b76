// Runs every query, mutation, subscription and shell block that the documentation shows, in the order of the documents, on a fresh server with
// the small demo set. An id in capitals stands for one that an earlier answer gave; here it is looked up by what it is the id of.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocks, documents } from './docs.js';
import { demoLoaded, query, startServer, until } from './server.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const INDEX_MS = 240_000; // an index is ready a minute after it was declared, or later on a busy machine
const SHELL_MS = 60_000;

let server, shell, directory;
const answered = {}; // the last data of each operation, by its name

before(async () => {
  server = await startServer();
  await demoLoaded(server);
  directory = await mkdtemp(path.join(tmpdir(), 'taggie-docs-'));
  await symlink(path.resolve(here, '../bin'), path.join(directory, 'bin'));
  await copyFile(path.resolve(here, '../docs/pictures/board-work.png'), path.join(directory, 'page.png'));
  shell = startShell();
});

after(async () => {
  shell?.end();
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

// Who sends an operation, unless it is Ada.
const senders = {
  SignUp: () => server.token('you@example.com'),
  Leave: () => server.token('you@example.com'),
  ComeBack: () => tokenOfDeleted('you@example.com'),
  Revoke: () => server.token('root@example.com', '--admin'),
  Delete: () => server.token('root@example.com', '--admin'),
  Quota: () => server.token('root@example.com', '--admin'),
  FindUsers: () => server.token('root@example.com', '--admin'),
};

/** A token that counts for a deleted user: it is issued in a later second than the deletion. */
const tokenOfDeleted = (email) =>
  until('a new token counts', SHELL_MS, async () => {
    const token = await server.token(email);
    const { errors } = await query(server.origin, '{ viewer { id } }', undefined, token);
    return errors?.[0].extensions.code === 'USER_DELETED' && token;
  });

const ada = async (text) => (await query(server.origin, text)).data.viewer;
const firstProject = `projects(first: 10) { nodes { name id categories { id } teams { id type } viewerClaims { id claim { token } } } }`;
const archive = async () => (await ada(`{ viewer { ${firstProject} } }`)).projects.nodes.find((one) => one.name === 'Town archive');
const score = async () =>
  (await ada('{ viewer { scores(first: 9) { nodes { id snapshots { id name } pages { item { id } } } } } }')).scores.nodes.find((one) =>
    one.snapshots.some((snapshot) => snapshot.name === 'First reading'),
  );

function once(find) {
  let found;
  return () => (found ??= find());
}

// What the words in capitals stand for.
const ids = {
  NOTE_ID: once(async () => (await ada('{ viewer { notes(first: 50) { nodes { id version } } } }')).notes.nodes.find((one) => one.version === 1).id),
  VERSION_ID: async () => answered.Versions.note.versions.nodes[0].id,
  DELETED_NOTE_ID: async () => answered.Sync.viewer.noteChanges.nodes.find((one) => one.deletedAt).noteId,
  SCOPE_ID: async () => (await ada('{ viewer { scopes(first: 9) { nodes { id name } } } }')).scopes.nodes.find((one) => one.name === 'Music library').id,
  DELETED_SCOPE_ID: async () => answered.DeleteScope.deleteScope.deleted.scopeId,
  OAK_ID: async () => answered.SetPlants.oak.entity.id,
  IVY_ID: async () => answered.SetPlants.ivy.entity.id,
  PROJECT_ID: async () => (await archive()).id,
  DELETED_PROJECT_ID: async () => answered.DeleteProject.deleteProject.deleted.projectId,
  TEAM_ID: async () => (await archive()).teams.find((team) => team.type !== 'MANAGER').id,
  CATEGORY_ID: async () => (await archive()).categories[0].id,
  ITEM_ID: async () => (await archive()).viewerClaims[0].id,
  TOKEN: async () => (await archive()).viewerClaims[0].claim.token,
  INVITATION_TOKEN: async () => answered.Invite.createProjectInvitation.invitation.token,
  REMOVAL_ID: async () => answered.RemoveItems.removeProjectItems.removal.id,
  EXPORT_ID: async () => answered.Export.createProjectExport.export.id,
  SCORE_ID: async () => (await score()).id,
  SNAPSHOT_ID: async () => (await score()).snapshots.find((one) => one.name === 'First reading').id,
  LIBRARY_ITEM_ID: async () => (await score()).pages.find((page) => page.item).item.id,
  USER_ID: async (block) => (/revokeUser|blockUser|deleteUser/.test(block) ? answered.SignUp.createUser.user.id : (await ada('{ viewer { id } }')).id),
};

async function filled(text) {
  for (const [word] of text.matchAll(/\b[A-Z]+(_[A-Z]+)*_ID\b|(?<=")(INVITATION_)?TOKEN(?=")/g)) {
    assert.ok(ids[word], `what is ${word}?`);
    text = text.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), await ids[word](text));
  }
  return text;
}

test('every block of the documentation runs', async (t) => {
  const counts = { run: 0, 'not run': 0 };
  const lookups = []; // last: their indexes are built meanwhile
  for (const name of await documents()) {
    for (const block of await blocks(name)) {
      if (block.reason) {
        counts['not run']++;
        t.diagnostic(`not run: ${block.name}: ${block.reason}`);
        continue;
      }
      counts.run++;
      if (/\blookup\(/.test(block.text)) lookups.push(block);
      else await t.test(block.name, () => (block.language === 'sh' ? shell.run(block) : operation(block)));
    }
  }
  for (const block of lookups) await t.test(block.name, () => operation(block));
  t.diagnostic(`${counts.run} blocks run, ${counts['not run']} not`);
  assert.ok(counts.run > 40, 'the blocks were found');
});

async function operation(block) {
  const text = await filled(block.text);
  const [, kind, name] = /^(query|mutation|subscription) (\w+)/m.exec(text) ?? [];
  assert.ok(name, 'every operation that is shown has a name');
  const token = await senders[name]?.();
  if (kind === 'subscription') return assertFirstMessage(text);
  const answer = await until(`${name} is answered, its index ready`, INDEX_MS, async () => {
    const one = await query(server.origin, text, undefined, token);
    return one.errors?.[0].extensions.code === 'UNAVAILABLE' && /\blookup\(/.test(text) ? undefined : one;
  });
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
  for (const payload of Object.values(answer.data)) assert.equal(payload?.problem ?? null, null, JSON.stringify(payload));
  assert.ok(Object.values(answer.data).every((value) => value !== null), 'what is shown finds something');
  answered[name] = answer.data;
}

async function assertFirstMessage(text) {
  const { token } = await (await fetch(`${server.origin}/session`)).json();
  const stop = new AbortController();
  const response = await fetch(`${server.origin}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: text }),
    signal: stop.signal,
  });
  let told = '';
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    told += part;
    if (/event: next\n[\s\S]*\n\n/.test(told)) break;
  }
  stop.abort();
  const message = JSON.parse(/^data: ?(.*)$/m.exec(told.slice(told.indexOf('event: next')))[1]);
  assert.equal(message.errors, undefined, told);
}

/** One shell for all documents, as somebody has open who reads them; it ends with the first command that fails. */
function startShell() {
  const child = spawn('bash', ['-c', 'set -euo pipefail; while IFS= read -r -d "" block; do eval "$block"; echo "::done"; done'], {
    cwd: directory,
    env: { ...process.env, TAGGIE_DATA: server.data, TAGGIE_ADDR: new URL(server.origin).host },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let done = false;
  let ended = false;
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (out += text));
  child.stdout.on('data', (text) => (done ||= text.endsWith('::done\n'))); // what stderr has to say may come later
  child.on('exit', () => (ended = true));
  return {
    async run(block) {
      out = '';
      done = false;
      const text = (await filled(block.text)).replaceAll('http://127.0.0.1:8080', server.origin);
      child.stdin.write(`${text}\0`);
      await until(`the end of ${block.name}`, SHELL_MS, () => ended || done);
      assert.ok(done, `a command failed:\n${out}`);
      assert.doesNotMatch(out, /"errors":/, out);
    },
    end: () => child.kill(),
  };
}
