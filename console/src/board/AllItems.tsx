import { useState } from 'react';
import { CardDialog } from './CardDialog';
import { Dialog } from './Dialog';
import { Select } from './forms';
import { AllItemsDocument } from './gql/graphql';
import { useBoardState, useLater, useNow } from './hooks';
import { Pages, usePages } from './manage/lists';
import { statusNames } from './manage/words';
import { Found } from './Tile';
import type { Card, ProjectItemStatus } from './types';

const SHOWN = 25;

/** All items of the project, by status and by the beginning of their names, a page at a time. */
export function AllItems(props: { status: ProjectItemStatus | ''; name: string; onClose: () => void }) {
  const { project } = useBoardState();
  const [status, setStatus] = useState(props.status);
  const [name, setName] = useState(props.name);
  const namePrefix = useLater(name.trim(), 200);
  const [opened, setOpened] = useState<Card | null>(null);
  const now = useNow(5_000);
  const items = usePages(AllItemsDocument, { project: project?.id ?? '', status: status || null, namePrefix: namePrefix || null, first: SHOWN }, (data) => data.project?.items);
  return (
    <Dialog title="All items" onClose={props.onClose} wide>
      <div className="row-form">
        <Select label="Status" value={status} names={statusNames} all="All" onChange={setStatus} />
        <div className="field">
          <label htmlFor="all-items-name">Name begins with</label>
          <input id="all-items-name" data-first type="search" autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
        </div>
      </div>
      <Pages of={items}>
        <ul className="all-items" aria-busy={items.busy}>
          {items.nodes?.map((card) => (
            <Found key={card.id} card={card} now={now} status={statusNames[card.status]} onOpen={setOpened} />
          ))}
          {items.nodes?.length === 0 && (
            <li className="muted">{items.hasMore ? 'None so far: see more.' : namePrefix ? `No item has a name that begins with “${namePrefix}”.` : 'There are none.'}</li>
          )}
        </ul>
      </Pages>
      {opened && <CardDialog card={opened} onClose={() => setOpened(null)} />}
    </Dialog>
  );
}
