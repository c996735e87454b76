// What greets a labeller: the first steps, and the figures of the day.

import assert from 'node:assert/strict';
import { axeFinds } from './axe.js';
import { ask, giveBack, member } from './board.js';
import { category, claim, focused, live, onBoard, out, WAIT_MS, world } from './board-page.js';

const steps = (page) => page.getByRole('region', { name: 'First steps' });
const shows = (page, text) => steps(page).getByText(text).waitFor({ timeout: WAIT_MS });

onBoard('whoever uses a key is shown the next one, and sees the five once', { isNew: true }, async ({ page, project }) => {
  await shows(page, '1 of 5');
  const first = await claim(page);
  await shows(page, '2 of 5');
  await page.keyboard.press('1');
  await shows(page, '3 of 5');
  await page.keyboard.press('Control+Enter');
  await shows(page, '4 of 5');
  await page.locator('.picture-name').getByText(first).waitFor({ state: 'detached', timeout: WAIT_MS });
  await focused(category(page)); // the next item takes the cursor

  const next = steps(page).getByRole('button', { name: 'Next key' });
  await next.focus();
  await page.keyboard.press('Enter');
  await shows(page, '5 of 5');
  await steps(page).getByRole('button', { name: 'Back' }).click();
  await shows(page, '4 of 5');
  await next.click();
  await steps(page).getByRole('button', { name: 'That is all' }).click();
  await steps(page).waitFor({ state: 'detached' });
  await page.reload();
  await live(page);
  await page.locator('.work').waitFor({ timeout: WAIT_MS });
  assert.equal(await steps(page).count(), 0);
  await giveBack(world.server, project.id);
});

onBoard('the first steps can be skipped by Esc', { isNew: true }, async ({ page }) => {
  await shows(page, '1 of 5');
  await steps(page).getByRole('button', { name: 'Skip the first steps' }).focus();
  await page.keyboard.press('Escape');
  await steps(page).waitFor({ state: 'detached' });
  await page.reload();
  await live(page);
  await page.locator('.work').waitFor({ timeout: WAIT_MS });
  assert.equal(await steps(page).count(), 0);
});

onBoard('the figures of the day follow finishes, reviews and Undo', {}, async ({ page, project }) => {
  const today = page.locator('.today');
  const tells = (text) => today.getByText(text).waitFor({ timeout: WAIT_MS });
  await today.getByText('0', { exact: true }).waitFor({ timeout: WAIT_MS });
  const name = await claim(page);
  await page.keyboard.press('1');
  await page.keyboard.press('Control+Enter');
  await tells(/^Today: 1 finished$/);

  const reviewer = await member(world.server, project.id, 'REVIEWER', 'critic@example.com');
  const { project: found } = await ask(world.server, 'query ($id: ID!) { project(id: $id) { items(status: FINISHED, first: 9) { nodes { name efforts(first: 1) { nodes { id } } } } } }', { id: project.id });
  const effortId = found.items.nodes.find((item) => item.name === name).efforts.nodes[0].id;
  await ask(world.server, 'mutation ($input: ReviewEffortInput!) { reviewEffort(input: $input) { problem { ... on Problem { message } } } }', { input: { effortId, verdict: 'CORRECT' } }, reviewer);
  await tells(/^Today: 1 finished, 100 % of 1 reviewed are right$/);

  await focused(category(page)); // of the item that came next
  await page.keyboard.press('2');
  await page.keyboard.press('Control+Enter');
  await tells(/^Today: 2 finished, /);
  await page.keyboard.press('Escape');
  await page.keyboard.press('u');
  await tells(/^Today: 1 finished, /);
  await giveBack(world.server, project.id);
});

for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[1400, 860], [1280, 800], [320, 700]]) {
    onBoard(`first steps, ${colorScheme} and ${width} wide`, { isNew: true, colorScheme, viewport: { width, height } }, async ({ page, project }) => {
      await shows(page, '1 of 5');
      await page.screenshot({ path: new URL(`first-steps-${colorScheme}-${width}.png`, out).pathname });
      await claim(page);
      await shows(page, '2 of 5');
      await page.locator('.today').waitFor({ timeout: WAIT_MS });
      assert.deepEqual(await axeFinds(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no horizontal scrolling');
      await page.screenshot({ path: new URL(`first-steps-claimed-${colorScheme}-${width}.png`, out).pathname });
      await giveBack(world.server, project.id);
    });
  }
}
