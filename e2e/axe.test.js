// Every page of the board, looked at by axe: by its rules nothing is out of reach of a keyboard, a screen reader or weak eyes.

import assert from 'node:assert/strict';
import { axeFinds } from './axe.js';
import { ask, go, member, work } from './board.js';
import { category, claim, onBoard, signIn, WAIT_MS, world } from './board-page.js';
import { openPage, pictureShown } from './browser.js';
import { png } from './png.js';

const sections = { Items: 'Import', Results: 'Results', People: 'Members', Guidelines: 'Guidelines', Rules: 'Rules' };

// Colours depend on the scheme, and what is scrolled or hidden on the width: two of the four say all.
for (const [colorScheme, width] of [['light', 1400], ['dark', 320]]) {
  onBoard(`every page, ${colorScheme} and ${width} wide, has no violation of axe's rules`, { colorScheme, viewport: { width, height: 860 } }, async ({ page, project }) => {
    const found = [];
    const look = async (what, on = page) => {
      for (const violation of await axeFinds(on)) found.push(`${what}: ${violation}`);
    };
    const labeller = await member(world.server, project.id, 'TAGGIE', `axe-${width}@example.com`);
    await ask(world.server, 'mutation ($input: UpdateGuidelinesInput!) { updateGuidelines(input: $input) { guidelines { version } } }', {
      input: { projectId: project.id, text: '# Staves\n\n| Clef | Lines |\n|---|--:|\n| treble | 5 |\n\n[the manual](https://example.com/clefs)' },
    });
    await work(world.server, project.id, labeller);
    await claim(page);
    await look('Work, in a field');
    await page.keyboard.press('Escape');
    await go(page, 'g');
    await page.getByRole('heading', { name: 'Staves' }).waitFor({ timeout: WAIT_MS });
    await look('Guidelines beside Work');
    await go(page, 'g');
    for (const [key, title] of [['s', 'How to skip'], ['p', 'Projects'], ['?', 'Keys']]) {
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor({ timeout: WAIT_MS });
      await look(title);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.keyboard.press('1');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Just done' }).waitFor({ timeout: WAIT_MS });
    await look('Work, after a finish');
    await page.keyboard.press('Escape'); // the cursor may be in the form of the next item
    await go(page, 'b');
    await page.locator('.tile').first().waitFor({ timeout: WAIT_MS });
    await look('Board');
    await page.locator('.tile-name').first().click();
    await pictureShown(page.locator('dialog .picture img'));
    await look('A card');
    await page.keyboard.press('Escape');
    await go(page, 's');
    await page.locator('.bars-value').first().waitFor({ timeout: WAIT_MS });
    await look('Statistics');
    await go(page, 'r');
    await page.getByRole('form', { name: /^Review/ }).waitFor({ timeout: WAIT_MS });
    await look('Review');
    await page.keyboard.press('e');
    await category(page).waitFor({ timeout: WAIT_MS });
    await look('A correction');
    await page.getByRole('button', { name: 'Leave it as it was found' }).click();
    await page.keyboard.press('v');
    await page.locator('.shot').first().click();
    await look('The grid of Review');
    await page.keyboard.press('i');
    await page.getByRole('dialog').waitFor({ timeout: WAIT_MS });
    await look('Why results are incorrect');
    await page.keyboard.press('Escape');
    await go(page, 'h');
    await page.locator('.history tbody tr').first().waitFor({ timeout: WAIT_MS });
    await look('History');
    await go(page, 'm');
    for (const [name, panel] of Object.entries(sections)) {
      await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click();
      await page.getByRole('main').getByRole('region', { name: panel }).first().waitFor({ timeout: WAIT_MS });
      await look(`Manage, ${name}`);
      if (name !== 'Items') continue;
      await page.getByLabel('Single pictures').setInputFiles([{ name: 'fern.png', mimeType: 'image/png', buffer: png([60, 120, 60]) }, { name: 'notes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF') }]);
      await page.locator('canvas[data-drawn]').waitFor({ timeout: WAIT_MS });
      await look('Pictures to bring');
      await page.getByRole('button', { name: 'Choose among your files…' }).click();
      await page.locator('dialog .shot').first().click({ timeout: WAIT_MS });
      await look('The library');
      await page.keyboard.press('Escape');
    }

    // Who is in no project, and who has not signed up.
    const other = await openPage(world.browser, world.server.origin, '/board', { colorScheme, viewport: { width, height: 860 } });
    await signIn(other.page, await world.server.token(`new-${width}@example.com`, '--name', 'New'));
    await other.page.getByRole('heading', { name: 'Welcome' }).waitFor({ timeout: WAIT_MS });
    await look('Welcome', other.page);
    await other.page.getByRole('button', { name: 'Sign up' }).click();
    await other.page.getByRole('heading', { name: 'No project yet' }).waitFor({ timeout: WAIT_MS });
    await look('No project', other.page);
    await other.page.getByRole('button', { name: 'New project' }).click();
    await other.page.getByLabel('Name').waitFor({ timeout: WAIT_MS });
    await look('A new project', other.page);
    await other.context.close();
    assert.deepEqual(found, []);
  });
}
