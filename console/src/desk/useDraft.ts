import { useEffect, useRef, useState } from 'react';
import { useDeskState } from './hooks';

/** What to do with what was typed: made of what the browser kept, or of nothing, and whether somebody would miss it. */
export interface Kind<Draft> {
  begin: (kept: Draft | null) => Draft;
  isWorth: (draft: Draft) => boolean;
}

/**
 * What somebody types in a note, or in a new one; the browser keeps it until it is saved. Another tab shows it, too, until something is typed
 * there: then each has its own, `isElsewhere` says so, and the browser keeps what was typed last. `change` is for what the user does; `follow`
 * makes it anew of what it is, when what it is about has changed.
 */
export function useDraft<Draft>(id: string, { begin, isWorth }: Kind<Draft>) {
  const { kept } = useDeskState();
  const [draft, setDraft] = useState(() => begin(kept.draft<Draft>(id)));
  const [isSafe, setIsSafe] = useState(true);
  const [isElsewhere, setIsElsewhere] = useState(false);
  const isMine = useRef(false); // typed in this tab
  const latest = useRef({ begin, draft });
  latest.current = { begin, draft };

  useEffect(() => {
    const isKept = isWorth(draft);
    if (isMine.current) setIsSafe(kept.put(id, isKept ? draft : null));
    else {
      const other = kept.draft<Draft>(id);
      if (other && !isWorth(begin(other))) kept.put(id, null); // it says nothing any more
    }
    isMine.current &&= isKept;
  }, [kept, id, draft]);

  useEffect(
    () =>
      kept.watch<Draft>(id, (other) => {
        if (!isMine.current) setDraft(latest.current.begin(other));
        else setIsElsewhere(other !== null && JSON.stringify(other) !== JSON.stringify(latest.current.draft));
      }),
    [kept, id],
  );

  return {
    draft,
    isSafe,
    isElsewhere,
    change(to: Draft | ((before: Draft) => Draft)) {
      isMine.current = true;
      setIsElsewhere(false);
      setDraft(to);
    },
    follow: () => setDraft((before) => latest.current.begin(before)),
  };
}
