// Fetches the embedded DynamoDB of this platform, in the version of package.json: `node install.mjs <GOOS> <GOARCH>`. Platforms
// are named as Go names them, because the server looks for the program of the platform that it was built for.
//
// Where the lock file has the package, npm checks it against that; the checksums of the others are not in it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// What the publisher has packages for.
const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

const here = dirname(fileURLToPath(import.meta.url));
const read = (name) => JSON.parse(readFileSync(join(here, name), 'utf8'));

const [goos, goarch] = process.argv.slice(2);
const os = { windows: 'win32' }[goos] ?? goos;
const cpu = { amd64: 'x64' }[goarch] ?? goarch;
const platform = `${os}-${cpu}`;
const name = `@dynoxide/${platform}`;
const version = read('package.json').optionalDependencies['@dynoxide/linux-x64'];

const otherwise = `Use another DynamoDB: set AWS_ENDPOINT_URL_DYNAMODB to its URL (docs/operating.md, "On AWS"), or TAGGIE_ENGINE_DYNAMODB to a dynoxide
that you built. With Docker, two commands start DynamoDB Local and Taggie on it:

  docker run -d -p 127.0.0.1:8000:8000 amazon/dynamodb-local

  AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local \\
    TAGGIE_SECRET=$(openssl rand -base64 32) sh -c 'make engines build && bin/taggie tables apply && bin/taggie serve'
`;

// without ends the script where there is no program. That is right where another DynamoDB is configured.
function without(reason) {
  const configured = ['AWS_ENDPOINT_URL_DYNAMODB', 'TAGGIE_ENGINE_DYNAMODB'].find((variable) => process.env[variable]) ??
    (process.env.TAGGIE_DYNAMODB === 'aws' ? 'TAGGIE_DYNAMODB' : undefined);
  if (configured) {
    console.error(`${reason} That does not matter: ${configured} says which one to use.`);
    process.exit(0);
  }
  console.error(`${reason}\n\n${otherwise}`);
  process.exit(1);
}

if (!platforms.includes(platform)) {
  without(`There is no embedded DynamoDB for ${platform}: its publisher has it for ${platforms.join(', ')}.`);
}
const locked = read('package-lock.json').packages[`node_modules/${name}`] !== undefined;
const how = locked ? ['ci'] : ['install', '--no-save', '--no-package-lock', `${name}@${version}`];
// npm would look at the platform of Node, which may be another one: a Node for x64 also runs on Apple's arm64.
const npm = spawnSync('npm', [...how, `--os=${os}`, `--cpu=${cpu}`, '--no-audit', '--no-fund', '--loglevel=error'],
  { cwd: here, stdio: 'inherit', shell: process.platform === 'win32' });
const program = join(here, 'node_modules', name, os === 'win32' ? 'dynoxide.exe' : 'dynoxide');
if (npm.status !== 0 || !existsSync(program)) { // npm takes an optional package that it cannot get for none
  without(`npm did not get ${name}@${version}.`);
}
writeFileSync(join(here, 'node_modules', '.installed'), ''); // the Makefile's stamp
