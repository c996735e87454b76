// How users change something: a mutation, whether it is under way, and why it failed.
import type { TypedDocumentNode } from '@urql/core';
import { useRef, useState } from 'react';
import { useClient } from 'urql';
import { ask, type Failure } from './client';
import { newKey } from './idempotency';
import { sentence } from './text';

/** Why something did not work, and what to do next; at the field that is wrong, if one is. */
export interface Trouble {
  message: string;
  field: string;
  /** The type of the problem, where the mutation asks for it. */
  kind?: string;
  /** The item that is the problem, where the mutation asks for it. */
  itemId?: string;
}

const next: Record<string, string> = {
  '': 'Check your connection, then try again.',
  UNAVAILABLE: 'Try again in a moment.',
  EXHAUSTED: 'Once that is done, try again.',
  INVALID_INPUT: 'Correct it, then try again.',
  CONFLICT: 'Look at how it is now, then try again.',
  NOT_FOUND: 'Reload the page to see what changed.',
  UNAUTHENTICATED: 'Sign in again, then try again.',
  FORBIDDEN: 'Ask a manager of the project for it.',
};

// What the server says may succeed later without anything that the user does.
const patience: Record<string, string> = { EXHAUSTED: 'Wait a while, then try again.' };

/** A failure as a sentence, and another one that says what to do next. */
export const advise = ({ message, code, again }: Failure) => `${sentence(message)} ${(again ? patience : next)[code] ?? next[code] ?? 'Try again; if it fails again, tell whoever runs this server.'}`;

/** How a document calls its mutation: two mutations may have the same input. */
const nameOf = (document: TypedDocumentNode<any, any>) => document.definitions.map((part) => ('name' in part && part.name ? part.name.value : '')).join(' ');

/** What mutations may say instead of doing something. */
type Payload = { problem?: { __typename?: string; message: string; field?: string; itemId?: string } | null } | null | undefined;

/** The key of a mutation: the same one if the same is asked again because there was no answer. */
export function createKeys(make = newKey) {
  let last = { asked: '', key: '' };
  return {
    of(asked: string): string {
      if (last.asked !== asked) last = { asked, key: make() };
      return last.key;
    },
    /** There was an answer: who asks the same later means something else. */
    settle() {
      last = { asked: '', key: '' };
    },
  };
}

export type Keys = ReturnType<typeof createKeys>;

/** Asks mutations one after another, with keys that last as long as the page unless others are given. act() resolves to the answer, or to null when there was a trouble, which is in `trouble` then, as it is explained. */
export function useAct(kept?: Keys) {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const keys = useRef(kept ?? createKeys()).current;
  const underway = useRef(false);

  async function act<Data extends object, Input extends object>(
    document: TypedDocumentNode<Data, { input: Input }>,
    input: Omit<Input, 'idempotencyKey'>,
    explain: (trouble: Trouble) => Trouble | null | Promise<Trouble | null> = (trouble) => trouble,
  ): Promise<Data | null> {
    if (underway.current) return null;
    underway.current = true;
    setBusy(true);
    setTrouble(null);
    const idempotencyKey = keys.of(JSON.stringify([nameOf(document), input]));
    const { data, failure } = await ask(client, document, { input: { ...input, idempotencyKey } as unknown as Input });
    if (!failure?.again) keys.settle();
    const problem = data && (Object.values(data)[0] as Payload)?.problem;
    if (failure) setTrouble(await explain({ message: advise(failure), field: failure.field }));
    if (problem) setTrouble(await explain({ message: sentence(problem.message), field: problem.field?.replace(/^input\./, '') ?? '', kind: problem.__typename, itemId: problem.itemId }));
    underway.current = false;
    setBusy(false);
    return problem ? null : (data ?? null);
  }

  return { act, busy, trouble, setTrouble };
}

export type Act = ReturnType<typeof useAct>;
