// What a change of the schema breaks of the last release. The release is the newest tag `v…` behind HEAD, whose own
// schema.graphqls it is: nothing has to be kept up to date. What is broken on purpose stands, in the words of this check, in
// CHANGELOG.md under "Unreleased", or under a version that is marked as unreleased.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildSchema, findBreakingChanges, findDangerousChanges } from 'graphql';

export interface Comparison {
  /** The tag of the last release; none when there was none. */
  release?: string;
  /** What breaks clients and is not announced. */
  breaking: string[];
  /** What may surprise clients that do not expect it, such as a new value of an enum. */
  dangerous: string[];
}

/** The heading of a release in CHANGELOG.md. */
const released = /^## \[(\d[^\]]*)\](?! - unreleased$)/m;

/** Compares the schema in a checkout with that of the last release. */
export async function compare(checkout: string): Promise<Comparison> {
  const git = async (...args: string[]) =>
    // A checkout may belong to another user, and its tags can be read all the same.
    (await promisify(execFile)('git', ['-c', 'safe.directory=*', '-c', 'versionsort.suffix=-', ...args], { cwd: checkout, maxBuffer: 16 << 20 })).stdout.trim();

  const tags = (await git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-version:refname')).split('\n');
  const release = tags[0];
  const changelog = await readFile(path.join(checkout, 'CHANGELOG.md'), 'utf8');
  const told = released.exec(changelog)?.[1]; // the newest stands first
  if (told && !tags.includes(`v${told}`)) {
    const shallow = (await git('rev-parse', '--is-shallow-repository')) === 'true';
    throw new Error(`this clone has no tag of the last release, v${told}, behind HEAD: git fetch ${shallow ? '--unshallow ' : ''}--tags`);
  }
  if (!release) return { breaking: [], dangerous: [] };
  const [before, now] = await Promise.all([
    git('show', `${release}:schema.graphqls`),
    readFile(path.join(checkout, 'schema.graphqls'), 'utf8'),
  ]);
  return { release, ...changes(before, now, changelog) };
}

function changes(before: string, now: string, changelog: string) {
  const [old, current] = [buildSchema(before), buildSchema(now)];
  const announced = changelog.slice(0, released.exec(changelog)?.index).replace(/\s+/g, ' ');
  return {
    breaking: findBreakingChanges(old, current).map((change) => change.description).filter((text) => !announced.includes(text)),
    dangerous: findDangerousChanges(old, current).map((change) => change.description),
  };
}
