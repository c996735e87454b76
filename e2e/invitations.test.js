import assert from 'node:assert/strict';
import { ask, go } from './board.js';
import { WAIT_MS, messages, onBoard, out, signIn, world } from './board-page.js';
import { openPage } from './browser.js';

const part = (page, name) => page.getByRole('region', { name, exact: true });

onBoard('a manager makes a link, somebody new joins by it, and then it is taken back', {}, async ({ page, project }) => {
  await ask(world.server, 'mutation ($id: ID!) { createTeam(input: { projectId: $id, name: "Guests", type: TAGGIE }) { team { id } } }', { id: project.id });
  await go(page, 'm');
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'People', exact: true }).click();
  const invitations = part(page, 'Invitations');
  await invitations.getByLabel('Into the team').selectOption('Guests (may label)');
  await invitations.getByLabel('For how many people').fill('2');
  await invitations.getByLabel('For how many people').press('Enter');
  const link = await invitations.getByLabel('Link into Guests').inputValue();
  assert.match(link, /\/board#invitation=[\w-]{70,}$/);
  await page.screenshot({ path: new URL('board-invitations.png', out).pathname });

  const other = await openPage(world.browser, world.server.origin, '/board', { pictures: [project.pictures] });
  await signIn(other.page, await world.server.token('guest@example.com', '--name', 'Gus'));
  await other.page.getByRole('heading', { name: 'Welcome' }).waitFor({ timeout: WAIT_MS });
  await other.page.goto(link);
  await other.page.getByText('Sign up once, and you see what you are invited to.').waitFor({ timeout: WAIT_MS });
  assert.ok(!other.page.url().includes('invitation'), 'the token is in the address no more');
  await other.page.reload(); // the tab keeps it
  await other.page.getByText('Sign up once, and you see what you are invited to.').waitFor({ timeout: WAIT_MS });
  await other.page.getByRole('button', { name: 'Sign up' }).click();
  const dialog = other.page.getByRole('dialog', { name: `Join ${project.name}?` });
  await dialog.getByText(/In the team Guests you may label\./).waitFor({ timeout: WAIT_MS });
  await other.page.screenshot({ path: new URL('board-invited.png', out).pathname });
  await dialog.getByRole('button', { name: 'Join' }).press('Enter');
  await messages(other.page).getByText(`You are in the project ${project.name} now.`).waitFor({ timeout: WAIT_MS });
  await other.page.getByRole('button', { name: /^Claim the next item/ }).waitFor({ timeout: WAIT_MS });

  await page.reload();
  await invitations.getByText('1 of 2 joined').waitFor({ timeout: WAIT_MS });
  await part(page, 'Members').getByRole('button', { name: 'Remove Gus' }).waitFor({ timeout: WAIT_MS });
  await invitations.getByRole('button', { name: 'Take back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Take it back' }).click();
  await invitations.getByText('taken back').waitFor({ timeout: WAIT_MS });

  await other.page.goto(link);
  await other.page.getByRole('dialog').getByText('Nobody can join by this link any more').waitFor({ timeout: WAIT_MS });
  await other.page.getByRole('button', { name: 'Close', exact: true }).last().click();
  await other.page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual(other.complaints(), []);
  await other.context.close();
});

onBoard('on an embedded server one is somebody else of the demo data by a choice', {}, async ({ page, project }) => {
  const who = (name) => page.getByRole('banner', { name: 'Session' }).getByText(`Signed in as ${name} (demo)`).waitFor({ timeout: WAIT_MS });
  await who('Ada Example');
  await page.getByLabel('Demo user').focus();
  await page.keyboard.type('Jos');
  await who('José Muñoz');
  await page.getByRole('region', { name: 'Project', exact: true }).getByRole('button', { name: /^(Town archive|Postcards)/ }).waitFor({ timeout: WAIT_MS });
  assert.ok(!(await page.locator('body').innerText()).includes(project.name), 'José is no member of the project');
  await page.reload();
  await who('José Muñoz');
});
