// The numbers of a chart as a table, and as a file. Pure.

/** A time is shown as people read it, and is in ISO 8601 in a file. */
export type Cell = string | number | Date;

/** The numbers of a chart: columns by name, and as many cells in each row. */
export interface Table {
  columns: string[];
  rows: Cell[][];
}

/** The table as a CSV file, in the form of the server's exports: quotes where they are needed, and nothing that a spreadsheet would calculate. */
export const csv = ({ columns, rows }: Table) => [columns, ...rows].map((row) => `${row.map(written).join(',')}\n`).join('');

function written(cell: Cell): string {
  if (typeof cell === 'number') return String(cell);
  const text = cell instanceof Date ? cell.toISOString() : harmless(cell);
  return /[,;\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A spreadsheet may divide cells by semicolons or tabs, too: what follows one begins a cell.
const FORMULA = /(?<=^|[;\t\r\n])(?='*[=+\-@\t\r])/g;

/** Puts an apostrophe before what a spreadsheet would take for a formula. */
const harmless = (text: string) => text.replace(FORMULA, "'");
