import { useState } from 'react';
import { useAct } from '../board/act';
import { Confirm, Field, onSubmit, Select, TroubleNote } from '../board/forms';
import { Pages, usePages } from '../board/manage/lists';
import { ShareNoteDocument, SharesDocument, UnshareNoteDocument, type SharePermission, type SharesQuery } from './gql/graphql';
import { useAddress, useDeskState } from './hooks';
import type { Whole } from './NotePage';
import { when } from './times';

const SHOWN = 20;
const permissions = { VIEW: 'read', EDIT: 'read and change' };
type Edge = NonNullable<NonNullable<SharesQuery['note']>['accessList']>['edges'][number];

/** With whom the note is shared. Its owner shares it and ends shares; others can end their own. */
export function Shares({ note }: { note: Whole }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="after" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Shared with</summary>
      {isOpen && <List note={note} />}
    </details>
  );
}

function List({ note }: { note: Whole }) {
  const { viewer, told, say } = useDeskState();
  const { go } = useAddress();
  const { act, busy, trouble, setTrouble } = useAct();
  const isOwner = note.viewerPermission === 'OWNER';
  const [ending, setEnding] = useState<Edge['node']>(null);
  const shares = usePages(SharesDocument, { note: note.id, first: SHOWN }, (data) => data.note?.accessList && { nodes: data.note.accessList.edges, pageInfo: data.note.accessList.pageInfo });

  async function end(user: NonNullable<Edge['node']>) {
    if (!(await act(UnshareNoteDocument, { noteId: note.id, userId: user.id }))) return;
    setEnding(null);
    if (user.id === viewer?.id) {
      told(note.id, null);
      say('good', `“${note.title}” is no longer shared with you.`);
      return go({ note: '' });
    }
    shares.change((edges) => edges.filter(({ node }) => node?.id !== user.id));
    say('good', `The note is no longer shared with ${user.name}.`);
  }

  return (
    <div className="section after">
      {isOwner && (
        <ShareForm
          note={note}
          onShared={(edge) => {
            shares.change((edges) => [edge, ...edges.filter(({ node }) => node?.id !== edge.node?.id)]);
            say('good', `${edge.node?.name ?? 'They'} may ${permissions[edge.permission]} it now.`);
          }}
        />
      )}
      <Pages of={shares}>
        <ul className="entries">
          {shares.nodes?.map(({ node, permission, sharedAt }, at) => (
            <li key={node?.id ?? at} className="entry is-row">
              <span>
                {node?.name ?? 'Somebody'} may {permissions[permission]} it, since {when(sharedAt)}
              </span>
              {node && (isOwner || node.id === viewer?.id) && (
                <button
                  type="button"
                  onClick={() => {
                    setTrouble(null);
                    setEnding(node);
                  }}
                >
                  {isOwner ? 'End' : 'Leave'}
                  <span className="unseen-text"> the share with {node.name}</span>
                </button>
              )}
            </li>
          ))}
          {shares.nodes?.length === 0 && <li className="muted">Nobody</li>}
        </ul>
      </Pages>
      {ending && (
        <Confirm title={`End the share with ${ending.name}?`} yes="End it" busy={busy} trouble={trouble} onYes={() => end(ending)} onClose={() => setEnding(null)}>
          <p>{ending.id === viewer?.id ? 'You cannot read the note any more then; its owner can share it again.' : `${ending.name} cannot read the note any more then.`}</p>
        </Confirm>
      )}
    </div>
  );
}

function ShareForm({ note, onShared }: { note: Whole; onShared: (edge: Edge) => void }) {
  const { act, busy, trouble } = useAct();
  const [email, setEmail] = useState('');
  const [permission, setPermission] = useState<SharePermission>('VIEW');
  const [showEarlierVersions, setShowEarlier] = useState(false);

  async function share() {
    const data = await act(ShareNoteDocument, { noteId: note.id, email: email.trim(), permission, showEarlierVersions });
    const edge = data?.shareNote?.accessEdge;
    if (!edge) return;
    setEmail('');
    onShared(edge);
  }

  return (
    <form onSubmit={onSubmit(() => !busy && share())}>
      <div className="row-form">
        <Field label="E-mail address" name="email" trouble={trouble}>
          {(wiring) => <input {...wiring} type="email" required maxLength={254} autoComplete="off" value={email} onChange={(event) => setEmail(event.target.value)} />}
        </Field>
        <Select label="They may" value={permission} names={permissions} onChange={(chosen) => setPermission(chosen || 'VIEW')} />
        <button type="submit">Share</button>
      </div>
      <label className="inline">
        <input type="checkbox" checked={showEarlierVersions} onChange={(event) => setShowEarlier(event.target.checked)} /> They also see the versions from before
      </label>
      <TroubleNote trouble={trouble} except={['email']} />
    </form>
  );
}
