import assert from 'node:assert/strict';
import { giveBack } from './board.js';
import { WAIT_MS, claim, onBoard, world } from './board-page.js';

onBoard('a picture is zoomed, moved, turned and made lighter', {}, async ({ page, project }) => {
  await claim(page);
  await page.keyboard.press('Escape');
  const picture = page.locator('.picture img');
  const shows = (transform, filter = '') =>
    page.waitForFunction(
      ([transform, filter]) => {
        const { style } = document.querySelector('.picture img');
        return new RegExp(transform).test(style.transform) && style.filter === filter;
      },
      [transform, filter],
      { timeout: WAIT_MS },
    );
  await shows('^translate\\(0px, 0px\\) scale\\(1\\) rotate\\(0deg\\)$');
  const box = await picture.boundingBox();
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
  await page.mouse.wheel(0, -400);
  await shows('scale\\(2\\.22');
  const before = await picture.evaluate((img) => img.style.transform);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4 - 60, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  assert.notEqual(await picture.evaluate((img) => img.style.transform), before, 'it is moved');
  await page.keyboard.press('t');
  await page.keyboard.press('l');
  await shows('rotate\\(90deg\\)$', 'brightness(1.2)');
  await page.keyboard.press('Shift+L');
  await page.keyboard.press('Shift+T');
  await shows('rotate\\(0deg\\)$');
  await page.getByRole('button', { name: /^As it was/ }).click();
  await shows('scale\\(1\\) rotate\\(0deg\\)$');
  await picture.click();
  await page.getByRole('button', { name: /^Fit/ }).waitFor();
  await page.getByRole('group', { name: 'Picture: arrow keys move it' }).focus();
  const at = await picture.evaluate((img) => img.style.transform);
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction((at) => document.querySelector('.picture img').style.transform !== at, at, { timeout: WAIT_MS });
  await page.keyboard.press('z');
  await shows('scale\\(1\\)');
  await giveBack(world.server, project.id);
});
