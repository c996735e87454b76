// The documents of the repository, and the blocks of them that can be run.

import { readdir, readFile } from 'node:fs/promises';

const root = new URL('../', import.meta.url);

/** The documents that show how to use Taggie, in the order in which somebody new would read them. */
export async function documents() {
  const tour = ['notes', 'entities', 'projects', 'scores', 'tags'].map((name) => `docs/tour/${name}.md`);
  const others = (await readdir(new URL('docs/', root))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  const all = ['README.md', ...tour, ...others.sort()];
  const found = (await readdir(new URL('docs/tour/', root))).length;
  if (found !== tour.length) throw new Error(`docs/tour has ${found} documents, of which ${tour.length} are checked`);
  return all;
}

/**
 * The blocks of a document that say ```graphql or ```sh: text, language, line, and why it is not run, which a comment in the line before
 * says: <!-- not run: reason -->
 */
export async function blocks(name) {
  const text = await readFile(new URL(name, root), 'utf8');
  return [...text.matchAll(/(?:^<!-- not run: (.*) -->\n)?^```(graphql|sh)\n([\s\S]*?)^```$/gm)].map((found) => ({
    name: `${name}:${text.slice(0, found.index).split('\n').length + (found[1] ? 1 : 0)}`,
    reason: found[1],
    language: found[2],
    text: found[3],
  }));
}
