import { useState } from 'react';
import { Select } from '../board/forms';
import { useLater } from '../board/hooks';
import { Pages, usePages } from '../board/manage/lists';
import { KeptScoresDocument, MyScoresDocument, PublicScoresDocument, type ScoreRowFragment } from './gql/graphql';
import { useAddress, useDeskState } from './hooks';
import { pagesOf } from './pager';
import { ScorePage } from './ScorePage';

const SHOWN = 25;
const TYPING_MS = 250;
const listNames = { mine: 'My scores', kept: 'Scores that I keep', public: 'Public scores' };

/** The list of scores, and beside it the one that the address names. */
export default function Scores() {
  const { address, go } = useAddress();
  const [round, setRound] = useState(0); // grows when the list of kept ones has changed
  const list = address.list === 'kept' || address.list === 'public' ? address.list : 'mine';
  const opened = address.score ?? '';
  return (
    <div className={opened ? 'notes has-note' : 'notes'}>
      <section className="note-list" aria-label="List of scores">
        <div className="actions">
          <Select label="Show" value={list} names={listNames} onChange={(list) => go({ list: list === 'mine' ? '' : list })} />
        </div>
        {list === 'mine' && <MyList opened={opened} />}
        {list === 'kept' && <KeptList key={round} opened={opened} />}
        {list === 'public' && <PublicSearch opened={opened} />}
      </section>
      {opened ? <ScorePage key={opened} id={opened} onKept={() => setRound(round + 1)} /> : <p className="muted no-note">Choose a score to page through it.</p>}
    </div>
  );
}

function MyList({ opened }: { opened: string }) {
  const pages = usePages(MyScoresDocument, { first: SHOWN }, (data) => data.viewer?.scores);
  return <List pages={pages} opened={opened} none="You have no scores yet." />;
}

function KeptList({ opened }: { opened: string }) {
  const pages = usePages(KeptScoresDocument, { first: SHOWN }, (data) => data.viewer?.keptScores);
  return <List pages={pages} opened={opened} none="You keep no scores of others. Open a public one, and press “Keep it”." />;
}

/** Searches the public scores by the beginning of their titles, as one types. */
function PublicSearch({ opened }: { opened: string }) {
  const [typed, setTyped] = useState('');
  const titlePrefix = useLater(typed.trim(), TYPING_MS);
  return (
    <>
      <div className="field after" role="search">
        <label htmlFor="score-title">Title begins with</label>
        <input id="score-title" type="search" autoComplete="off" maxLength={200} value={typed} onChange={(event) => setTyped(event.target.value)} />
      </div>
      {titlePrefix ? <PublicList titlePrefix={titlePrefix} opened={opened} /> : <p className="muted after">Type the first letters of a title.</p>}
    </>
  );
}

function PublicList({ titlePrefix, opened }: { titlePrefix: string; opened: string }) {
  const pages = usePages(PublicScoresDocument, { titlePrefix, first: SHOWN }, (data) => data.publicScores);
  return <List pages={pages} opened={opened} none="No public score begins so." />;
}

type Read = Pick<ReturnType<typeof usePages<unknown, ScoreRowFragment | null, { first: number }>>, 'nodes' | 'problem' | 'hasMore' | 'busy' | 'more'>;

function List({ pages, opened, none }: { pages: Read; opened: string; none: string }) {
  const { viewer } = useDeskState();
  const { link } = useAddress();
  const rows = (pages.nodes ?? []).filter((row) => row !== null); // null is a kept one that is gone or private now
  return (
    <Pages of={pages}>
      <ul className="note-rows" aria-busy={pages.busy}>
        {rows.map((row) => (
          <li key={row.id}>
            <a href={link({ score: row.id, at: '' })} aria-current={row.id === opened ? 'true' : undefined}>
              <strong>{row.title}</strong>
              <span className="muted">
                {row.owner?.id !== viewer?.id && `${row.owner?.name ?? 'Somebody'} · `}
                {pagesOf(row.pageCount)}
              </span>
            </a>
          </li>
        ))}
        {pages.nodes !== null && rows.length === 0 && <li className="muted">{none}</li>}
      </ul>
    </Pages>
  );
}
