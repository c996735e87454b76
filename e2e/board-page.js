// What tests do on the page of the board: by keyboard, as people do.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { pictureProject } from './board.js';
import { launch, openPage, pictureShown } from './browser.js';
import { startProxy } from './proxy.js';
import { demoLoaded, startServer } from './server.js';

export const WAIT_MS = 15_000;
export const out = new URL('out/', import.meta.url);

/** What the tests of a file share: a server, a browser, and a network to the server, which can be cut. */
export const world = { server: undefined, browser: undefined, network: undefined };

before(async () => {
  await mkdir(out, { recursive: true });
  world.server = await startServer();
  await demoLoaded(world.server); // or its projects come while a test reads their list
  world.network = await startProxy(world.server.origin);
  world.browser = await launch();
});

after(async () => {
  await world.browser?.close();
  world.network?.stop();
  await world.server?.stop();
});

/** A test on the board of a new project, at whose end there must be nothing to complain of. */
export function onBoard(name, options, body) {
  test(name, async (t) => {
    const project = await pictureProject(world.server, name);
    const opened = await openPage(world.browser, options.origin?.() ?? world.server.origin, `/board#project=${encodeURIComponent(project.id)}`, {
      pictures: [project.pictures],
      ...options,
    });
    try {
      await live(opened.page);
      await body({ ...opened, project, t });
      assert.deepEqual(opened.complaints(), []);
    } catch (error) {
      error.message += await shown(opened.page);
      throw error;
    } finally {
      await opened.context.close();
    }
  });
}

/** What a page shows, and where the cursor is, for the message of a test that fails. */
async function shown(page) {
  const focus = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200)).catch(String);
  const tree = await page.locator('body').ariaSnapshot({ timeout: WAIT_MS }).catch(String);
  return `\n--- the cursor is in ---\n${focus}\n--- the page shows ---\n${tree}`;
}

export const live = (page) => page.getByRole('status').getByText(/^Live/).waitFor({ timeout: WAIT_MS });
export const category = (page) => page.getByRole('combobox', { name: /^Category/ });
export const messages = (page) => page.getByRole('log', { name: 'Messages' });

/** Waits until the form says so. */
export const chosen = (page, name) => category(page).and(page.locator(`[placeholder="${name}"]`)).waitFor({ timeout: WAIT_MS });

/** Claims by keyboard; resolves to the name of the item, when its picture is there. */
export async function claim(page) {
  await page.keyboard.press('n');
  await category(page).waitFor({ timeout: WAIT_MS });
  await pictureShown(page.locator('.picture img'));
  await focused(category(page)); // single keys would do something else
  return page.locator('.picture-name strong').innerText();
}

/** Waits until the cursor is in a field. */
export const focused = (field) => field.and(field.page().locator(':focus')).waitFor({ timeout: WAIT_MS });

/** Types what the item is: the cursor is in the category when it is claimed. */
export async function type(page) {
  await page.keyboard.type('mus');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('combobox', { name: /^Subcategory/ }));
  await page.keyboard.type('hand');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('combobox', { name: /^Keywords/ }));
  await page.keyboard.type('bass clef');
  await page.keyboard.press('Enter');
  await page.keyboard.type('stai');
}

/** Signs somebody in with a token of their own, in place of the demo user, whose socket is open then: a browser complains of one that is closed before. */
export async function signIn(page, token) {
  await live(page);
  await page.getByRole('button', { name: 'Use own token' }).click();
  await page.getByLabel('JSON Web Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByText(/^Signed in as .+ \(own token\)$/).waitFor();
}
