import { useState } from 'react';
import { useNow } from './hooks';
import { csv, type Cell, type Table } from './table';
import { moment, number } from './text';

/** The numbers of a chart as a table, which is made when it is opened, and to download. */
export function ChartTable({ title, table }: { title: string; table: Table }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="chart-table" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Table<span className="unseen-text"> of “{title}”</span>
      </summary>
      {isOpen && (
        <>
          <div className="chart-rows" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
            <Rows table={table} />
          </div>
          <button type="button" onClick={() => save(`${title}.csv`, csv(table))}>
            Download as CSV<span className="unseen-text"> of “{title}”</span>
          </button>
        </>
      )}
    </details>
  );
}

function Rows({ table: { columns, rows } }: { table: Table }) {
  const now = useNow(60_000);
  return (
    <table>
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, j) => (
              <td key={j} className={typeof cell === 'number' ? 'is-number' : undefined}>
                {shown(cell, now)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shown(cell: Cell, now: number): string {
  if (cell instanceof Date) return moment(cell.toISOString(), now);
  return typeof cell === 'number' ? number(cell) : cell;
}

/** Has the browser save a text as a file. */
function save(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser has begun to read it long before
}
