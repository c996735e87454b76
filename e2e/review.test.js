import assert from 'node:assert/strict';
import { ask, go, itemOf, member, work } from './board.js';
import { category, focused, messages, onBoard, out, WAIT_MS, world } from './board-page.js';
import { pictureShown } from './browser.js';
import { until } from './server.js';

/** Has somebody finish items, as many as there are names; resolves to the items. */
async function found(project, name, count) {
  const token = await member(world.server, project.id, 'REVIEWER', `${name}@example.com`);
  const items = [];
  for (let n = 0; n < count; n++) items.push(await work(world.server, project.id, token));
  return { token, items };
}

const review = `mutation ($input: ReviewEffortInput!) { reviewEffort(input: $input) { effort { id } problem { ... on Problem { message } } } }`;
const tiles = (page) => page.getByRole('region', { name: 'Results to review' }).getByRole('listitem').getByRole('button');

onBoard('a reviewer corrects a result', {}, async ({ page, project }) => {
  const { items } = await found(project, 'corrected', 1);
  const { name } = items[0];
  await go(page, 'r');
  await page.locator('.picture-name').getByText(name).waitFor({ timeout: WAIT_MS });
  await pictureShown(page.locator('.picture img'));
  await page.keyboard.press('e');
  await focused(category(page));
  assert.equal(await category(page).getAttribute('placeholder'), 'Title page', 'it begins with what was found');
  await page.keyboard.press('Control+Enter'); // it says nothing new
  await page.getByText('This is what was found.').waitFor({ timeout: WAIT_MS });
  await page.keyboard.type('nothing like it');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Nothing fits').waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(world.server, project.id, name)).category.name, 'Title page');
  await category(page).fill('mus');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('combobox', { name: /^Subcategory/ }));
  await page.keyboard.press('Enter');
  await page.keyboard.type('stamp');
  await page.screenshot({ path: new URL('review-correction.png', out).pathname });
  await page.keyboard.press('v'); // typed: the cursor is in a field
  await page.keyboard.press('Backspace');
  await page.keyboard.press('Escape');
  await page.keyboard.press('v');
  await tiles(page).first().waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('v'); // what was typed is still there
  await focused(category(page));
  await page.keyboard.press('Escape');
  await page.keyboard.press('b');
  await page.keyboard.type('pri');
  await page.keyboard.press('Control+Enter'); // takes what is typed, too
  await messages(page).getByText(`“${name}”: corrected.`).waitFor({ timeout: WAIT_MS });
  const { status, keywords, category: is, subcategory } = await itemOf(world.server, project.id, name);
  assert.deepEqual({ status, keywords, is: is.name, sub: subcategory.name }, { status: 'FINISHED', keywords: ['elsewhere', 'stamp'], is: 'Music', sub: 'Printed' });
  await page.getByText('Nothing to review').waitFor({ timeout: WAIT_MS });
});

onBoard('the form of a result stays, and so does the cursor in it, while the page looks for more', {}, async ({ page, project }) => {
  const { items } = await found(project, 'more', 1);
  await go(page, 'r');
  await page.getByRole('form', { name: `Review “${items[0].name}”` }).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('e');
  await focused(category(page));
  await page.keyboard.press('Escape');
  const looks = [];
  let isHeld = true;
  await page.route('**/graphql', (route) => (isHeld && /mutation ToReview\b/.test(route.request().postDataJSON().query) ? looks.push(route) : route.continue()));
  await page.keyboard.press('v');
  await tiles(page).first().waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('v');
  await focused(category(page));
  await until('it looks for what the list shows', WAIT_MS, () => looks.length > 1);
  await page.keyboard.type('mus');
  isHeld = false;
  const answered = page.waitForResponse((response) => response.request() === looks.at(-1).request());
  for (const route of looks) await route.continue();
  await answered;
  assert.equal(await category(page).inputValue(), 'mus');
});

