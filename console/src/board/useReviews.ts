import { useCallback, useEffect, useRef, useState } from 'react';
import { advise, createKeys } from './act';
import { AGAIN_MS } from './answer';
import { ask, type Answer } from './client';
import { ReviewDocument, ToReviewDocument, type CorrectionInput, type ToReviewMutation, type Verdict } from './gql/graphql';
import { useBoard, useBoardState } from './hooks';
import { finding, review } from './live';
import { sentence } from './text';
import type { Held } from './types';

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

/** What became of it: it was taken, it is not the viewer's to review any more, or it was refused, without a message if somebody left. */
export interface Said {
  became: 'taken' | 'overtaken' | 'refused';
  message: string;
  /** The version of the effort now, where another one was expected. */
  version?: number;
}

/** What a reviewer types and chooses belongs to: a result in one version. When its author finishes the item again, nothing of it holds. */
export const keyOf = (item: Held) => [item.id, finding(item)?.id, finding(item)?.version].join(' ');

/** An item whose result has another version since it was read. */
export function seen(item: Held, version = 0): Held {
  return item.efforts ? { ...item, efforts: { ...item.efforts, nodes: item.efforts.nodes.map((effort) => ({ ...effort, version })) } } : item;
}

/** The results that the viewer has to review, at most `count` at a time, and how to say what they are. */
export function useReviews({ authorId, categoryId }: ReviewFilter, count: number, may: boolean) {
  const { store } = useBoard();
  const { project, live, viewer } = useBoardState();
  const [found, setFound] = useState<Held[] | null>(null);
  const [failed, setFailed] = useState<{ message: string } | null>(null); // another one at each look that fails
  const [waiting, setWaiting] = useState<number | null>(null); // what awaits a review in all
  const looked = useRef(0); // when the last look began
  const keys = useRef(createKeys()).current;
  const latest = useRef(0); // an answer that another question has overtaken is not shown
  // What was found for another question is gone before anything is drawn: a form of it would take the cursor, and then go.
  const question = JSON.stringify([project?.id, authorId, categoryId]);
  const [asked, setAsked] = useState(question);
  if (asked !== question) {
    setAsked(question);
    setFound(null);
    setWaiting(null);
    setFailed(null);
  }

  const load = useCallback(async () => {
    if (!project || !may) return;
    looked.current = Date.now();
    const mine = ++latest.current;
    const answer: Answer<ToReviewMutation> = await ask(store.client, ToReviewDocument, { project: project.id, count, author: authorId || null, category: categoryId || null });
    if (mine !== latest.current) return;
    const efforts = answer.data?.claimReviews?.efforts;
    setFailed(efforts ? null : { message: answer.failure?.message ?? 'The queue is being rebuilt.' });
    if (!efforts) return setFound((before) => before ?? []);
    setWaiting(answer.data?.claimReviews?.project?.toReviewCount ?? null);
    // What one is looking at stays where it is.
    const fresh = efforts.flatMap(({ item, ...effort }) => (item ? [{ ...item, efforts: { nodes: [effort] } }] : []));
    setFound((before) => {
      const kept = (before ?? []).filter(({ id }) => fresh.some((item) => item.id === id));
      return [...new Map([...kept, ...fresh].map((item) => [item.id, item])).values()];
    });
  }, [project?.id, may, store, count, authorId, categoryId]);

  // At once at first, and when something else or more is asked for. What was found stays in sight where only the number changes.
  useEffect(() => {
    looked.current = 0;
  }, [question, count]);
  // Then, when somebody finished something and when not all could be read, a while after the look before: finishes that come faster
  // do not put it off.
  const finished = live.finishes.at(-1) ?? 0;
  useEffect(() => {
    const timer = setTimeout(() => void load(), Math.max(looked.current + AGAIN_MS - Date.now(), 0));
    return () => clearTimeout(timer);
  }, [load, finished, failed]);

  /** Says what a result is. What was taken leaves the list, and so does what is not the viewer's to review any more. */
  async function say(item: Held, { verdict, comment, correction }: Saying): Promise<Said> {
    const isHere = () => store.get().project?.id === project?.id && store.get().viewer?.id === viewer?.id;
    const effort = finding(item);
    if (!effort || !isHere()) return { became: 'refused', message: '' };
    const input = { effortId: effort.id, expectedVersion: effort.version, verdict, comment: comment.trim(), correction };
    const { data, failure } = await ask(store.client, ReviewDocument, { input: { ...input, idempotencyKey: keys.of(JSON.stringify(input)) } });
    if (!failure?.again) keys.settle();
    if (!isHere()) return { became: 'refused', message: '' }; // another project or user is shown
    if (failure && failure.code !== 'NOT_FOUND') return { became: 'refused', message: advise(failure) };
    const problem = data?.reviewEffort?.problem;
    if (failure || problem) {
      drop(item.id);
      const version = problem?.__typename === 'EffortConflict' ? problem.current.version : undefined;
      return { became: 'overtaken', message: sentence(failure?.message ?? problem!.message), version };
    }
    drop(item.id);
    const { reviewed } = store.get();
    const others = reviewed.filter((other) => other.item.id !== item.id);
    const said = { item: seen(item, data?.reviewEffort?.effort?.version), verdict, comment: comment.trim() };
    store.set(
      correction
        ? { lasting: 'A correction is a finish of your own: undo it in History, within five minutes.', reviewed: others }
        : { lasting: 'A review is changed in Review, by u there: only a finish can be undone.', reviewed: [said, ...others].slice(0, KEPT) },
    );
    return { became: 'taken', message: '' };
  }

  function drop(id: string) {
    setFound((before) => before?.filter((item) => item.id !== id) ?? null);
    setWaiting((before) => before && before - 1);
  }

  return {
    /** null until they were read. What others did meanwhile needs no look: undone, reviewed, or finished anew. */
    open:
      found?.filter((item) => {
        const card = live.cards.get(item.id)?.card;
        return !card || (card.status === 'FINISHED' && !review(card) && finding(card)?.id === finding(item)?.id);
      }) ?? null,
    waiting,
    /** Why the last look found less than there is; empty if it found all. */
    failed: failed?.message ?? '',
    load,
    say,
  };
}

export type Reviews = ReturnType<typeof useReviews>;
