import type { ReactNode } from 'react';
import { finding, review } from './live';
import { ago } from './text';
import type { Card } from './types';

type Open = (card: Card) => void;

/** A card in a list, which opens it. */
export function Tile({ card, onOpen, children }: { card: Card; onOpen: Open; children?: ReactNode }) {
  return (
    <li className={`tile is-${card.status.toLowerCase()}`}>
      <button type="button" className="tile-name" onClick={() => onOpen(card)}>
        {card.name}
      </button>
      {children && <span className="tile-more">{children}</span>}
    </li>
  );
}

/** A card with what was found out about it, and with its status where that is not plain. */
export function Found({ card, now, status, onOpen }: { card: Card; now: number; status?: string; onOpen: Open }) {
  const effort = finding(card);
  const said = review(card);
  const is = [card.category?.name, card.subcategory?.name].filter(Boolean).join(' · ');
  return (
    <Tile card={card} onOpen={onOpen}>
      {status && <span className="tag">{status}</span>}
      {is && <span className="tag">{is}</span>}
      {said && <span className={said.verdict === 'CORRECT' ? 'tag is-good' : 'tag is-bad'}>{said.verdict === 'CORRECT' ? 'correct' : 'incorrect'}</span>}
      <span className="muted">
        {effort?.user?.name}
        {said?.by && `, reviewed by ${said.by.name}`}, {ago(said?.at ?? effort?.finishedAt ?? card.updatedAt, now)}
      </span>
    </Tile>
  );
}
