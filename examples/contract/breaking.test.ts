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

/** What the changelog tells of a release, before which there was another. */
const released = '## [0.10.0] - 2026-12-01\n\n- Note.title was removed.\n\n## [0.9.0]\n';

/** A repository with the schema of today in its one commit, and a changelog that tells of releases. */
async function inRepository<T>(tags: string[], changelog: string, releases: string, body: (directory: string) => Promise<T>) {
  const directory = await mkdtemp(path.join(tmpdir(), 'taggie-schema-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: directory, stdio: 'pipe' });
  try {
    git('init', '--quiet');
    await cp(file, path.join(directory, 'schema.graphqls'));
    const text = `# Changelog\n\n## [Unreleased]\n${changelog}\n\n${releases}`;
    await writeFile(path.join(directory, 'CHANGELOG.md'), text);
    git('add', '.');
    git('commit', '--quiet', '--no-gpg-sign', '--message', 'Release');
    for (const tag of tags) git('tag', tag);
    return await body(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** What is found after a change of the schema since the release. */
const changed = (change: (schema: string) => string, changelog = '', tags = ['v0.9.0', 'v0.10.0', 'v0.10.0-rc1'], releases = released) =>
  inRepository(tags, changelog, releases, async (directory) => {
    const schema = path.join(directory, 'schema.graphqls');
    const before = await readFile(schema, 'utf8');
    const after = change(before);
    assert.notEqual(after, before);
    await writeFile(schema, after);
    return compare(directory);
  });

const withoutTitle = (schema: string) => schema.replace(/(type Note implements Node \{[^}]*?)\n  title: String!/, '$1\n  heading: String!');

test('a field that was removed is found', async () => {
  assert.deepEqual(await changed(withoutTitle), { release: 'v0.10.0', breaking: ['Note.title was removed.'], dangerous: [] });
});

test('what was announced is no mistake; what an older release announced does not count', async () => {
  const { breaking } = await changed(withoutTitle, '\n### Removed\n\n- `title` of notes: Note.title\n  was removed. Use `name`.');
  assert.deepEqual(breaking, []);
});

test('a version that is marked as unreleased is no release, and what it announces is no mistake', async () => {
  const ahead = '\n## [0.11.0] - unreleased\n\n- Note.title was removed.';
  assert.deepEqual(await changed(withoutTitle, ahead), { release: 'v0.10.0', breaking: [], dangerous: [] });
});

test('a new argument that is required, and a field that may be null now, are found', async () => {
  const { breaking } = await changed((schema) =>
    schema.replace('viewer: User\n', 'viewer(as: ID!): User\n').replace('  hasNextPage: Boolean!', '  hasNextPage: Boolean'),
  );
  assert.deepEqual(breaking, [
    'PageInfo.hasNextPage changed type from Boolean! to Boolean.',
    'A required arg as on Query.viewer was added.',
  ]);
});

test('a new field breaks nothing, and a new value of an enum is only told', async () => {
  const found = await changed((schema) =>
    schema.replace('viewer: User\n', 'viewer: User\n  me: User\n').replace('  RESTARTED\n', '  RESTARTED\n  MOVED\n'),
  );
  assert.deepEqual(found, { release: 'v0.10.0', breaking: [], dangerous: ['MOVED was added to enum type ProjectEventType.'] });
});

test('before the first release there is nothing to compare with', async () => {
  assert.deepEqual(await changed(withoutTitle, '', [], ''), { breaking: [], dangerous: [] });
});

test('a clone that lacks the tag of a release is refused', async () => {
  await inRepository(['v0.9.0', 'v0.10.0'], '', released, async (directory) => {
    for (const depth of [['--depth=1'], []]) {
      const clone = path.join(directory, `clone${depth}`);
      execFileSync('git', ['clone', '--quiet', ...depth, '--no-tags', `file://${directory}`, clone], { stdio: 'pipe' });
      await assert.rejects(compare(clone), /no tag of the last release, v0\.10\.0/);
      execFileSync('git', ['tag', 'v0.9.0'], { cwd: clone });
      await assert.rejects(compare(clone), /no tag of the last release, v0\.10\.0/, 'an older release is not the last one');
    }
  });
});
