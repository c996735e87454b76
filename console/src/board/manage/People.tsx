import { useState } from 'react';
import { CreateTeamDocument, DeleteTeamDocument, PeopleDocument, PutMemberDocument, RemoveMemberDocument, RenameTeamDocument, type PeopleQuery, type TeamType } from '../gql/graphql';
import { useBoard, useBoardState } from '../hooks';
import { useAct } from '../act';
import { Confirm, Field, FormDialog, onSubmit, Rename, TroubleNote } from '../forms';
import { Invitations } from './Invitations';
import { Pages, usePages } from './lists';
import { full, TeamOptions, type Team } from './teams';
import { roleNames } from './words';

const SHOWN = 50;
const LEAVE = 'leave'; // what the members of a team that is deleted may do, besides moving to another one

type Member = NonNullable<NonNullable<PeopleQuery['project']>['members']>['nodes'][number];

/** Who is in the project, in which team, and what the teams may do. */
export function People() {
  const { project } = useBoardState();
  const [teams, setTeams] = useState<Team[]>([]);
  const people = usePages(PeopleDocument, { project: project?.id ?? '', first: SHOWN }, (data) => {
    setTeams(data.project?.teams ?? []);
    return data.project?.members;
  });
  const readAgain = () => void people.again();
  return (
    <div className="section">
      <section className="panel" aria-label="Members">
        <h2>Members</h2>
        {teams.length > 0 && <AddMember teams={teams} onDone={readAgain} />}
        <Pages of={people}>
          <table className="stacked">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Team</th>
                <th scope="col">May</th>
                <th scope="col">
                  <span className="unseen-text">Remove</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {people.nodes?.map((member) => member.user && <MemberRow key={member.user.id} member={member} teams={teams} onDone={readAgain} />)}
            </tbody>
          </table>
        </Pages>
      </section>
      <Invitations teams={teams} />
      <Teams teams={teams} onDone={readAgain} />
    </div>
  );
}

function AddMember({ teams, onDone }: { teams: Team[]; onDone: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble } = useAct();
  const [email, setEmail] = useState('');
  const [teamId, setTeamId] = useState('');
  // Nobody becomes a manager by default.
  const chosen = (teams.find(({ id }) => id === teamId) ?? teams.find(({ type }) => type !== 'MANAGER'))?.id ?? '';

  async function add() {
    const data = await act(PutMemberDocument, { teamId: chosen, email: email.trim() }, (found) =>
      found.kind === 'UnknownUser' ? { field: 'email', message: `${found.message} Have them sign up with this address first; then add them.` } : found,
    );
    const name = data?.putProjectMember?.member?.user?.name;
    if (!name) return;
    setEmail('');
    store.say('good', `${name} is in the team now.`);
    onDone();
  }

  return (
    <form className="row-form" onSubmit={onSubmit(add)}>
      <Field label="E-mail address" name="email" trouble={trouble}>
        {(wiring) => <input {...wiring} type="email" required autoComplete="off" value={email} onChange={(event) => setEmail(event.target.value)} />}
      </Field>
      <Field label="Into the team" name="teamId" trouble={trouble}>
        {(wiring) => (
          <select {...wiring} required value={chosen} onChange={(event) => setTeamId(event.target.value)}>
            {!chosen && <option value="">Choose a team, or create one below</option>}
            <TeamOptions teams={teams} />
          </select>
        )}
      </Field>
      <button type="submit" className="primary" aria-disabled={busy}>
        Add
      </button>
      <TroubleNote trouble={trouble} except={['email', 'teamId']} />
    </form>
  );
}

function MemberRow({ member, teams, onDone }: { member: Member; teams: Team[]; onDone: () => void }) {
  const { store } = useBoard();
  const { project, online, viewer } = useBoardState();
  const { act, busy, trouble, setTrouble } = useAct();
  const [sure, setSure] = useState<'remove' | 'move' | null>(null);
  const [chosen, setChosen] = useState('');
  const user = member.user!;
  const isHere = online.some(({ id }) => id === user.id);
  const isSelf = user.id === viewer?.id;

  const now = member.team?.id ?? '';
  const to = teams.find(({ id }) => id === chosen && id !== now);

  /** Asks first where it cannot be taken back as easily. */
  function begin() {
    if (!to) return;
    if (isSelf || (to.type === 'MANAGER' && member.type !== 'MANAGER')) setSure('move');
    else void move(to);
  }

  async function move(team: Team) {
    if (!(await act(PutMemberDocument, { teamId: team.id, userId: user.id }))) return;
    setSure(null);
    setChosen('');
    store.say('good', `${user.name} is in the team ${team.name} now.`);
    onDone();
  }

  async function remove() {
    if (!(await act(RemoveMemberDocument, { projectId: project!.id, userId: user.id }))) return;
    setSure(null);
    store.say('plain', `${user.name} is no longer in the project.`);
    onDone();
  }

  return (
    <tr>
      <td>
        <span className={isHere ? 'dot is-on' : 'dot'} title={isHere ? 'Online' : 'Not online'} />
        <strong>{user.name}</strong>
        {isSelf && <span className="muted"> (you)</span>}
        {isHere && <span className="unseen-text"> online</span>}
      </td>
      <td>
        <form className="actions" onSubmit={onSubmit(begin)}>
          <select aria-label={`Team of ${user.name}`} value={to ? chosen : now} onChange={(event) => setChosen(event.target.value)}>
            {!now && <option value="">none</option>}
            {teams.map((team) => (
              <option key={team.id} value={team.id}>
                {team.name}
              </option>
            ))}
          </select>
          {to && (
            <button type="submit" aria-disabled={busy} aria-label={`Move ${user.name} to ${to.name}`}>
              Move
            </button>
          )}
        </form>
        {!sure && <TroubleNote trouble={trouble} />}
        {sure === 'move' && to && (
          <Confirm
            title={isSelf ? `Move yourself to ${to.name}?` : `Make ${user.name} a manager?`}
            yes={isSelf ? 'Move myself' : `Move ${user.name}`}
            busy={busy}
            trouble={trouble}
            onYes={() => move(to)}
            onClose={() => {
              setSure(null);
              setTrouble(null);
            }}
          >
            <p>
              {to.type === 'MANAGER'
                ? `The team ${to.name} may ${roleNames[to.type]}: take people in and out, remove items, delete the project.`
                : `You may only ${roleNames[to.type]} then. You no longer see this page, and another manager has to move you back.`}
            </p>
          </Confirm>
        )}
      </td>
      <td className="muted">{roleNames[member.type]}</td>
      <td>
        <button type="button" onClick={() => setSure('remove')} aria-label={`Remove ${user.name}`}>
          Remove
        </button>
        {sure === 'remove' && (
          <Confirm
            title={isSelf ? 'Leave the project?' : `Remove ${user.name}?`}
            yes={isSelf ? 'Leave it' : `Remove ${user.name}`}
            busy={busy}
            trouble={trouble}
            onYes={remove}
            onClose={() => {
              setSure(null);
              setTrouble(null);
            }}
          >
            <p>{isSelf ? 'You no longer see this project, and another manager has to add you again.' : `${user.name} no longer sees this project. Items in hand go back to the queue; results stay.`}</p>
          </Confirm>
        )}
      </td>
    </tr>
  );
}

