import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { focusEditor, launch, openConsole, openTab, responsePane, run, settled } from './browser.js';
import { query, startServer, until } from './server.js';

const DEMO_MS = 60_000; // the first start loads a small demo set
const WAIT_MS = 10_000;
const out = new URL('out/', import.meta.url);
const readme = new URL(process.env.TAGGIE_README ?? '../README.md', import.meta.url);

let server;
let browser;
let bucket; // the origin of pictures

before(async () => {
  await mkdir(out, { recursive: true });
  server = await startServer();
  browser = await launch();
  await until('the demo user has five notes', DEMO_MS, async () => {
    const { data } = await query(server.origin, '{ viewer { notes(first: 5) { nodes { title } } } }');
    return data?.viewer?.notes?.nodes?.length === 5;
  });
  bucket = await until('the demo user has a page of a score', DEMO_MS, async () => {
    const { data } = await query(server.origin, '{ viewer { scores(first: 5) { nodes { pages { item { url } } } } } }');
    const pages = data?.viewer?.scores?.nodes?.flatMap((score) => score.pages) ?? [];
    return pages[0] && new URL(pages[0].item.url).origin;
  });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** A test on a fresh page, which at its end must have nothing to complain of. */
function onPage(name, options, body) {
  test(name, async () => {
    const opened = await openConsole(browser, server.origin, options);
    try {
      await body(opened);
      assert.deepEqual(opened.complaints(), []);
    } finally {
      await opened.context.close();
    }
  });
}

const signedIn = (page) => page.getByText(/^Signed in as .+ \(demo\)$/).waitFor({ timeout: WAIT_MS });

function assertNotes(answer) {
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
  const { nodes } = answer.data.viewer.notes;
  assert.ok(nodes.length > 0, 'the demo user has notes');
  for (const note of nodes) assert.ok(note.title, 'each note has a title');
}

/** Waits until the answer holds a text, wherever its lines are broken. */
async function paneShows(page, text) {
  let shown;
  const dense = (part) => part.replace(/\s/g, '');
  const showsText = async () => dense((shown = await responsePane(page))).includes(dense(text));
  await until(`the response pane shows ${text}`, WAIT_MS, showsText).catch((error) => {
    throw new Error(`${error.message}\nIt shows: ${shown}`, { cause: error });
  });
}

onPage('the first tab runs by keyboard, signed in, and shows its cost', {}, async ({ page }) => {
  await signedIn(page);
  assert.equal(await page.title(), 'Taggie');
  await focusEditor(page);
  const { request, status, answer } = await run(page);
  assert.equal(status, 200);
  assert.match((await request.allHeaders()).authorization, /^Bearer .+/);
  assertNotes(answer);
  assert.ok(answer.extensions.dynamo.calls >= 1, 'the answer says what it cost');
  await paneShows(page, answer.data.viewer.name);
  await paneShows(page, answer.data.viewer.notes.nodes[0].title);
});

onPage("the README's first query, pasted, runs by keyboard", { permissions: ['clipboard-read', 'clipboard-write'] }, async ({ page }) => {
  await signedIn(page);
  const block = /^```graphql\r?\n([\s\S]*?)^```/m.exec(await readFile(readme, 'utf8'));
  assert.ok(block, 'the README has a block of GraphQL');
  await focusEditor(page);
  await page.keyboard.press('Control+A');
  await page.evaluate((text) => navigator.clipboard.writeText(text), block[1]);
  await page.keyboard.press('Control+V');
  await settled(page, block[1].trim());
  const { request, answer } = await run(page);
  assert.equal(request.postDataJSON().query.replace(/\s+/g, ' ').trim(), block[1].replace(/\s+/g, ' ').trim());
  assertNotes(answer);
  await paneShows(page, answer.data.viewer.notes.nodes[0].title);
});

onPage('every example tab gets an answer without errors', {}, async ({ page }) => {
  await signedIn(page);
  const tabs = page.locator('[id^="graphiql-session-tab-"]');
  const count = await tabs.count();
  assert.ok(count > 1);
  for (let i = 0; i < count; i++) {
    const title = await tabs.nth(i).innerText();
    await openTab(page, title);
    if (title === 'ProjectEvents') continue; // has tests of its own
    const { request, answer } = await run(page);
    assert.equal(request.postDataJSON().operationName, title);
    assert.equal(answer.errors, undefined, `${title}: ${JSON.stringify(answer.errors)}`);
    for (const payload of Object.values(answer.data)) assert.equal(payload.problem ?? null, null, title);
    await paneShows(page, '"data"');
  }
});

const findProject = '{ viewer { projects(first: 1) { nodes { id } } } }';
const claimItem = `mutation ($input: ClaimProjectItemsInput!) {
  claimProjectItems(input: $input) { items { id name claim { token } } }
}`;
const releaseItem = `mutation ($input: ReleaseProjectItemInput!) {
  releaseProjectItem(input: $input) { item { status } }
}`;

/** Has the demo user claim one item of the first project over HTTP. */
async function claim() {
  const found = await query(server.origin, findProject);
  const answer = await query(server.origin, claimItem, { input: { projectId: found.data.viewer.projects.nodes[0].id } });
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
  const [item] = answer.data.claimProjectItems.items;
  return { name: item.name, release: () => query(server.origin, releaseItem, { input: { itemId: item.id, token: item.claim.token } }) };
}

/** Runs the subscription of the example tab, and waits for the first message. */
async function subscribe(page) {
  await openTab(page, 'ProjectEvents');
  await page.keyboard.press('Control+Enter');
  await paneShows(page, '"ProjectSnapshot"');
}

onPage('a subscription shows a snapshot, and then what another request does', {}, async ({ page }) => {
  await signedIn(page);
  const sockets = [];
  page.on('websocket', (socket) => sockets.push(socket));
  await subscribe(page);
  assert.equal(sockets.length, 1);

  const item = await claim();
  await paneShows(page, '"CLAIMED"');
  await paneShows(page, `"name": "${item.name}"`);
  assert.doesNotMatch(await responsePane(page), /"errors"/);
  await item.release();
  await paneShows(page, '"RELEASED"');

  await page.getByRole('button', { name: 'Stop query' }).click();
  await until('the socket is closed with its last subscription', WAIT_MS, () => sockets[0].isClosed());
});

onPage('a subscription goes on in the name of who is signed in', {}, async ({ page }) => {
  await signedIn(page);
  await subscribe(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await paneShows(page, '"UNAUTHENTICATED"');
  await page.getByRole('button', { name: 'Use demo user' }).click();
  await signedIn(page);
  await focusEditor(page);
  await page.keyboard.press('Control+Enter');
  await paneShows(page, '"ProjectSnapshot"');
});

onPage('the documentation explorer opens by keyboard and shows the schema', {}, async ({ page }) => {
  await signedIn(page);
  await page.getByRole('button', { name: 'Show Documentation Explorer' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await page.getByRole('link', { name: 'viewer', exact: true }).waitFor({ timeout: WAIT_MS });
  await page.getByRole('button', { name: 'Show History' }).waitFor();
});

onPage('the explorer opens by keyboard, and a field that is ticked there is in the query', {}, async ({ page }) => {
  await signedIn(page);
  await page.getByRole('button', { name: 'Show GraphiQL Explorer' }).focus();
  await page.keyboard.press('Enter');
  const email = page.locator('.graphiql-explorer-root').getByText('email', { exact: true });
  await email.waitFor({ timeout: WAIT_MS });
  await page.screenshot({ path: new URL('explorer-light.png', out).pathname });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: new URL('explorer-dark.png', out).pathname });
  await email.click();
  await settled(page, 'email');
  await focusEditor(page);
  const { request, answer } = await run(page);
  assert.equal((await request.allHeaders())['taggie-extensions'], 'dynamo, cost');
  assert.match(answer.data.viewer.email, /@/);
});

onPage('fields in the explorer are reached and ticked by keyboard', {}, async ({ page }) => {
  await signedIn(page);
  await page.getByRole('button', { name: 'Show GraphiQL Explorer' }).focus();
  await page.keyboard.press('Enter');
  const field = (name) => page.locator('.graphiql-explorer-root').getByRole('checkbox', { name, exact: true });
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const tabTo = async (name) => {
    for (let i = 0; i < 100 && (await focused()) !== name; i++) await page.keyboard.press('Tab');
    assert.equal(await focused(), name);
  };

  await field('email').waitFor({ timeout: WAIT_MS });
  await tabTo('deadLetters');
  await page.keyboard.press('Enter');
  await settled(page, 'deadLetters');
  await until('it is open', WAIT_MS, () => field('deadLetters').isChecked());
  assert.equal(await focused(), 'deadLetters', 'it was drawn anew, and has the focus');
  await page.keyboard.press('Tab');
  assert.notEqual(await focused(), 'entity', 'its own fields and arguments come next');

  await tabTo('email');
  assert.equal(await field('email').isChecked(), false);
  await page.keyboard.press('Space');
  await settled(page, 'email');
  assert.equal(await field('email').isChecked(), true);
  assert.equal(await focused(), 'email');
  await page.screenshot({ path: new URL('explorer-keys-light.png', out).pathname });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 420, height: 860 });
  await page.screenshot({ path: new URL('explorer-keys-dark.png', out).pathname });
});

// The board may show a picture of the demo project at once.
const toTheBoard = {
  get pictures() {
    return [bucket];
  },
};
onPage('a link leads to the board', toTheBoard, async ({ page }) => {
  await signedIn(page);
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  await signedIn(page);
});

onPage('signing out, an own token, and the way back', {}, async ({ page }) => {
  await signedIn(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Not signed in', { exact: true }).waitFor();
  await page.getByLabel('Show cost').uncheck();
  await focusEditor(page);
  const anonymous = await (await run(page)).request.allHeaders();
  assert.equal(anonymous.authorization, undefined);
  assert.equal(anonymous['taggie-extensions'], undefined);

  await page.getByRole('button', { name: 'Use own token' }).click();
  await page.keyboard.type('not a token');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('not a JSON Web Token').waitFor();

  const { token } = await (await fetch(`${server.origin}/session`)).json();
  await page.getByLabel('JSON Web Token').fill(`Bearer ${token}`);
  await page.keyboard.press('Enter');
  await page.getByText(/^Signed in as .+ \(own token\)$/).waitFor();
  await focusEditor(page);
  const own = await run(page);
  assert.equal((await own.request.allHeaders()).authorization, `Bearer ${token}`);
  assertNotes(own.answer);

  await page.getByRole('button', { name: 'Use demo user' }).click();
  await signedIn(page);
});

const widths = { wide: { width: 1400, height: 900 }, narrow: { width: 420, height: 860 } };
const brightness = {};
for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries(widths)) {
    onPage(`${colorScheme} and ${name}`, { colorScheme, viewport }, async ({ page }) => {
      await signedIn(page);
      await focusEditor(page);
      const { answer } = await run(page);
      await paneShows(page, answer.data.viewer.name);
      await page.screenshot({ path: new URL(`console-${colorScheme}-${name}.png`, out).pathname });

      const measured = await page.evaluate(() => {
        const sum = (element) => {
          const [r, g, b] = getComputedStyle(element).backgroundColor.match(/[\d.]+/g).map(Number);
          return r + g + b;
        };
        return {
          overflow: document.documentElement.scrollWidth - window.innerWidth,
          bar: sum(document.querySelector('.bar')),
          editor: sum(document.querySelector('.graphiql-query-editor .monaco-editor')),
          panes: ['.graphiql-query-editor', '.graphiql-response', '.bar'].map((selector) => {
            const box = document.querySelector(selector).getBoundingClientRect();
            return { selector, width: box.width, inside: box.left >= 0 && box.right <= window.innerWidth && box.bottom <= window.innerHeight };
          }),
        };
      });
      assert.ok(measured.overflow <= 0, 'no horizontal scrolling');
      for (const pane of measured.panes) {
        assert.ok(pane.inside, `${pane.selector} is on the screen`);
        assert.ok(pane.width >= 300, `${pane.selector} is wide enough to read: ${pane.width}`);
      }
      brightness[colorScheme] = measured.bar;
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.getByRole('link', { name: 'Query', exact: true }).waitFor({ timeout: WAIT_MS });
      await page.screenshot({ path: new URL(`docs-${colorScheme}-${name}.png`, out).pathname });

      await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();
      await subscribe(page);
      await page.screenshot({ path: new URL(`events-${colorScheme}-${name}.png`, out).pathname });
    });
  }
}

onPage('the editors follow the system while the page is open', { colorScheme: 'light' }, async ({ page }) => {
  const textIs = (bright) =>
    page.waitForFunction((wanted) => {
      const word = [...document.querySelectorAll('.graphiql-query-editor .view-line span span')].find((span) => /viewer/.test(span.textContent));
      const sum = (word ? getComputedStyle(word).color.match(/\d+/g) : []).slice(0, 3).reduce((total, part) => total + Number(part), 0);
      return word && sum > 382 === wanted;
    }, bright);
  await textIs(false);
  await page.emulateMedia({ colorScheme: 'dark' });
  await textIs(true);
});

test('light is lighter than dark', () => {
  assert.ok(brightness.light > 600, `light: ${brightness.light}`);
  assert.ok(brightness.dark < 200, `dark: ${brightness.dark}`);
});
