// What the tests of the board share: a project with pictures, and the hands of other people.

import { query, until } from './server.js';

const DEMO_MS = 60_000;

/** Asks as somebody; an error or a problem is thrown. */
export async function ask(server, text, variables, token) {
  const answer = await query(server.origin, text, variables, token);
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  for (const payload of Object.values(answer.data)) if (payload?.problem) throw new Error(JSON.stringify(payload.problem));
  return answer.data;
}

/** Makes a project of the demo user whose items are the pages of a demo score; resolves to its id, its name and the origin of its pictures. */
export async function pictureProject(server, name) {
  const score = await until('the demo user has a score with pages', DEMO_MS, async () => {
    const { viewer } = await ask(server, '{ viewer { scores(first: 10) { nodes { id pages { item { url } } } } } }');
    return viewer?.scores.nodes.find(({ pages }) => pages.length >= 3);
  });
  const input = { name, categories: ['Title page', 'Music', 'Text'], subcategories: ['Printed', 'Handwritten'], suggestedKeywords: ['treble clef', 'stamp'] };
  const { createProject } = await ask(server, 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }', { input });
  const { id } = createProject.project;
  await ask(server, 'mutation ($input: ImportItemsInput!) { importItems(input: $input) { import { id } problem { ... on Problem { message } } } }', {
    input: { projectId: id, scoreId: score.id },
  });
  await until('the items are in the queue', DEMO_MS, async () => {
    const { project } = await ask(server, 'query ($id: ID!) { project(id: $id) { queue { queued } } }', { id });
    return project?.queue?.queued >= score.pages.length;
  });
  return { id, name, count: score.pages.length, pictures: new URL(score.pages[0].item.url).origin };
}

/** Signs somebody up and takes them into a new team of the project; resolves to a token. */
export async function member(server, projectId, type, email) {
  const token = await server.token(email);
  await ask(server, 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }', { input: { name: email.split('@')[0], email } }, token);
  const { createTeam } = await ask(server, 'mutation ($input: CreateTeamInput!) { createTeam(input: $input) { team { id } } }', {
    input: { projectId, name: `Team of ${email}`, type },
  });
  await ask(server, 'mutation ($input: PutProjectMemberInput!) { putProjectMember(input: $input) { problem { ... on Problem { message } } } }', {
    input: { teamId: createTeam.team.id, email },
  });
  return token;
}

const claimText = `mutation ($input: ClaimProjectItemsInput!) {
  claimProjectItems(input: $input) { items { id name claim { token } project { categories { id } } } problem { ... on Problem { message } } }
}`;

/** Has somebody claim an item, and finish it unless it is to be kept. */
export async function work(server, projectId, token, { finish = true } = {}) {
  const { claimProjectItems } = await ask(server, claimText, { input: { projectId } }, token);
  const [item] = claimProjectItems.items;
  if (finish) await finishItem(server, item, token);
  return item;
}

/** Has somebody finish an item that work() has kept. */
export async function finishItem(server, item, token) {
  const input = { itemId: item.id, token: item.claim.token, categoryId: item.project.categories[0].id, keywords: ['elsewhere'] };
  await ask(server, 'mutation ($input: FinishProjectItemInput!) { finishProjectItem(input: $input) { problem { ... on Problem { message } } } }', { input }, token);
}

/** Gives all items of somebody back. */
export async function giveBack(server, projectId, token) {
  const { project } = await ask(server, 'query ($id: ID!) { project(id: $id) { viewerClaims { id name claim { token } } } }', { id: projectId }, token);
  for (const { id, claim } of project.viewerClaims) {
    await ask(server, 'mutation ($input: ReleaseProjectItemInput!) { releaseProjectItem(input: $input) { item { id } } }', { input: { itemId: id, token: claim.token } }, token);
  }
  return project.viewerClaims;
}

/** An item as it is stored. */
export async function itemOf(server, projectId, name) {
  const { project } = await ask(
    server,
    `query ($id: ID!) { project(id: $id) { items(first: 100) { nodes {
      name status keywords category { name } subcategory { name } efforts(first: 1) { nodes { id undoneAt } }
    } } } }`,
    { id: projectId },
  );
  return project.items.nodes.find((item) => item.name === name);
}

/** Goes to a page of the board by its two keys. */
export async function go(page, key) {
  await page.keyboard.press('g');
  await page.keyboard.press(key);
}
