// Charts as plain SVG: bars and columns, each with its numbers as text.
import { ChartTable } from './ChartTable';
import type { Table } from './table';
import { number, percent } from './text';
import type { Counts } from './types';

const parts = [
  ['finished', 'Finished'],
  ['claimed', 'In hands'],
  ['new', 'Waiting'],
  ['skipped', 'Skipped'],
] as const;

/** How the items of a project are spread over the statuses. */
export function StatusBar({ counts, thin }: { counts: Counts; thin?: boolean }) {
  let x = 0;
  const whole = Math.max(counts.total, 1);
  const said = parts.map(([key, name]) => `${name}: ${number(counts[key])}`).join(', ');
  return (
    <svg className={thin ? 'status-bar is-thin' : 'status-bar'} viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={`${said}, of ${number(counts.total)}`}>
      <rect className="bar-ground" width="1000" height="10" />
      {parts.map(([key]) => {
        const width = (1000 * counts[key]) / whole;
        const rect = <rect key={key} className={`fill-${key}`} x={x} width={width} height="10" />;
        x += width;
        return rect;
      })}
    </svg>
  );
}

/** The same in words. */
export function StatusLegend({ counts }: { counts: Counts }) {
  return (
    <ul className="legend">
      {parts.map(([key, name]) => (
        <li key={key}>
          <svg width="10" height="10" aria-hidden="true">
            <rect className={`fill-${key}`} width="10" height="10" rx="2" />
          </svg>
          {name} <strong>{number(counts[key])}</strong> <span className="muted">{percent(counts[key], counts.total)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The same as a table. */
export const statusTable = (counts: Counts): Table => ({
  columns: ['Status', 'Items', 'Share'],
  rows: parts.map(([key, name]) => [name, counts[key], percent(counts[key], counts.total)]),
});

/** One line of a bar chart; `part` of the value is shown in another colour. */
export interface Bar {
  key: string;
  name: string;
  value: number;
  part?: number;
  note?: string;
}

const MOST = 20; // bars that are drawn

/** Bars beside one another's names: the first of them, and all in the table. */
export function Bars({ title, bars, table, empty }: { title: string; bars: Bar[]; table: Table; empty: string }) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <section className="chart">
      <h2>{title}</h2>
      {!bars.length && <p className="muted">{empty}</p>}
      <ul className="bars">
        {bars.slice(0, MOST).map(({ key, name, value, part = 0, note }) => (
          <li key={key}>
            <span className="bars-name">{name}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect className="bar-ground" width="100" height="10" />
              <rect className="fill-finished" width={(100 * value) / most} height="10" />
              {part > 0 && <rect className="fill-bad" x={(100 * (value - part)) / most} width={(100 * part) / most} height="10" />}
            </svg>
            <span className="bars-value">
              {number(value)}
              {note && <span className="muted"> {note}</span>}
            </span>
          </li>
        ))}
      </ul>
      {bars.length > MOST && (
        <p className="muted">In the table: {number(bars.length - MOST)} more.</p>
      )}
      {bars.length > 0 && <ChartTable title={title} table={table} />}
    </section>
  );
}

/** Columns over time, the last one being the minute that runs; the first ones may not have been counted. */
export function Pace({ values, uncounted, label }: { values: number[]; uncounted: number; label: string }) {
  const most = Math.max(4, ...values);
  const width = 600 / values.length;
  return (
    <svg className="pace" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect className="bar-ground" width={uncounted * width} height="120" />
      {[0.25, 0.5, 0.75].map((at) => (
        <line key={at} className="grid" x1="0" x2="600" y1={120 * at} y2={120 * at} />
      ))}
      <line className="axis" x1="0" x2="600" y1="119.5" y2="119.5" />
      {values.map((value, i) => (
        <rect
          key={i}
          className={i === values.length - 1 ? 'fill-claimed' : 'fill-finished'}
          x={i * width + width * 0.12}
          width={width * 0.76}
          y={119 - (113 * value) / most}
          height={(113 * value) / most}
        />
      ))}
    </svg>
  );
}
