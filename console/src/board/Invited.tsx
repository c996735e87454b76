import { useEffect, useState } from 'react';
import { advise, useAct } from './act';
import { ask } from './client';
import { Dialog } from './Dialog';
import { TroubleNote } from './forms';
import { AcceptInvitationDocument, InvitationDocument, type InvitationQuery } from './gql/graphql';
import { useBoard, useNow } from './hooks';
import { moment } from './text';
import { roleNames } from './manage/words';

/** What somebody is invited to by a link, and whether they want to join. */
export function Invited({ token, onClose }: { token: string; onClose: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble } = useAct();
  const now = useNow();
  const [found, setFound] = useState<InvitationQuery['invitation']>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let open = true;
    void ask(store.client, InvitationDocument, { token }).then(({ data, failure }) => {
      if (!open) return;
      if (failure) setProblem(advise(failure));
      else setFound(data.invitation);
    });
    return () => {
      open = false;
    };
  }, [store, token]);

  async function join() {
    const project = (await act(AcceptInvitationDocument, { token }))?.acceptProjectInvitation?.project;
    if (!project) return;
    onClose();
    await store.join(project);
    store.say('good', `You are in the project ${project.name} now.`);
  }

  return (
    <Dialog title={found ? `Join ${found.projectName}?` : 'An invitation'} onClose={onClose}>
      {found === undefined && <p className="muted">{problem || 'One moment…'}</p>}
      {found === null && <p>Nobody can join by this link any more: it has expired, was used up or taken back. Ask whoever sent it for a new one.</p>}
      {found && (
        <p>
          {found.invitedBy?.name ?? 'Somebody'} invites you to the project <strong>{found.projectName}</strong>. In the team {found.teamName} you may{' '}
          {roleNames[found.teamType]}. The link works until {moment(found.expiresAt, now)}.
        </p>
      )}
      <TroubleNote trouble={trouble} />
      <div className="actions">
        <button type="button" onClick={onClose}>
          {found ? 'Not now' : 'Close'}
        </button>
        {found && (
          <button type="button" data-first className="primary" aria-disabled={busy} onClick={() => void join()}>
            Join
          </button>
        )}
      </div>
    </Dialog>
  );
}
