// The board while the network is lost, and pictures do not come.

import assert from 'node:assert/strict';
import { giveBack, go, itemOf, member, work } from './board.js';
import { WAIT_MS, chosen, claim, live, messages, onBoard, out, type, world } from './board-page.js';
import { pictureShown } from './browser.js';
import { until } from './server.js';

onBoard(
  'the network is cut for ten seconds, and the board catches up',
  // What fails while the network is cut is what the test is about.
  { origin: () => world.network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    const token = await member(world.server, project.id, 'TAGGIE', 'lin@example.com');
    const sent = [];
    const told = [];
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(payload)));
      socket.on('framereceived', ({ payload }) => told.push(JSON.parse(payload)));
    });
    // The sockets that were opened before are not listened to: begin with a new one.
    await page.reload();
    await live(page);
    await claim(page);
    await type(page);
    const typed = await page.locator('.picture-name strong').innerText();
    await until('its event is there', WAIT_MS, () => told.some(({ payload }) => payload?.data?.projectEvents?.type === 'CLAIMED'));
    const before = cursors(told).at(-1);

    world.network.cut();
    const since = Date.now();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: WAIT_MS });
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet: The server cannot be reached\. It is kept here, and sent by itself\./).waitFor({ timeout: WAIT_MS });
    const item = await work(world.server, project.id, token);
    await page.screenshot({ path: new URL('board-cut.png', out).pathname });
    await until('ten seconds are over', 20_000, () => Date.now() - since >= 10_000);
    const mark = told.length;
    world.network.mend();

    await live(page);
    await page.getByText(/^Live again: \d+ events? caught up$/).waitFor({ timeout: WAIT_MS });
    const again = sent.filter((message) => message.type === 'subscribe').at(-1);
    assert.equal(again.payload.variables.after, before, 'it goes on behind the last cursor');
    const kinds = told.slice(mark).map(({ payload }) => payload?.data?.projectEvents?.__typename).filter(Boolean);
    assert.ok(kinds.length >= 2 && kinds.every((kind) => kind === 'ProjectEvent'), `no gap, no snapshot: ${kinds}`);
    await messages(page).getByText(`“${typed}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.equal((await itemOf(world.server, project.id, typed)).status, 'FINISHED');
    await page.keyboard.press('Escape');
    await go(page, 'b');
    await page.getByRole('region', { name: 'Finished' }).getByText(item.name).waitFor({ timeout: WAIT_MS });
    await page.screenshot({ path: new URL('board-caught-up.png', out).pathname });

    // A network that loses everything, and closes nothing.
    world.network.freeze();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: 40_000 });
    world.network.mend();
    await live(page);
  },
);

const cursors = (told) => told.map(({ payload }) => payload?.data?.projectEvents?.cursor).filter(Boolean);

onBoard(
  'a finish that was not sent is sent by the page that is opened next',
  { origin: () => world.network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, context, project }) => {
    const name = await claim(page);
    await type(page);
    world.network.cut();
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet/).waitFor({ timeout: WAIT_MS });
    const address = page.url();
    await page.close();
    world.network.mend();
    const next = await context.newPage();
    await next.goto(address);
    await messages(next).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.deepEqual((await itemOf(world.server, project.id, name)).keywords, ['bass clef', 'stai']);
  },
);

onBoard(
  'a finish that waits is taken back into the form',
  { origin: () => world.network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    const name = await claim(page);
    await type(page);
    world.network.cut();
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(/is not sent yet/).waitFor({ timeout: WAIT_MS });
    await page.keyboard.press('Escape');
    await page.keyboard.press('u');
    await messages(page).getByText(`“${name}” is in the form again, and is not sent.`).waitFor({ timeout: WAIT_MS });
    assert.equal(await messages(page).getByText(/is not sent yet/).count(), 0);
    await chosen(page, 'Music');
    world.network.mend();
    await live(page);
    assert.equal((await itemOf(world.server, project.id, name)).status, 'CLAIMED');
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
    assert.deepEqual((await itemOf(world.server, project.id, name)).keywords, ['bass clef', 'stai']);
  },
);

onBoard(
  'a picture that did not load is tried again, by itself and by hand',
  { origin: () => world.network.origin, expected: /ERR_|WebSocket connection|^socket: / },
  async ({ page, project }) => {
    let refused = 0;
    const refuse = (route) => {
      refused += 1;
      return route.abort();
    };
    const mended = async () => {
      await page.unroute(`${project.pictures}/**`);
      return page.locator('.picture img');
    };
    const broken = async () => {
      refused = 0;
      await page.route(`${project.pictures}/**`, refuse);
      await page.reload();
      await page.getByText('The picture did not load.').waitFor({ timeout: WAIT_MS });
    };
    await page.clock.install();
    await claim(page);

    await broken();
    assert.equal(await page.getByText('TAGGIE_PICTURE_ORIGINS').count(), 0);
    await page.screenshot({ path: new URL('board-picture-failed.png', out).pathname });
    let picture = await mended();
    await page.clock.runFor(5_000);
    await pictureShown(picture);

    await broken();
    await live(page);
    world.network.cut();
    await page.getByRole('status').getByText(/^Connection lost/).waitFor({ timeout: WAIT_MS });
    await page.clock.runFor(5_000);
    await until('it is not tried any more', WAIT_MS, () => refused >= 2);
    picture = await mended();
    world.network.mend();
    await page.clock.runFor(5_000);
    await live(page);
    await pictureShown(picture);

    await broken();
    await live(page);
    await page.clock.runFor(5_000);
    await until('it is not tried any more', WAIT_MS, () => refused >= 2);
    await page.getByText('The picture did not load.').waitFor({ timeout: WAIT_MS });
    picture = await mended();
    await page.getByRole('button', { name: 'Retry' }).click();
    await pictureShown(picture);
    await giveBack(world.server, project.id);
  },
);
