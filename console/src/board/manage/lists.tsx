// Lists that are read in pages, and what runs in the background.
import type { AnyVariables, TypedDocumentNode } from '@urql/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useClient } from 'urql';
import { ask } from '../client';
import { useBoard } from '../hooks';
import { isLost } from '../socket';
import { advise } from '../act';

interface Connection<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/** Reads a list, one page at a time: the first one at once and when the variables change, the next when more() is called. */
export function usePages<Data, Node, Variables extends { first: number; after?: string | null }>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  pick: (data: Data) => Connection<Node> | null | undefined,
) {
  const client = useClient();
  const [nodes, setNodes] = useState<Node[] | null>(null);
  const [after, setAfter] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const latest = useRef(0); // an answer that another question has overtaken is not shown

  async function read(from: string | null, before: Node[]) {
    const mine = ++latest.current;
    setBusy(true);
    const { data, failure } = await ask(client, document, { ...variables, after: from } as Variables);
    if (mine !== latest.current) return;
    setBusy(false);
    const page = data && pick(data);
    setProblem(page ? '' : failure ? advise(failure) : 'There is nothing to show. Reload the page.');
    if (!page) return;
    setNodes([...before, ...page.nodes]);
    setAfter(page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
  }

  const question = JSON.stringify(variables);
  useEffect(() => {
    setNodes(null);
    setAfter(null);
    void read(null, []);
    return () => {
      latest.current += 1;
    };
  }, [question]);

  return {
    /** null until the first page is there. */
    nodes,
    busy,
    problem,
    hasMore: after !== null,
    more: () => (busy ? undefined : read(after, nodes ?? [])),
    /** Reads the first page again; what is shown stays until it is there. */
    again: () => read(null, []),
    change: (to: (nodes: Node[]) => Node[]) => setNodes((before) => to(before ?? [])),
  };
}

/** A list that is read in pages: what went wrong, what there is, and a button for what comes next. */
export function Pages(props: { of: Pick<ReturnType<typeof usePages>, 'problem' | 'hasMore' | 'busy' | 'more'>; more?: string; children: ReactNode }) {
  const { problem, hasMore, busy, more } = props.of;
  return (
    <>
      {problem && <p className="problem">{problem}</p>}
      {props.children}
      {hasMore && (
        <button type="button" aria-disabled={busy} onClick={() => void more()}>
          {props.more ?? 'More'}
        </button>
      )}
    </>
  );
}

/** Puts what has changed in the place of what it was. */
export const replaced =
  <Node extends { id: string }>(changed: Node) =>
  (nodes: Node[]) =>
    nodes.map((node) => (node.id === changed.id ? changed : node));

const POLL_MS = 2_000;

/** Follows something that runs in the background: by the subscription, and by asking where no socket is. */
export function useProgress<Told, Asked, Thing extends { id: string }>(
  id: string,
  runs: boolean,
  subscription: TypedDocumentNode<Told, { id: string }>,
  query: TypedDocumentNode<Asked, { id: string }>,
  tell: (thing: Thing) => void,
) {
  const { store } = useBoard();
  const teller = useRef(tell);
  teller.current = tell;
  useEffect(() => {
    if (!runs) return;
    let ended = false;
    let open = true;
    const say = (data: unknown) => {
      const thing = Object.values((data ?? {}) as Record<string, Thing | null>)[0];
      if (open && thing?.id === id) teller.current(thing);
    };
    const { unsubscribe } = store.client
      .subscription(subscription as TypedDocumentNode<Told, AnyVariables>, { id })
      .subscribe(({ data, error, hasNext }) => {
        say(data);
        ended ||= Boolean(error) || hasNext === false;
      });
    const timer = setInterval(async () => {
      if (!ended && !isLost(store.get().connection)) return;
      const { data } = await ask(store.client, query as TypedDocumentNode<Asked, AnyVariables>, { id });
      say(data);
    }, POLL_MS);
    return () => {
      open = false;
      unsubscribe();
      clearInterval(timer);
    };
  }, [id, runs, store, subscription, query]);
}
