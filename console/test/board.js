import assert from 'node:assert/strict';
import { createDrafts } from '../src/board/drafts.ts';
import { createHolder } from '../src/board/state.ts';
import { createWork } from '../src/board/work.ts';
import { memory } from './memory.js';

export const settled = () => new Promise(setImmediate);
export const item = (id) => ({ id, name: id, claim: { token: `token of ${id}`, until: '2026-01-01T00:15:00.000Z', user: { id: 'ada' } } });
const project = (id) => ({ id, name: id, categories: [{ id: 'c', name: 'Music' }], viewerMember: { type: 'TAGGIE' } });
export const finished = { data: { finishProjectItem: { effort: { id: 'e', finishedAt: '2026-01-01T00:00:00.000Z' }, problem: null } } };
export const unavailable = { error: { graphQLErrors: [{ message: 'Later.', extensions: { code: 'UNAVAILABLE', retryable: true } }] } };
export const refused = { error: { graphQLErrors: [{ message: 'No.', extensions: { code: 'INVALID', retryable: false } }] } };

/** A board whose server answers when the test does: asked holds what it was asked. */
export function board(t) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const storage = memory();
  const holder = createHolder();
  const asked = [];
  const ask = (document, variables) => ({
    toPromise: () =>
      new Promise((answer) => {
        asked.push({ name: document.definitions[0].name.value, variables, answer });
      }),
  });
  const settings = { get: () => ({ ahead: 1, singleKeys: true }) };
  let work;
  return {
    ...holder,
    asked,
    drafts: (user, id) => createDrafts(storage, user, id),
    /** Shows a project to a user, as the store does; these items are in his hands. */
    async open(user, id, claims) {
      work?.close();
      holder.set({ viewer: { id: user, name: user }, project: project(id), held: [], kept: [], done: [], selected: null, busy: '' });
      work = createWork({ executeQuery: ({ query, variables }) => ask(query, variables), mutation: ask }, holder, settings, id, createDrafts(storage, user, id));
      const begun = work.begin();
      await this.answer('Claims', { data: { project: { viewerClaims: claims } } });
      await begun;
      return work;
    },
    /** Answers the oldest question of that name. */
    async answer(name, answer) {
      await settled();
      const at = asked.findIndex((question) => question.name === name);
      assert.ok(at >= 0, `${name} was not asked`);
      const [question] = asked.splice(at, 1);
      question.answer(answer);
      await settled();
      return question.variables;
    },
  };
}

/** What the board shows; a user or project that did not ask may not see it change. */
export const shown = ({ held, kept, done, notices, selected, busy }) => ({ held, kept, done, notices, selected, busy });

export async function sent(b) {
  const work = await b.open('ada', 'p', [item('i')]);
  work.type('i', { categoryId: 'c', keywords: ['pier'] });
  assert.equal(work.finish('i'), '');
  return work;
}

export const undone = (id) => ({
  data: { undoFinish: { item: { ...item(id), claim: { ...item(id).claim, token: 'another token' } }, effort: { category: { id: 'c' }, keywords: [] }, problem: null } },
});
