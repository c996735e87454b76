// From the address of a server to an exported result, in Chromium and in Firefox by the same code; no call of the API by the test itself.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { steps } from './journey.js';
import { demoLoaded, startServer } from './server.js';
import { browserNames, launch, visit } from './visitor.js';

const people = ['José Muñoz', '佐藤 美咲'];

let server;

before(async () => {
  server = await startServer(); // as `make run` does
  await demoLoaded(server);
});

after(() => server?.stop());

for (const browserName of browserNames) {
  test(`a labelling project from the browser alone, in ${browserName}`, async (t) => {
    const files = await mkdtemp(path.join(tmpdir(), 'taggie-journey-'));
    const downloads = await mkdtemp(path.join(tmpdir(), 'taggie-downloads-'));
    const browser = await launch(browserName, downloads);
    try {
      const visitor = () => visit(browser, server.origin, '/board', { downloads });
      const world = {
        name: `Plants in ${browserName}`,
        names: people,
        manager: await visitor(),
        labellers: [await visitor(), await visitor()],
        downloads,
        send: (_, act) => act(),
        async file(name, content) {
          const file = path.join(files, name);
          await writeFile(file, content);
          return file;
        },
      };
      for (const [name, step] of steps) {
        let isDone = false;
        await t.test(name, async () => {
          await step(world);
          isDone = true;
        });
        if (!isDone) return; // the next step begins where this one ends
      }
      for (const person of [world.manager, ...world.labellers]) assert.deepEqual(person.complaints(), []);
    } finally {
      await browser.close();
      for (const directory of [files, downloads]) await rm(directory, { recursive: true, force: true });
    }
  });
}
