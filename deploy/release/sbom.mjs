// Prints one SBOM for an archive: `node sbom.mjs <version> <time> <directory of the archive> <directory of SBOMs> <package.json of
// dynoxide>`. It joins the SBOMs of the programs and of the pages (pages.json), and adds dynoxide, which comes as a program. Their serial
// numbers and times are left out, so that the same archive always has the same SBOM.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [version, epoch, archive, parts, dynoxide] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const sha256 = (file) => ({ alg: 'SHA-256', content: createHash('sha256').update(readFileSync(join(archive, file))).digest('hex') });

const components = new Map(); // by bom-ref
const dependencies = new Map(); // bom-ref → bom-refs
const depend = (ref, on) => dependencies.set(ref, new Set([...(dependencies.get(ref) ?? []), ...on]));
const main = { 'bom-ref': 'taggie', type: 'application', name: 'taggie', version };

for (const file of readdirSync(parts).filter((name) => name.endsWith('.json')).sort()) {
  const bom = read(join(parts, file));
  const program = file.replace('.json', '');
  const top = { ...bom.metadata.component };
  if (existsSync(join(archive, program))) top.hashes = [sha256(program)];
  for (const component of [top, ...bom.components]) components.set(component['bom-ref'], component);
  for (const { ref, dependsOn } of bom.dependencies) depend(ref, dependsOn ?? []);
  depend('taggie', [top['bom-ref']]);
}

if (existsSync(join(archive, 'dynoxide'))) {
  const { name, version: exact, license } = read(dynoxide);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${exact}`;
  components.set(purl, {
    'bom-ref': purl, type: 'application', name, version: exact, purl, hashes: [sha256('dynoxide')],
    licenses: [{ expression: license.replace(/^\((.*)\)$/, '$1') }],
  });
  depend('taggie', [purl]);
}

const byRef = ([a], [b]) => (a < b ? -1 : 1);
console.log(JSON.stringify({
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { timestamp: new Date(epoch * 1000).toISOString(), component: main },
  components: [...components].sort(byRef).map(([, component]) => component),
  dependencies: [...dependencies].sort(byRef).map(([ref, on]) => ({ ref, dependsOn: [...on].sort() })),
}, null, 1));
