import { useCallback, useEffect, useRef, useState } from 'react';
import { advise, createKeys } from './act';
import { ask, type Answer } from './client';
import { ReviewDocument, ToReviewDocument, type CorrectionInput, type ToReviewMutation, type Verdict } from './gql/graphql';
import { useBoard, useBoardState } from './hooks';
import { finding, review } from './live';
import { sentence } from './text';
import type { Held } from './types';

const AGAIN_MS = 3_000;
const KEPT = 50;

/** What a reviewer wants to look at; empty ids choose all. */
export interface ReviewFilter {
  authorId: string;
  categoryId: string;
}

/** What a reviewer says about a result. */
export interface Saying {
  verdict: Verdict;
  comment: string;
  /** What the item is in place of what was found, if the verdict is `INCORRECT`. */
  correction?: CorrectionInput;
}

/** What became of it: it was taken, somebody else was first, or it was refused. */
export interface Said {
  became: 'taken' | 'overtaken' | 'refused' | 'unsent';
  message: string;
  /** The version of the effort now, where another one was expected. */
  version?: number;
}

/** An item whose result has another version since it was read. */
export function seen(item: Held, version = 0): Held {
  return item.efforts ? { ...item, efforts: { ...item.efforts, nodes: item.efforts.nodes.map((effort) => ({ ...effort, version })) } } : item;
}

/** The results that the viewer has to review, at most `count` at a time, and how to say what they are. */
export function useReviews({ authorId, categoryId }: ReviewFilter, count: number, may: boolean) {
  const { store } = useBoard();
  const { project, live } = useBoardState();
  const [found, setFound] = useState<Held[] | null>(null);
  const [failed, setFailed] = useState(''); // why the last look found less than there is
  const [waiting, setWaiting] = useState<number | null>(null); // what awaits a review in all
  const looked = useRef(0); // when the last look began
  const keys = useRef(createKeys()).current;
  const latest = useRef(0); // an answer that another question has overtaken is not shown

  const load = useCallback(async (): Promise<boolean> => {
    if (!project || !may) return true;
    looked.current = Date.now();
    const mine = ++latest.current;
    const answer: Answer<ToReviewMutation> = await ask(store.client, ToReviewDocument, { project: project.id, count, author: authorId || null, category: categoryId || null });
    if (mine !== latest.current) return true;
    const efforts = answer.data?.claimReviews?.efforts;
    setFailed(efforts ? '' : (answer.failure?.message ?? 'The queue is being rebuilt.'));
    if (!efforts) {
      setFound((before) => before ?? []);
      return false;
    }
    setWaiting(answer.data?.claimReviews?.project?.toReviewCount ?? null);
    // What one is looking at stays where it is.
    const fresh = efforts.flatMap(({ item, ...effort }) => (item ? [{ ...item, efforts: { nodes: [effort] } }] : []));
    setFound((before) => {
      const kept = (before ?? []).filter(({ id }) => fresh.some((item) => item.id === id));
      return [...new Map([...kept, ...fresh].map((item) => [item.id, item])).values()];
    });
    return true;
  }, [project, may, store, count, authorId, categoryId]);

  // At once at first, and when something else is asked for.
  useEffect(() => {
    looked.current = 0;
    setFound(null);
    setWaiting(null);
  }, [project?.id, count, authorId, categoryId]);
  // Then, when somebody finished something and when not all could be read, a few seconds after the look before: finishes that come faster
  // do not put it off.
  const finished = live.finishes.at(-1) ?? 0;
  useEffect(() => {
    let over = false;
    let timer: ReturnType<typeof setTimeout>;
    async function look() {
      const complete = await load();
      if (!complete && !over) timer = setTimeout(() => void look(), AGAIN_MS);
    }
    timer = setTimeout(() => void look(), Math.max(looked.current + AGAIN_MS - Date.now(), 0));
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [load, finished]);

  /** Says what a result is. What was taken or overtaken leaves the list. */
  async function say(item: Held, { verdict, comment, correction }: Saying): Promise<Said> {
    const effort = finding(item);
    if (!effort) return { became: 'overtaken', message: 'Its author took it back.' };
    const input = { effortId: effort.id, expectedVersion: effort.version, verdict, comment: comment.trim(), correction };
    const { data, failure } = await ask(store.client, ReviewDocument, { input: { ...input, idempotencyKey: keys.of(JSON.stringify(input)) } });
    if (!failure?.again) keys.settle();
    if (store.get().project?.id !== project?.id) return { became: 'refused', message: '' }; // another project or user is shown
    if (failure) return { became: failure.again ? 'unsent' : 'refused', message: advise(failure) };
    const problem = data?.reviewEffort?.problem;
    if (problem?.__typename === 'EffortConflict') return { became: 'overtaken', message: sentence(problem.message), version: problem.current.version };
    if (problem) return { became: 'refused', message: sentence(problem.message) };
    drop(item.id);
    const { reviewed } = store.get();
    const said = { item: seen(item, data?.reviewEffort?.effort?.version), verdict, comment: comment.trim() };
    store.set({
      lasting: 'A review is changed in Review, by u there: only a finish can be undone.',
      reviewed: [said, ...reviewed.filter((other) => other.item.id !== item.id)].slice(0, KEPT),
    });
    return { became: 'taken', message: '' };
  }

  const drop = (id: string) => setFound((before) => before?.filter((item) => item.id !== id) ?? null);

  return {
    /** null until they were read. What others did meanwhile needs no look: undone, reviewed, or finished anew. */
    open:
      found?.filter(({ id }) => {
        const card = live.cards.get(id)?.card;
        return !card || (card.status === 'FINISHED' && !review(card));
      }) ?? null,
    waiting,
    failed,
    load,
    say,
    drop,
  };
}

export type Reviews = ReturnType<typeof useReviews>;
