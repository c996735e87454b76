// Opens Chromium, and watches what a page does that it must not.

import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { until } from './server.js';

/** How Chromium starts. */
export const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No name can be resolved: whatever would leave the machine fails, and is seen.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

/** Launches the installed Chromium with a fresh profile. */
export function launch() {
  return chromium.launch({
    executablePath: findChromium(),
    headless: true,
    args: ['--headless', ...chromiumFlags],
  });
}

export const findChromium = () => findProgram('CHROMIUM_PATH', ['chromium', 'chromium-browser', 'google-chrome']);

/** The program that the variable names, or else the first one of these that is in PATH. */
export function findProgram(variable, programs) {
  if (process.env[variable]) return process.env[variable];
  for (const program of programs) {
    for (const directory of (process.env.PATH ?? '').split(path.delimiter)) {
      const file = path.join(directory, program);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // not here
      }
    }
  }
  throw new Error(`no ${programs[0]} in PATH: install it (Debian: apt-get install ${programs[0]}) or set ${variable}`);
}

/** Opens GraphiQL in a fresh browser context. */
export async function openConsole(browser, origin, options = {}) {
  const opened = await openPage(browser, origin, '/', options);
  await opened.page.locator('.graphiql-query-editor .view-line').first().waitFor();
  return opened;
}

/**
 * Opens a page in a fresh browser context; complaints() lists everything that must not happen. Pictures may come from the origins that
 * are given, and complaints that match `expected` are none. Its users have seen the first steps of the board, unless they are new. With a
 * token, somebody is signed in who has pasted it.
 */
export async function openPage(browser, origin, path, { pictures = [], expected, isNew = false, token, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce', ...options });
  const complaints = [];
  const operations = [];

  context.on('request', (request) => {
    const url = request.url();
    const picture = request.resourceType() === 'image' && pictures.includes(new URL(url).origin);
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url) && !picture) complaints.push(`request to ${url}`);
    if (new URL(url).pathname.endsWith('/graphql')) operations.push(request);
  });
  context.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  context.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // The page itself gave up what it no longer shows: it was left, or the next item came before the picture. Servers cannot cause that.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()}: ${reason}`);
  });
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console ${message.type()}: ${message.text()}`);
  });
  context.on('weberror', (error) => complaints.push(`uncaught: ${error.error()}`));
  await context.exposeBinding('reportViolation', (_, text) => complaints.push(`content security policy: ${text}`));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.reportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });

  if (token) {
    await context.addInitScript((value) => {
      if (location.origin === 'null') return; // the empty page that comes first has no storage
      sessionStorage.setItem('taggie:mode', 'own');
      sessionStorage.setItem('taggie:token', value);
    }, token);
  }
  if (!isNew) await context.addInitScript(haveSeenFirstSteps);

  const page = await context.newPage();
  page.on('websocket', (socket) => {
    const expected = `${origin.replace(/^http/, 'ws')}/graphql`;
    if (socket.url() !== expected) complaints.push(`socket to ${socket.url()}`);
    socket.on('socketerror', (text) => complaints.push(`socket: ${text}`));
  });
  page.on('worker', (worker) =>
    worker.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`worker: ${message.text()}`);
    }),
  );
  await page.goto(`${origin}${path}`);
  return { context, page, operations, complaints: () => complaints.filter((text) => !expected?.test(text)) };
}

/** Runs in the page: whoever signs in there, the browser says that the user has seen the first steps. */
function haveSeenFirstSteps() {
  const { getItem } = Storage.prototype;
  Storage.prototype.getItem = function (key) {
    return key.startsWith('taggie:tour:') ? 'seen' : getItem.call(this, key);
  };
}

/** Waits until a picture is shown; its element and its address may change meanwhile. */
export async function pictureShown(picture) {
  await until('a picture', 15_000, () => picture.evaluate((image) => image.complete && image.naturalWidth > 0));
}

/** Puts the cursor into the operation editor. */
export async function focusEditor(page) {
  await page.locator('.graphiql-query-editor .inputarea, .graphiql-query-editor .native-edit-context').first().focus();
}

/** Waits until GraphiQL has taken the editor's text over; until then it would run with the name of the operation before. */
export async function settled(page, text) {
  await page.waitForFunction((part) => localStorage.getItem('graphiql:query')?.includes(part), text);
}

/** Opens the tab of an example, and waits until the page has filled ids into its variables. */
export async function openTab(page, title) {
  await page.locator('[id^="graphiql-session-tab-"]').getByText(title, { exact: true }).click();
  await settled(page, ` ${title}`);
  await page.waitForFunction(() => !/"([A-Z]+_ID|TOKEN)"/.test(localStorage['graphiql:variables'] ?? ''));
  await focusEditor(page);
}

/** Runs the active tab with Ctrl+Enter; returns the request and its answer. */
export async function run(page) {
  const [response] = await Promise.all([
    page.waitForResponse((r) => new URL(r.url()).pathname.endsWith('/graphql') && !/IntrospectionQuery/.test(r.request().postData())),
    page.keyboard.press('Control+Enter'),
  ]);
  return { request: response.request(), status: response.status(), answer: await response.json() };
}

/** The visible text of the response pane, with plain spaces. */
export async function responsePane(page) {
  const text = await page.locator('.graphiql-response .view-lines').innerText();
  return text.replace(/\u00a0/g, ' ');
}
