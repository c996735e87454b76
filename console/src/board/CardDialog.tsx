import { useEffect, useRef, useState } from 'react';
import { useAnswer } from './answer';
import { Dialog } from './Dialog';
import { OpenedDocument } from './gql/graphql';
import { useBoard, useBoardState, useNow } from './hooks';
import { Picture } from './Picture';
import { ago, span } from './text';
import type { Card } from './types';

/** Which card is opened. It has an entry of its own in the history: Back closes it, and the page stays. */
export function useOpened() {
  const { store } = useBoard();
  const [opened, setOpened] = useState<Card | null>(null);
  const leaving = useRef(false);
  useEffect(() => {
    const follow = ({ state }: PopStateEvent) => {
      leaving.current = false;
      setOpened(store.get().live.cards.get(state?.card)?.card ?? null);
    };
    if (window.history.state?.card) window.history.replaceState(null, ''); // of a card that was open before a reload
    window.addEventListener('popstate', follow);
    return () => window.removeEventListener('popstate', follow);
  }, [store]);
  return {
    opened,
    open(card: Card) {
      window.history.pushState({ card: card.id }, '');
      setOpened(card);
    },
    close() {
      if (window.history.state?.card && !leaving.current) {
        leaving.current = true; // until the entry is left: a dialog tells more than once that it closes
        window.history.back();
      }
      setOpened(null);
    },
  };
}

/** A card of the board, opened: the picture, who has the item, and what was found of it. */
export function CardDialog({ card, onClose }: { card: Card; onClose: () => void }) {
  const { live } = useBoardState();
  const now = useNow(5_000);
  const { data, failure } = useAnswer(OpenedDocument, { id: card.id }, live.cards.get(card.id)?.sequence);

  const item = data?.node?.__typename === 'ProjectItem' ? data.node : null;
  return (
    <Dialog title={card.name} onClose={onClose} wide>
      {failure && !item && <p className="problem">{failure.message}</p>}
      {item && (
        <div className="opened">
          <Picture item={item} />
          {item.claim && (
            <p>
              In the hands of <strong>{item.claim.user?.name ?? 'somebody'}</strong> for {span(now - Date.parse(item.claim.since))}.
            </p>
          )}
          <h3>What was found</h3>
          <ul>
            {item.all?.nodes.map(({ id, finishedAt, undoneAt, user, category, subcategory, keywords, review }) => (
              <li key={id} className={undoneAt ? 'is-undone' : undefined}>
                <span className="tag">{[category?.name, subcategory?.name].filter(Boolean).join(' · ')}</span> {keywords.join(', ')}{' '}
                <span className="muted">
                  {user?.name}, {ago(finishedAt, now)}
                  {undoneAt && ', undone'}
                </span>
                {review && (
                  <p>
                    <span className={review.verdict === 'CORRECT' ? 'tag is-good' : 'tag is-bad'}>{review.verdict === 'CORRECT' ? 'correct' : 'incorrect'}</span>{' '}
                    {review.comment} <span className="muted">{review.by && `${review.by.name}, ${ago(review.at, now)}`}</span>
                  </p>
                )}
              </li>
            ))}
            {!item.all?.nodes.length && <li className="muted">Nothing yet.</li>}
          </ul>
        </div>
      )}
    </Dialog>
  );
}
