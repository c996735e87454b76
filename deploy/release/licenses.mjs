// Prints the licences of all that others wrote in an archive: `GOOS=… GOARCH=… node licenses.mjs <directory of the archive>`. The Go
// modules are those that the programs import on that platform, the npm packages those that the pages are built from. Everything must be
// named in NOTICE.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [archive] = process.argv.slice(2);
const isLicence = /^(licen[cs]e|copying|copyright|notice|patents)([.-]|$)/i;
const texts = new Map(); // text → names of what it is for
const untold = new Map(); // what its package says → names of packages without a text

function add(name, dirs) {
  let found = false;
  for (const dir of dirs) {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      if (!entry.isFile() || !isLicence.test(entry.name) || entry.name.endsWith('.go')) continue;
      const text = readFileSync(join(dir, entry.name), 'utf8').replaceAll('\r\n', '\n').trim();
      texts.set(text, (texts.get(text) ?? new Set()).add(name));
      found = true;
    }
  }
  return found;
}

// Parts of a module can have a licence of their own, so that all directories from a package up to its module count.
function upwards(dir, root) {
  return dir === root ? [root] : [dir, ...upwards(dirname(dir), root)];
}

const go = (dir, ...args) => execFileSync('go', args, { cwd: dir, encoding: 'utf8', maxBuffer: 1 << 28 });
const modules = new Map(); // name → directories
for (const program of ['.', 'embedded/s3', 'embedded/redis', 'embedded/gate']) {
  const format = '{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}';
  for (const line of go(program, 'list', '-deps', '-f', format, '.').split('\n').filter(Boolean)) {
    const [path, version, root, dir] = line.split('\t');
    const name = `${path} ${version}`;
    modules.set(name, new Set([...(modules.get(name) ?? []), ...upwards(dir, root)]));
  }
}
const without = [...modules].filter(([name, dirs]) => !add(name, dirs)).map(([name]) => name);
const goroot = go('.', 'env', 'GOROOT').trim();
if (!add(`Go's standard library ${go('.', 'env', 'GOVERSION').trim()}`, [goroot])) {
  without.push(`Go (${goroot})`);
}

const packages = JSON.parse(readFileSync('console/package-lock.json', 'utf8')).packages;
const npm = Object.entries(packages).filter(([path, p]) => path && !p.dev && existsSync(join('console', path)));
for (const [path, { version }] of npm) {
  const { name, license, author, repository } = JSON.parse(readFileSync(join('console', path, 'package.json'), 'utf8'));
  if (add(`${name} ${version}`, [join('console', path)])) continue;
  if (!license) without.push(name);
  const told = [license, author?.name ?? author, repository?.url ?? repository].filter(Boolean).join(', ');
  untold.set(`${name} ${version}`, told);
}
if (existsSync(join(archive, 'dynoxide'))) {
  const { optionalDependencies } = JSON.parse(readFileSync('embedded/dynamodb/package.json', 'utf8'));
  untold.set(`dynoxide ${Object.values(optionalDependencies)[0]}`, 'MIT or Apache-2.0 (the text is in LICENSE), https://github.com/nubo-db/dynoxide');
}

const notice = new Set(readFileSync('NOTICE', 'utf8').split(/[\s,]+/));
const named = [...new Set([...[...modules.keys()].map((name) => name.split(' ')[0]), ...npm.map(([path]) => path.split('node_modules/').at(-1))])];
const missing = named.filter((name) => !notice.has(name));
if (missing.length || without.length) {
  if (missing.length) console.error(`NOTICE does not name: ${missing.join(', ')}`);
  if (without.length) console.error(`no licence was found for: ${without.join(', ')}`);
  process.exit(1);
}

const line = '='.repeat(100);
console.log(`Licences of third parties

This archive contains the work of others. First come packages without a licence text in them, with what they say of their licence, then
the texts, each after the names of what it applies to. The source code of Go modules is at their names; the SBOM tells
which npm packages these are.

${[...untold].sort().map(([name, told]) => `${name}: ${told}`).join('\n')}`);
const sorted = [...texts].map(([text, names]) => [[...names].sort(), text]).sort(([a], [b]) => (a.join() < b.join() ? -1 : 1));
for (const [names, text] of sorted) {
  console.log(`\n${line}\n${names.join('\n')}\n${line}\n\n${text}`);
}
