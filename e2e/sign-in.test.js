import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, pictureProject } from './board.js';
import { WAIT_MS, category, focused, live, messages, out, type, world } from './board-page.js';
import { openPage } from './browser.js';
import { client, startIssuer } from './issuer.js';
import { startServer, until } from './server.js';

const HOUR_S = 3600;
const LIFETIME_S = 20; // of a token that a test waits for to expire
let issuer;
const places = {}; // by test, a project and what one joins it by

// The demo user makes projects and links into them; then the same data are served to people of an issuer.
before(async () => {
  await until('the server of board-page.js is there', 60_000, () => world.browser);
  for (const name of ['Work', 'Ended', 'Drafts']) places[name] = await place(name);
  const { data } = world.server;
  await world.server.stop({ keep: true });
  issuer = await startIssuer();
  world.server = await startServer(
    { TAGGIE_OIDC_ISSUER: issuer.origin, TAGGIE_OIDC_AUDIENCE: client.id, TAGGIE_OIDC_CLIENT_ID: client.id, TAGGIE_OIDC_CLIENT_SECRET: client.secret },
    data,
  );
  issuer.setUp([`${world.server.origin}/board`, `${world.server.origin}/`]);
});

async function place(name) {
  const { id } = await pictureProject(world.server, name);
  const { createTeam } = await ask(world.server, 'mutation ($id: ID!) { createTeam(input: { projectId: $id, name: "Guests", type: TAGGIE }) { team { id } } }', { id });
  const made = await ask(world.server, 'mutation ($id: ID!) { createProjectInvitation(input: { teamId: $id, uses: 100 }) { invitation { token } } }', { id: createTeam.team.id });
  return { name, hash: `#invitation=${made.createProjectInvitation.invitation.token}` };
}

after(() => issuer?.stop());

/** A test in a browser of its own, at whose end there must be nothing to complain of but what is expected. */
function inBrowser(name, { expected = 'nothing else', at, ...options }, body) {
  test(name, async () => {
    const sent = [];
    const policy = (await fetch(`${world.server.origin}/board`)).headers.get('content-security-policy');
    assert.match(policy, /connect-src 'self'( http:\/\/127\.0\.0\.1:\d+)?;/, 'the page reaches us and the bucket');
    assert.ok(!policy.includes(issuer.origin));
    const opened = await openPage(world.browser, world.server.origin, `/board${places[at]?.hash ?? ''}`, {
      pictures: /img-src ([^;]*)/.exec(policy)[1].split(' '),
      expected: new RegExp(`^request to ${issuer.origin}|${expected}`),
      ...options,
    });
    opened.context.on('request', (request) => sent.push(request));
    try {
      await body({ ...opened, sent });
      assert.deepEqual(opened.complaints(), []);
    } catch (error) {
      error.stack += `\n--- at ${opened.page.url()} ---\n${await opened.page.locator('body').ariaSnapshot({ timeout: WAIT_MS }).catch(String)}`;
      throw error;
    } finally {
      await opened.context.close();
      Object.assign(issuer, { lifetime: HOUR_S, refreshes: false });
    }
  });
}

const button = (page, name) => page.getByRole('button', { name, exact: true });
const who = (page, text, timeout = WAIT_MS) => page.getByRole('banner', { name: 'Session' }).getByRole('status').getByText(text).waitFor({ timeout });

/** Signs in at the issuer by keyboard: the cursor is on the button already. */
async function signIn(page, name) {
  await focused(button(page.getByRole('main'), 'Sign in'));
  await page.keyboard.press('Enter');
  await tell(page, name);
}

/** Tells the issuer who one is. */
async function tell(page, name) {
  await page.getByRole('heading', { name: 'Who are you?' }).waitFor({ timeout: WAIT_MS });
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
}

/** Signs out here and at the issuer. */
async function signOut(page) {
  await button(page, 'Sign out').press('Enter');
  await button(page, 'Yes').press('Enter');
  await page.getByRole('heading', { name: 'Not signed in' }).waitFor({ timeout: WAIT_MS });
}

/** Signs in for the first time, and joins the project that the link is for. */
async function join(page, name, project) {
  await signIn(page, name);
  await page.getByText('You are new here.').waitFor({ timeout: WAIT_MS });
  await focused(page.getByLabel('Name'));
  await page.keyboard.press('Enter');
  await button(page.getByRole('dialog', { name: `Join ${project}?` }), 'Join').press('Enter');
  await live(page);
}

/** Claims as soon as the queue has been rebuilt. */
async function claimWhenReady(page) {
  await until('the queue is there again', 4 * WAIT_MS, async () => {
    await page.keyboard.press('n');
    return category(page).waitFor({ timeout: 1000 }).then(() => true, () => false);
  });
  await focused(category(page));
  return page.locator('.picture-name strong').innerText();
}

/** What the browser keeps, and where it is. */
const kept = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]));

