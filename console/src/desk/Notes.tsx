import { useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { ask } from '../board/client';
import { onSubmit, Select } from '../board/forms';
import { useLater } from '../board/hooks';
import { Pages, usePages } from '../board/manage/lists';
import { MyNotesDocument, SharedNotesDocument, TaggedNotesDocument, TagsDocument } from './gql/graphql';
import { useAddress, useDeskState, type Address } from './hooks';
import { NewNote } from './NewNote';
import { NotePage } from './NotePage';
import { arrange, type Row, type Wanted } from './rows';
import { when } from './times';

const SHOWN = 25;
const listNames = { mine: 'My notes', shared: 'Shared with me' };
const noPage = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

/** The list of notes, and beside it the one that the address names. */
export function Notes() {
  const { address, link, go } = useAddress();
  const wanted: Wanted = { list: address.list === 'shared' ? 'shared' : 'mine', tag: address.list === 'shared' ? '' : (address.tag ?? '') };
  const opened = address.note ?? '';
  return (
    <div className={opened ? 'notes has-note' : 'notes'}>
      <section className="note-list" aria-label="List of notes">
        <div className="actions">
          <a className="button primary" href={link({ note: 'new' })}>
            New note
          </a>
          <Select label="Show" value={wanted.list} names={listNames} onChange={(list) => go({ list: list === 'shared' ? 'shared' : '', tag: '' })} />
        </div>
        {wanted.list === 'mine' && <TagFilter key={`filter ${wanted.tag}`} tag={wanted.tag} onChoose={(tag) => go({ tag })} />}
        {wanted.list === 'shared' && <SharedList opened={opened} />}
        {wanted.list === 'mine' && (wanted.tag ? <TaggedList key={wanted.tag} tag={wanted.tag} opened={opened} /> : <MyList opened={opened} />)}
      </section>
      {opened === 'new' && <NewNote />}
      {opened && opened !== 'new' && <NotePage key={opened} id={opened} />}
      {!opened && <p className="muted no-note">Choose a note to read or change it.</p>}
    </div>
  );
}

/** Asks for a tag; those that begin with what is typed are offered. */
function TagFilter({ tag, onChoose }: { tag: string; onChoose: (tag: string) => void }) {
  const client = useClient();
  const [typed, setTyped] = useState(tag);
  const [offered, setOffered] = useState<string[]>([]);
  const prefix = useLater(typed.trim(), 200);
  useEffect(() => {
    let open = true;
    void ask(client, TagsDocument, { prefix }).then(({ data }) => open && data && setOffered(data.viewer?.tags?.nodes.map(({ value }) => value) ?? []));
    return () => {
      open = false;
    };
  }, [client, prefix]);
  return (
    <form className="row-form" role="search" onSubmit={onSubmit(() => onChoose(typed.trim()))}>
      <div className="field">
        <label htmlFor="tag-filter">Tag</label>
        <input id="tag-filter" list="tags-offered" autoComplete="off" maxLength={200} value={typed} onChange={(event) => setTyped(event.target.value)} />
        <datalist id="tags-offered">
          {offered.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      </div>
      <div className="actions">
        <button type="submit">Filter</button>
        {tag && (
          <button type="button" onClick={() => onChoose('')}>
            All
          </button>
        )}
      </div>
    </form>
  );
}

function MyList({ opened }: { opened: string }) {
  const pages = usePages(MyNotesDocument, { first: SHOWN }, (data) => data.viewer?.notes);
  return <List wanted={{ list: 'mine', tag: '' }} pages={pages} opened={opened} none="You have no notes yet." />;
}

function TaggedList({ tag, opened }: { tag: string; opened: string }) {
  const pages = usePages(TaggedNotesDocument, { tag, first: SHOWN }, (data) => (data.viewer && !data.viewer.tag ? noPage : data.viewer?.tag?.notes));
  return <List wanted={{ list: 'mine', tag }} pages={pages} opened={opened} none={`No note of yours has the tag “${tag}”.`} />;
}

function SharedList({ opened }: { opened: string }) {
  const pages = usePages(SharedNotesDocument, { first: SHOWN }, (data) => data.viewer?.sharedNotes);
  return <List wanted={{ list: 'shared', tag: '' }} pages={pages} opened={opened} none="Nobody shares a note with you." />;
}

type Read = Pick<ReturnType<typeof usePages<unknown, Row | null, { first: number }>>, 'nodes' | 'problem' | 'hasMore' | 'busy' | 'more'>;

function List(props: { wanted: Wanted; pages: Read; opened: string; none: string }) {
  const { news, kept } = useDeskState();
  const { link } = useAddress();
  const { nodes, hasMore } = props.pages;
  const rows = arrange(props.wanted, (nodes ?? []).filter((row) => row !== null), news, hasMore || nodes === null);
  return (
    <Pages of={props.pages}>
      <ul className="note-rows" aria-busy={props.pages.busy}>
        {rows.map((row) => (
          <li key={row.id}>
            <a href={link({ note: row.id })} aria-current={row.id === props.opened ? 'true' : undefined}>
              <strong>{row.title}</strong>
              {kept.has(row.id) && <span className="tag is-bad">not saved</span>}
              <span className="muted">
                {row.viewerPermission !== 'OWNER' && `${row.owner?.name ?? 'Somebody'} · `}
                {row.deadline ? `due ${when(row.deadline)}` : 'no deadline'}
              </span>
              {row.tags.length > 0 && (
                <span className="note-tags">
                  {row.tags.map(({ value }) => (
                    <span key={value} className="tag">
                      {value}
                    </span>
                  ))}
                </span>
              )}
            </a>
          </li>
        ))}
        {nodes !== null && rows.length === 0 && <li className="muted">{props.none}</li>}
      </ul>
    </Pages>
  );
}

/** The heading of what was opened; the cursor goes to it, so that a keyboard and a screen reader are where the eye is. */
export function NoteHead({ title, close = { note: '' } }: { title: string; close?: Address }) {
  const { link } = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className="note-head">
      <h2 ref={heading} tabIndex={-1}>
        {title}
      </h2>
      <a className="button" href={link(close)}>
        Close
      </a>
    </header>
  );
}