onBoard('a reviewer reviews many results as a grid, those of one person too', {}, async ({ page, project }) => {
  const first = await found(project, 'first', 2);
  const second = await found(project, 'second', 1);
  await go(page, 'r');
  await page.getByRole('form', { name: /^Review/ }).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('v');
  await tiles(page).nth(2).waitFor({ timeout: WAIT_MS });
  await page.reload();
  await tiles(page).nth(2).waitFor({ timeout: WAIT_MS }); // the browser remembers it

  await page.getByLabel('Found by').selectOption('second');
  await tiles(page).nth(1).waitFor({ state: 'hidden', timeout: WAIT_MS });
  await tiles(page).filter({ hasText: second.items[0].name }).waitFor({ timeout: WAIT_MS });
  await page.getByLabel('Found by').selectOption('Everybody');
  await tiles(page).nth(2).waitFor({ timeout: WAIT_MS });

  // By keyboard: one is chosen, and found incorrect.
  await tiles(page).filter({ hasText: second.items[0].name }).focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('i');
  await page.getByLabel('What is wrong').and(page.locator(':focus')).waitFor();
  await page.keyboard.type('It is upside down.');
  await page.getByRole('dialog').getByRole('button', { name: 'Incorrect' }).press('Enter');
  await messages(page).getByText('1 result: incorrect, and back to who found them.').waitFor({ timeout: WAIT_MS });
  assert.equal((await itemOf(world.server, project.id, second.items[0].name)).status, 'NEW');

  // All that is left; somebody else was quicker at one of them, of which this page does not hear.
  await page.routeWebSocket(/\/graphql$/, () => {});
  await page.reload();
  await tiles(page).nth(1).waitFor({ timeout: WAIT_MS });
  const { efforts } = await itemOf(world.server, project.id, first.items[0].name);
  await ask(world.server, review, { input: { effortId: efforts.nodes[0].id, verdict: 'CORRECT' } }, second.token);
  await page.keyboard.press('x');
  await page.keyboard.press('a');
  await messages(page).getByText('1 result: correct.').waitFor({ timeout: WAIT_MS });
  await messages(page).getByText(`Somebody else was first, or the author took it back: ${first.items[0].name}.`).waitFor({ timeout: WAIT_MS });
  await page.getByText('Nothing to review').waitFor({ timeout: WAIT_MS });
});

onBoard('a result that its author takes back leaves the choice and stops no other', {}, async ({ page, project }) => {
  const { token, items } = await found(project, 'again', 2);
  await go(page, 'r');
  await page.keyboard.press('v');
  await tiles(page).nth(1).waitFor({ timeout: WAIT_MS });
  await page.keyboard.press('x');
  await page.getByRole('button', { name: /^Correct 2/ }).waitFor({ timeout: WAIT_MS });
  const undo = async (name) => {
    const { efforts } = await itemOf(world.server, project.id, name);
    const text = 'mutation ($input: UndoFinishInput!) { undoFinish(input: $input) { item { id claim { token } project { categories { id } } } problem { ... on Problem { message } } } }';
    return (await ask(world.server, text, { input: { effortId: efforts.nodes[0].id } }, token)).undoFinish.item;
  };
  const tile = tiles(page).filter({ hasText: items[0].name });
  const { id, claim, project: { categories } } = await undo(items[0].name);
  await tile.waitFor({ state: 'detached', timeout: WAIT_MS });
  const input = { itemId: id, token: claim.token, categoryId: categories[1].id };
  await ask(world.server, 'mutation ($input: FinishProjectItemInput!) { finishProjectItem(input: $input) { problem { ... on Problem { message } } } }', { input }, token);
  await page.getByRole('button', { name: 'Look again' }).click();
  await tile.waitFor({ timeout: WAIT_MS });
  assert.equal(await tile.getAttribute('aria-pressed'), 'false');

  // Of the next one this page does not hear.
  await page.routeWebSocket(/\/graphql$/, () => {});
  await page.reload();
  await tiles(page).nth(1).waitFor({ timeout: WAIT_MS });
  await undo(items[0].name);
  await page.keyboard.press('x');
  await page.keyboard.press('a');
  await messages(page).getByText('1 result: correct.').waitFor({ timeout: WAIT_MS });
  await messages(page).getByText(`the author took it back: ${items[0].name}.`).waitFor({ timeout: WAIT_MS });
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1400, 320]) {
    onBoard(`the grid, ${colorScheme} and ${width} wide`, { colorScheme, viewport: { width, height: 860 } }, async ({ page, project }) => {
      await found(project, `grid-${colorScheme}-${width}`, 3);
      await go(page, 'r');
      await page.keyboard.press('v');
      await tiles(page).nth(2).waitFor({ timeout: WAIT_MS });
      await pictureShown(page.locator('.shot img').first());
      await tiles(page).nth(1).click();
      const from = await tiles(page).nth(1).boundingBox();
      await page.keyboard.press('ArrowLeft');
      await focused(tiles(page).nth(0));
      assert.ok((await tiles(page).nth(0).boundingBox()).x <= from.x);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no horizontal scrolling');
      await page.screenshot({ path: new URL(`review-grid-${colorScheme}-${width}.png`, out).pathname });
    });
  }
}