async function keepsNoToken(page) {
  const text = await kept(page);
  assert.doesNotMatch(text, /eyJ|taggie:sign-in"|[?&](code|state)=/);
}

inBrowser('somebody new comes by a link, signs in, works, and stays signed in until they sign out', { at: 'Work' }, async ({ page, sent }) => {
  await page.getByText('Then you see what you are invited to.').waitFor({ timeout: WAIT_MS });
  await join(page, 'Gus', 'Work');
  await who(page, 'Signed in as Gus');
  await keepsNoToken(page);
  await claimWhenReady(page);
  await type(page);
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(/: Music\.$/).waitFor({ timeout: WAIT_MS });

  const address = page.url();
  await page.reload();
  await live(page);
  await who(page, 'Signed in as Gus');
  assert.equal(page.url(), address, 'the project is in the address again');
  await keepsNoToken(page);
  await page.goto(`${world.server.origin}/`);
  await who(page, 'Signed in as Gus');
  await page.locator('.graphiql-query-editor .view-line').first().waitFor();
  await page.goto(address);
  await live(page);
  const silent = sent.filter((request) => request.url().startsWith(`${issuer.origin}/auth?`) && request.url().includes('prompt=none'));
  assert.equal(silent.length, 3, 'once for each load');
  assert.ok(!sent.some((request) => /eyJ/.test(request.url())), 'no token is in an address');

  await signOut(page);
  await page.reload();
  await page.getByRole('heading', { name: 'Not signed in' }).waitFor({ timeout: WAIT_MS });
});

inBrowser('what is typed and finished when the session ends is sent after the next sign-in', { at: 'Ended', expected: '^401|console error' }, async ({ page }) => {
  await join(page, 'Ned', 'Ended');
  issuer.lifetime = LIFETIME_S;
  await page.reload();
  await live(page);
  const name = await claimWhenReady(page);
  await type(page);
  await who(page, 'Your session has ended: sign in.', 2 * LIFETIME_S * 1000);
  await page.keyboard.type('ns');
  await page.keyboard.press('Control+Enter');
  await messages(page).getByText(`“${name}” is not sent yet: your session has ended.`).waitFor({ timeout: WAIT_MS });
  await page.screenshot({ path: new URL('sign-in-ended.png', out).pathname });
  issuer.lifetime = HOUR_S;
  await button(page, 'Sign in').press('Enter');
  await live(page);
  await messages(page).getByText(`“${name}”: Music.`).waitFor({ timeout: WAIT_MS });
});

inBrowser('the next user of a browser sees nothing of what the one before has typed', { at: 'Drafts' }, async ({ page }) => {
  await join(page, 'Dora', 'Drafts');
  const name = await claimWhenReady(page);
  await type(page);
  await signOut(page);
  await page.goto(`${world.server.origin}/board${places.Drafts.hash}`);
  await page.reload();
  await join(page, 'Mia', 'Drafts');
  assert.notEqual(await claimWhenReady(page), name);
  const shown = await page.getByRole('main').innerText();
  assert.ok(!shown.includes(name) && !shown.includes('bass clef'), shown);
  await signOut(page);
  await signIn(page, 'Dora');
  await live(page);
  await page.getByRole('main').getByText('bass clef').first().waitFor({ timeout: WAIT_MS });
});

/** Lets the clock of the page be a moment before its token, which is valid for an hour, expires. */
const almostExpired = (page) => page.clock.fastForward((HOUR_S - 30) * 1000);

inBrowser('a refresh token keeps the session without leaving the page', {}, async ({ page, sent }) => {
  issuer.refreshes = true;
  await page.clock.install();
  const refreshed = page.waitForResponse((response) => response.url().endsWith('/session') && /grant_type=refresh_token/.test(response.request().postData()), { timeout: 4 * WAIT_MS });
  await signIn(page, 'Gus');
  await live(page);
  await page.evaluate(() => (window.isSamePage = true));
  const tokens = () => new Set(sent.filter((request) => request.url().endsWith('/graphql')).map((request) => request.headers().authorization)).size;
  const before = tokens();
  issuer.lifetime = HOUR_S + 1; // so that the next token is another one within the same second
  await almostExpired(page);
  assert.equal((await refreshed).status(), 200);
  await until('another token is sent', 2 * WAIT_MS, async () => {
    await page.keyboard.press('n');
    return tokens() > before;
  });
  assert.ok(await page.evaluate(() => window.isSamePage));
  await keepsNoToken(page);
});

inBrowser('without one, the page signs in again by itself while nobody types', {}, async ({ page }) => {
  await page.clock.install();
  await signIn(page, 'Gus');
  await live(page);
  await page.keyboard.press('Escape'); // out of the form of the item in hand
  const redirected = page.waitForRequest((request) => request.url().startsWith(`${issuer.origin}/auth?`) && request.url().includes('prompt=none'), { timeout: 2 * WAIT_MS });
  await almostExpired(page);
  await redirected;
  await live(page);
  await who(page, 'Signed in as Gus');
});

inBrowser('a sign-in that is refused, or was not begun here, is told with what to do', {}, async ({ page, sent }) => {
  await focused(button(page.getByRole('main'), 'Sign in'));
  await page.keyboard.press('Enter');
  await button(page, 'Refuse').press('Enter');
  await page.getByRole('main').getByText('The issuer did not sign you in: “You may not use <b>this</b>.”. Sign in again, or ask whoever runs the issuer for access.').waitFor({ timeout: WAIT_MS });
  await page.goto(`${world.server.origin}/board?code=stolen&state=guessed#project=p`);
  await page.getByRole('main').getByText('This sign-in was not begun in this tab, so it was not accepted. Sign in again.').waitFor({ timeout: WAIT_MS });
  assert.equal(page.url(), `${world.server.origin}/board#project=p`);
  assert.ok(!sent.some((request) => request.method() === 'POST' && request.url().endsWith('/session')), 'no code was redeemed');
  await signIn(page, 'Gus');
  await live(page);
});

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries({ wide: { width: 1400, height: 900 }, narrow: { width: 320, height: 860 } })) {
    inBrowser(`the page to sign in, ${colorScheme} and ${name}`, { colorScheme, viewport }, async ({ page }) => {
      await focused(button(page.getByRole('main'), 'Sign in'));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no horizontal scrolling');
      await page.screenshot({ path: new URL(`sign-in-${colorScheme}-${name}.png`, out).pathname });
    });
  }
}
