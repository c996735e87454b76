import { useAnswer } from './answer';
import { Bars, Pace, StatusBar, StatusLegend, type Bar } from './charts';
import { StatisticsDocument } from './gql/graphql';
import { useBoardState, useNow } from './hooks';
import { forecast, pace } from './live';
import { percent } from './text';
import type { Statistics as Numbers } from './types';

const MINUTES = 30;

/** How it goes, as charts that follow the events. */
export function Statistics() {
  const { project, live, since } = useBoardState();
  const now = useNow(5_000);
  const { data, failure } = useAnswer(StatisticsDocument, { project: project?.id ?? '' }, live.sequence);

  const numbers = data?.project;
  const minutes = pace(live.finishes, now, MINUTES);
  const uncounted = Math.max(MINUTES - Math.ceil((now - since) / 60_000), 0);
  const users = (numbers?.teams ?? []).flatMap((team) => team.statistics?.users.map((user) => ({ team, user })) ?? []);

  return (
    <div className="statistics">
      <section className="chart is-wide">
        <h2>Where the items are</h2>
        {live.counts && (
          <>
            <StatusBar counts={live.counts} />
            <StatusLegend counts={live.counts} />
          </>
        )}
      </section>
      <section className="chart is-wide">
        <h2>Finished per minute</h2>
        <Pace values={minutes} uncounted={uncounted} label={`Finished per minute in the last ${MINUTES} minutes: ${minutes.join(', ')}`} />
        <p className="muted pace-ends">
          <span>
            {MINUTES} minutes ago{uncounted > 0 && '; grey: before you opened this page'}
          </span>
          <span>the most in one: {Math.max(...minutes)}</span>
          <span>now</span>
        </p>
        <p>{live.counts && forecast(live.finishes, live.counts.remaining, since, now)}</p>
      </section>
      {failure && !numbers && <p className="problem">The statistics cannot be shown at the moment; they come by themselves.</p>}
      <Bars title="Who finished how many" bars={people(users)} empty="Nobody finished anything yet." />
      <Bars title="Teams" bars={teams(numbers)} empty="There are no teams." />
      <Bars title="Categories used most" bars={words(numbers?.topCategories)} empty="None yet." />
      <Bars title="Subcategories used most" bars={words(numbers?.topSubcategories)} empty="None yet." />
      <Bars title="Keywords used most" bars={words(numbers?.topKeywords)} empty="None yet." />
    </div>
  );
}

type Users = { team: { id: string; name: string }; user: { user: { id: string; name: string } | null; finished: number; incorrect: number } }[];

const people = (users: Users): Bar[] =>
  users
    .map(({ team, user }) => ({
      key: `${team.id} ${user.user?.id}`,
      name: user.user?.name ?? 'Somebody',
      value: user.finished,
      part: user.incorrect,
      note: user.incorrect ? `${user.incorrect} incorrect (${percent(user.incorrect, user.finished)})` : undefined,
    }))
    .sort((a, b) => b.value - a.value)
    .slice(0, 20);

const teams = (numbers: Numbers | null | undefined): Bar[] =>
  (numbers?.teams ?? []).map(({ id, name, statistics }) => ({
    key: id,
    name,
    value: statistics?.finished ?? 0,
    part: statistics?.incorrect ?? 0,
    note: statistics?.incorrect ? `${statistics.incorrect} incorrect` : undefined,
  }));

const words = (used: { value: string; count: number }[] | null | undefined): Bar[] => (used ?? []).map(({ value, count }) => ({ key: value, name: value, value: count }));
