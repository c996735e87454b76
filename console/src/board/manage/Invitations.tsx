import { useEffect, useRef, useState } from 'react';
import { advise, useAct } from '../act';
import { ask } from '../client';
import { Confirm, Field, onSubmit, TroubleNote } from '../forms';
import { CreateInvitationDocument, InvitationsDocument, RevokeInvitationDocument, type InvitationsQuery } from '../gql/graphql';
import { useBoard, useBoardState, useNow } from '../hooks';
import { linkTo } from '../invitation';
import { moment } from '../text';
import { TeamOptions, type Team } from './teams';

type Invitation = NonNullable<NonNullable<InvitationsQuery['project']>['invitations']>[number];

/** Links by which people join a team on their own; nobody becomes a manager by one. */
export function Invitations({ teams }: { teams: Team[] }) {
  const { store } = useBoard();
  const { project } = useBoardState();
  const [all, setAll] = useState<Invitation[]>([]);
  const [problem, setProblem] = useState('');
  const asked = useRef(0); // an answer that others have overtaken is not shown

  async function read() {
    const mine = ++asked.current;
    const { data, failure } = await ask(store.client, InvitationsDocument, { project: project?.id ?? '' });
    if (mine !== asked.current) return;
    setProblem(failure ? advise(failure) : '');
    if (data?.project?.invitations) setAll(data.project.invitations);
  }
  useEffect(() => {
    void read();
    return () => {
      asked.current += 1;
    };
  }, [project?.id]);

  const to = teams.filter(({ type }) => type !== 'MANAGER');
  return (
    <section className="panel" aria-label="Invitations">
      <h2>Invitations</h2>
      <p className="muted">Whoever has the link can join. Send it only to those whom you mean.</p>
      {to.length > 0 ? <Invite teams={to} onDone={read} /> : <p>First create a team whose members may label or review.</p>}
      {problem && <p className="problem">{problem}</p>}
      <ul className="entries">
        {all.map((one) => (
          <Entry key={one.id} one={one} onDone={read} />
        ))}
      </ul>
    </section>
  );
}

function Invite({ teams, onDone }: { teams: Team[]; onDone: () => void }) {
  const { act, busy, trouble } = useAct();
  const [teamId, setTeamId] = useState('');
  const [uses, setUses] = useState('1');
  const [days, setDays] = useState('7');
  const chosen = (teams.find(({ id }) => id === teamId) ?? teams[0])!.id;

  async function create() {
    if (await act(CreateInvitationDocument, { teamId: chosen, uses: Number(uses), expiresInDays: Number(days) })) onDone();
  }

  return (
    <form className="row-form" onSubmit={onSubmit(create)}>
      <Field label="Into the team" name="teamId" trouble={trouble}>
        {(wiring) => (
          <select {...wiring} value={chosen} onChange={(event) => setTeamId(event.target.value)}>
            <TeamOptions teams={teams} />
          </select>
        )}
      </Field>
      <Field label="For how many people" name="uses" trouble={trouble}>
        {(wiring) => <input {...wiring} type="number" required min={1} max={100} value={uses} onChange={(event) => setUses(event.target.value)} />}
      </Field>
      <Field label="For how many days" name="expiresInDays" trouble={trouble}>
        {(wiring) => <input {...wiring} type="number" required min={1} max={30} value={days} onChange={(event) => setDays(event.target.value)} />}
      </Field>
      <button type="submit" className="primary" aria-disabled={busy}>
        Make a link
      </button>
      <TroubleNote trouble={trouble} except={['teamId', 'uses', 'expiresInDays']} />
    </form>
  );
}

function Entry({ one, onDone }: { one: Invitation; onDone: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble, setTrouble } = useAct();
  const now = useNow();
  const [sure, setSure] = useState(false);
  const link = useRef<HTMLInputElement>(null);
  const over = one.revokedAt ? 'taken back' : one.used >= one.uses ? 'used up' : Date.parse(one.expiresAt) <= now ? 'expired' : '';
  const team = one.team?.name ?? 'a team that is deleted';

  async function copy() {
    link.current?.select();
    try {
      await navigator.clipboard.writeText(link.current!.value);
      store.say('good', 'The link is copied.');
    } catch {
      store.say('plain', 'This browser does not let the page copy. The link is marked: copy it by Ctrl+C.');
    }
  }

  async function revoke() {
    if (!(await act(RevokeInvitationDocument, { invitationId: one.id }))) return;
    setSure(false);
    onDone();
  }

  return (
    <li className="entry">
      <p>
        <strong>{team}</strong>{' '}
        <span className="muted">
          {one.used} of {one.uses} joined, {over || `until ${moment(one.expiresAt, now)}`}, by {one.createdBy?.name ?? 'somebody'}
        </span>
      </p>
      {!over && (
        <div className="actions">
          {one.token ? (
            <>
              <input ref={link} readOnly className="link" aria-label={`Link into ${team}`} value={linkTo(one.token)} onFocus={(event) => event.target.select()} />
              <button type="button" onClick={() => void copy()}>
                Copy
              </button>
            </>
          ) : (
            <span className="muted">Its link works, but cannot be shown any more.</span>
          )}
          <button type="button" onClick={() => setSure(true)}>
            Take back
          </button>
        </div>
      )}
      {sure && (
        <Confirm
          title="Take the link back?"
          yes="Take it back"
          busy={busy}
          trouble={trouble}
          onYes={revoke}
          onClose={() => {
            setSure(false);
            setTrouble(null);
          }}
        >
          <p>Nobody can join by it any more. Who has joined stays in the project.</p>
        </Confirm>
      )}
    </li>
  );
}
