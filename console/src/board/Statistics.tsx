import { useAnswer } from './answer';
import { Bars, Pace, StatusBar, StatusLegend, statusTable, type Bar } from './charts';
import { ChartTable } from './ChartTable';
import { forecast } from './forecast';
import { StatisticsDocument } from './gql/graphql';
import { useBoardState, useNow } from './hooks';
import { pace } from './live';
import type { Cell, Table } from './table';
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
  const users = (numbers?.teams ?? [])
    .flatMap((team) => team.statistics?.users.map((user) => ({ team, user })) ?? [])
    .sort((a, b) => b.user.finished - a.user.finished);

  return (
    <div className="statistics">
      <section className="chart is-wide">
        <h2>Where the items are</h2>
        {live.counts && (
          <>
            <StatusBar counts={live.counts} />
            <StatusLegend counts={live.counts} />
            <ChartTable title="Where the items are" table={statusTable(live.counts)} />
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
        <ChartTable title="Finished per minute" table={minuteTable(minutes, uncounted, now)} />
      </section>
      {failure && !numbers && <p className="problem">The statistics cannot be shown at the moment; they come by themselves.</p>}
      {numbers && (
        <>
          <Bars title="Who finished how many" bars={people(users)} table={peopleTable(users)} empty="Nobody finished anything yet." />
          <Bars title="Teams" bars={teams(numbers)} table={teamTable(numbers)} empty="There are no teams." />
          <Words title="Categories used most" one="Category" used={numbers.topCategories} />
          <Words title="Subcategories used most" one="Subcategory" used={numbers.topSubcategories} />
          <Words title="Keywords used most" one="Keyword" used={numbers.topKeywords} />
        </>
      )}
    </div>
  );
}

/** The minutes of the chart that were counted, the last one being the one that runs. */
const minuteTable = (minutes: number[], uncounted: number, now: number): Table => ({
  columns: ['Minute that ends at', 'Finished'],
  rows: minutes.map((finished, i): Cell[] => [new Date(now - (minutes.length - 1 - i) * 60_000), finished]).slice(uncounted),
});

interface InTeam {
  team: { id: string; name: string };
  user: { user: { id: string; name: string } | null; finished: number; incorrect: number };
}

const nameOf = ({ user }: InTeam) => user.user?.name ?? 'Somebody';

const people = (users: InTeam[]): Bar[] =>
  users.map((of, i) => ({
    key: `${of.team.id} ${of.user.user?.id ?? i}`,
    name: nameOf(of),
    value: of.user.finished,
    part: of.user.incorrect,
    note: of.user.incorrect ? `${of.user.incorrect} incorrect (${percent(of.user.incorrect, of.user.finished)})` : undefined,
  }));

const peopleTable = (users: InTeam[]): Table => ({
  columns: ['Name', 'Team', 'Finished', 'Incorrect', 'Share incorrect'],
  rows: users.map((of) => [nameOf(of), of.team.name, of.user.finished, of.user.incorrect, percent(of.user.incorrect, of.user.finished)]),
});

const teams = (numbers: Numbers): Bar[] =>
  (numbers.teams ?? []).map(({ id, name, statistics }) => ({
    key: id,
    name,
    value: statistics?.finished ?? 0,
    part: statistics?.incorrect ?? 0,
    note: statistics?.incorrect ? `${statistics.incorrect} incorrect` : undefined,
  }));

const teamTable = (numbers: Numbers): Table => ({
  columns: ['Team', 'Finished', 'Incorrect', 'Share incorrect'],
  rows: (numbers.teams ?? []).map(({ name, statistics }) => [name, statistics?.finished ?? 0, statistics?.incorrect ?? 0, percent(statistics?.incorrect ?? 0, statistics?.finished ?? 0)]),
});

function Words({ title, one, used }: { title: string; one: string; used: { value: string; count: number }[] | null }) {
  const words = used ?? [];
  return (
    <Bars
      title={title}
      bars={words.map(({ value, count }) => ({ key: value, name: value, value: count }))}
      table={{ columns: [one, 'Times used'], rows: words.map(({ value, count }) => [value, count]) }}
      empty="None yet."
    />
  );
}
