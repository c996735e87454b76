// What pages read again when something has happened: soon, but not for each event of many.
import type { TypedDocumentNode, AnyVariables } from '@urql/core';
import { useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { ask, type Failure } from './client';

/** How long a page waits from one look to the next: what it shows is two seconds old at most, and it asks less than once a second. */
export const AGAIN_MS = 1_700;

/**
 * Asks at once, when the variables change, and when `change` is another one: then a while after the look before, so that changes that come
 * faster do not put it off. The last answer stays until the next one is there; one that another has overtaken is not shown.
 */
export function useAnswer<Data, Variables extends AnyVariables>(document: TypedDocumentNode<Data, Variables>, variables: Variables, change: unknown) {
  const client = useClient();
  const question = JSON.stringify(variables);
  const [answer, setAnswer] = useState<{ of: string; data?: Data; failure?: Failure }>({ of: question });
  const looks = useRef({ of: question, begun: 0, count: 0, shown: 0 });
  const failed = answer.failure?.again ? answer.failure : null; // another one at each look that fails
  useEffect(() => {
    const now = looks.current;
    if (now.of !== question) looks.current = { of: question, begun: 0, count: now.count, shown: now.count };
    async function look() {
      const mine = ++looks.current.count;
      looks.current.begun = Date.now();
      const { data, failure } = await ask(client, document, variables);
      if (mine <= looks.current.shown || looks.current.of !== question) return;
      looks.current.shown = mine;
      setAnswer((before) => ({ of: question, data: data ?? (before.of === question ? before.data : undefined), failure }));
    }
    const timer = setTimeout(() => void look(), Math.max(looks.current.begun + AGAIN_MS - Date.now(), 0));
    return () => clearTimeout(timer);
  }, [client, document, question, change, failed]);
  return answer.of === question ? answer : { of: question };
}
