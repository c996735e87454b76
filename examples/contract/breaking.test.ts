import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { compare } from './breaking.ts';
import { file } from './schemas.ts';

test('nothing of the last release is broken', async (t) => {
  const { release, breaking, dangerous } = await compare(fileURLToPath(new URL('.', file)));
  t.diagnostic(release ? `compared with ${release}` : 'there has been no release: nothing to compare with');
  for (const change of dangerous) t.diagnostic(`may surprise clients: ${change}`);
  assert.deepEqual(breaking, [], 'undo these, or announce them in these words under "Unreleased" in CHANGELOG.md');
});

/** A checkout with the schema of today, which is then changed. */
async function checkout(released: boolean, change: (schema: string) => string, changelog = '') {
  const directory = await mkdtemp(path.join(tmpdir(), 'taggie-schema-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: directory, stdio: 'pipe' });
  const schema = path.join(directory, 'schema.graphqls');
  const write = () => writeFile(path.join(directory, 'CHANGELOG.md'), `# Changelog\n\n## [Unreleased]\n${changelog}\n\n## [1.0.0]\n\n- Note.title was removed.\n`);
  try {
    git('init', '--quiet');
    await cp(file, schema);
    await write();
    git('add', '.');
    git('commit', '--quiet', '--no-gpg-sign', '--message', 'Release');
    if (released) git('tag', 'v0.9.0'), git('tag', 'v0.10.0');
    const before = await readFile(schema, 'utf8');
    const after = change(before);
    if (released) assert.notEqual(after, before);
    await writeFile(schema, after);
    return await compare(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const withoutTitle = (schema: string) => schema.replace(/(type Note implements Node \{[^}]*?)\n  title: String!/, '$1\n  heading: String!');

test('a field that was removed is found', async () => {
  assert.deepEqual(await checkout(true, withoutTitle), { release: 'v0.10.0', breaking: ['Note.title was removed.'], dangerous: [] });
});

test('what was announced is no mistake; what an older release announced does not count', async () => {
  const { breaking } = await checkout(true, withoutTitle, '\n### Removed\n\n- `title` of notes: Note.title\n  was removed. Use `name`.');
  assert.deepEqual(breaking, []);
});

test('a new argument that is required, and a field that may be null now, are found', async () => {
  const { breaking } = await checkout(true, (schema) =>
    schema.replace('viewer: User\n', 'viewer(as: ID!): User\n').replace('  hasNextPage: Boolean!', '  hasNextPage: Boolean'),
  );
  assert.deepEqual(breaking, [
    'PageInfo.hasNextPage changed type from Boolean! to Boolean.',
    'A required arg as on Query.viewer was added.',
  ]);
});

test('a new field breaks nothing, and a new value of an enum is only told', async () => {
  const changed = await checkout(true, (schema) =>
    schema.replace('viewer: User\n', 'viewer: User\n  me: User\n').replace('  RESTARTED\n', '  RESTARTED\n  MOVED\n'),
  );
  assert.deepEqual(changed, { release: 'v0.10.0', breaking: [], dangerous: ['MOVED was added to enum type ProjectEventType.'] });
});

test('before the first release there is nothing to compare with', async () => {
  assert.deepEqual(await checkout(false, withoutTitle), { breaking: [], dangerous: [] });
});