function Teams({ teams, onDone }: { teams: Team[]; onDone: () => void }) {
  const { project } = useBoardState();
  const { act, busy, trouble } = useAct();
  const [name, setName] = useState('');
  const [type, setType] = useState<TeamType>('TAGGIE');

  async function create() {
    if (!(await act(CreateTeamDocument, { projectId: project!.id, name: name.trim(), type }))) return;
    setName('');
    onDone();
  }

  return (
    <section className="panel" aria-label="Teams">
      <h2>Teams</h2>
      <form className="row-form" onSubmit={onSubmit(create)}>
        <Field label="New team" name="name" trouble={trouble}>
          {(wiring) => <input {...wiring} required maxLength={100} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Its members may" name="type" trouble={trouble}>
          {(wiring) => (
            <select {...wiring} value={type} onChange={(event) => setType(event.target.value as TeamType)}>
              {Object.entries(roleNames).map(([value, may]) => (
                <option key={value} value={value}>
                  {may}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button type="submit" aria-disabled={busy}>
          Create
        </button>
      </form>
      <TroubleNote trouble={trouble} except={['name', 'type']} />
      <ul className="entries">
        {teams.map((team) => (
          <TeamEntry key={team.id} team={team} others={teams.filter(({ id }) => id !== team.id)} onDone={onDone} />
        ))}
      </ul>
    </section>
  );
}

function TeamEntry({ team, others, onDone }: { team: Team; others: Team[]; onDone: () => void }) {
  const { store } = useBoard();
  const { act, busy, trouble, setTrouble } = useAct();
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null);
  const [moveTo, setMoveTo] = useState('');

  function close() {
    setDialog(null);
    setMoveTo('');
    setTrouble(null);
  }

  async function rename(name: string) {
    if (!(await act(RenameTeamDocument, { teamId: team.id, name }))) return;
    close();
    onDone();
  }

  async function remove() {
    if (!moveTo) return setTrouble({ field: 'moveTo', message: 'Choose what becomes of its members.' });
    if (!(await act(DeleteTeamDocument, { teamId: team.id, moveTo: moveTo === LEAVE ? null : moveTo }))) return;
    close();
    store.say('plain', `The team ${team.name} is deleted. Results still show it.`);
    onDone();
  }

  return (
    <li className="entry is-row">
      <p>
        <strong>{team.name}</strong> <span className="muted">may {roleNames[team.type]}</span>
      </p>
      <div className="actions">
        <button type="button" aria-label={`Rename ${team.name}`} onClick={() => setDialog('rename')}>
          Rename
        </button>
        <button type="button" aria-label={`Delete ${team.name}`} onClick={() => setDialog('delete')}>
          Delete
        </button>
      </div>
      {dialog === 'rename' && <Rename name={team.name} busy={busy} trouble={trouble} onYes={rename} onClose={close} />}
      {dialog === 'delete' && (
        <FormDialog title={`Delete ${team.name}?`} yes="Delete the team" isDanger fields={['moveTo']} busy={busy} trouble={trouble} onYes={remove} onClose={close}>
          <Field label="Its members" name="moveTo" trouble={trouble}>
            {(wiring) => (
              <select {...wiring} data-first value={moveTo} onChange={(event) => setMoveTo(event.target.value)}>
                <option value="">Choose…</option>
                {others.map((other) => (
                  <option key={other.id} value={other.id}>
                    move to {full(other)}
                  </option>
                ))}
                <option value={LEAVE}>leave the project</option>
              </select>
            )}
          </Field>
          <p className="muted">A deleted team cannot be brought back.</p>
        </FormDialog>
      )}
    </li>
  );
}
