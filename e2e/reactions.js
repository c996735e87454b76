// How long each page of the board takes to react in a large project: make reactions (docs/performance.md)

import { cpus, loadavg } from 'node:os';
import { launch, openPage } from './browser.js';
import { goBefore, ITEMS, largeProject, pages } from './large.js';
import { demoLoaded, startServer } from './server.js';

const TIMES = 20;
const WAIT_MS = 15_000;

/** Runs in the page before its own scripts, whose listeners may keep keys to themselves: remembers when somebody pressed something. */
function listen() {
  for (const type of ['keydown', 'pointerdown']) window.addEventListener(type, ({ timeStamp }) => (window.pressedAt = timeStamp), { capture: true });
}

/** Runs in the page: how long it takes from the last key or click until what is looked for has been drawn, in milliseconds. */
function react(selector) {
  window.pressedAt = 0;
  return new Promise((resolve) => {
    const before = new Set(document.querySelectorAll(selector)); // of a page that is being left
    function look() {
      const isThere = window.pressedAt && [...document.querySelectorAll(selector)].some((element) => !before.has(element));
      requestAnimationFrame(isThere ? () => resolve(performance.now() - window.pressedAt) : look);
    }
    requestAnimationFrame(look);
  });
}

const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

const server = await startServer();
const browser = await launch();
try {
  await demoLoaded(server);
  const id = await largeProject(server, ITEMS);
  const { page } = await openPage(browser, server.origin, `/board#project=${encodeURIComponent(id)}`);
  await page.addInitScript(listen);
  await page.reload();
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  console.log(`${cpus().length} × ${cpus()[0].model}, load average ${loadavg()[0].toFixed(1)}\n\n| Page | median, ms | slowest, ms |\n|---|---|---|`);
  for (const one of pages) {
    const times = [];
    while (times.length < TIMES) {
      await goBefore(page, one);
      const reacted = page.evaluate(react, one.there);
      await page.evaluate(() => undefined); // it listens
      await one.open(page);
      times.push(await reacted);
    }
    console.log(`| ${one.name} | ${Math.round(median(times))} | ${Math.round(Math.max(...times))} |`);
  }
} finally {
  await browser.close();
  await server.stop();
}
