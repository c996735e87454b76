// Teams as one chooses them.
import type { PeopleQuery } from '../gql/graphql';
import { roleNames } from './words';

export type Team = NonNullable<NonNullable<PeopleQuery['project']>['teams']>[number];

/** The name of a team, and what its members may do. */
export const full = (team: Team) => `${team.name} (may ${roleNames[team.type]})`;

export function TeamOptions({ teams }: { teams: Team[] }) {
  return teams.map((team) => (
    <option key={team.id} value={team.id}>
      {full(team)}
    </option>
  ));
}
