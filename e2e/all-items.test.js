import assert from 'node:assert/strict';
import { go, member, work } from './board.js';
import { focused, onBoard, out, WAIT_MS, world } from './board-page.js';
import { until } from './server.js';

onBoard('all items are found by status and by the beginning of their names', {}, async ({ page, project }) => {
  const labeller = await member(world.server, project.id, 'TAGGIE', 'found@example.com');
  const done = await work(world.server, project.id, labeller);
  await go(page, 'b');
  const finished = page.getByRole('region', { name: 'Finished' });
  await finished.getByText(done.name).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('/');
  await page.keyboard.type('PAGE');
  await page.getByRole('button', { name: 'All items…' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'All items' });
  const name = dialog.getByLabel('Name begins with');
  await focused(name);
  assert.equal(await name.inputValue(), 'PAGE', 'it begins with what is looked for');
  const tiles = dialog.getByRole('listitem').getByRole('button');
  await tiles.nth(project.count - 1).waitFor({ timeout: WAIT_MS });
  assert.deepEqual(await tiles.allInnerTexts(), Array.from({ length: project.count }, (_, i) => `page ${i + 1}.png`), 'by name');
  await page.screenshot({ path: new URL('all-items.png', out).pathname });
  await name.fill('page 2');
  await until('only the page of that name is shown', WAIT_MS, async () => (await tiles.allInnerTexts()).join() === 'page 2.png');
  await name.fill('leaf');
  await dialog.getByText('No item has a name that begins with “leaf”.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape'); // empties the field, as browsers do
  await tiles.first().waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await finished.getByRole('button', { name: 'All 1…' }).press('Enter');
  await tiles.first().waitFor({ timeout: WAIT_MS });
  assert.deepEqual(await tiles.allInnerTexts(), [done.name]);
  await tiles.first().press('Enter');
  await page.getByRole('dialog', { name: done.name }).getByText('elsewhere').waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('Escape');
  await dialog.waitFor(); // the list is still there
  await page.keyboard.press('Escape');

  // A manager finds it among the results.
  await go(page, 'm');
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Results', exact: true }).click();
  const results = page.getByRole('region', { name: 'Results', exact: true });
  await results.getByLabel('Name begins with').fill(done.name);
  await results.getByLabel('Status').selectOption('Finished');
  await results.getByRole('button', { name: done.name }).waitFor({ timeout: WAIT_MS });
  await results.getByLabel('Status').selectOption('Skipped');
  await results.getByText(`No item has a name that begins with “${done.name}” and this status.`).waitFor({ timeout: WAIT_MS });
});
