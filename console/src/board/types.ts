// Short names for what the generated types of the operations hold.
import type { CardFragment, CountsFragment, EventsSubscription, HeldFragment, HistoryQuery, ProjectQuery, StatisticsQuery } from './gql/graphql';

export type { ProjectEventType, ProjectItemStatus, SkipReason, Verdict } from './gql/graphql';
export type Card = CardFragment;
export type Held = HeldFragment;
export type Counts = CountsFragment;
export type Message = NonNullable<EventsSubscription['projectEvents']>;
export type Event = Extract<Message, { __typename: 'ProjectEvent' }>;
export type Project = NonNullable<ProjectQuery['project']>;
export type Statistics = NonNullable<StatisticsQuery['project']>;
export type Effort = NonNullable<NonNullable<NonNullable<HistoryQuery['project']>['viewerMember']>['efforts']>['nodes'][number];
export type Person = { id: string; name: string };
