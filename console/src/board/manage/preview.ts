// What a file that is to be imported looks like: its first rows, and how the server understands its columns. Pure.
import type { FileFormat } from '../gql/graphql';

export interface Preview {
  columns: { name: string; meaning: string }[];
  /** The first rows, each with a cell for each column. */
  rows: string[][];
  /** Why the file cannot be imported as it is, and what to do next; empty if nothing is wrong at first sight. */
  problem: string;
  /** What to look at before it is imported: it may be a mistake, or further on in the file all may be well; empty if there is nothing. */
  warning: string;
}

const LONG = 'The first line is too long to be shown here. The import reads lines of up to 300,000 bytes.';

const ROWS = 5;
const NEEDED = ['externalId', 'name'];
const meanings: Record<string, string> = {
  externalId: 'the id of the item in your data',
  name: 'the name',
  type: 'the type',
  url: 'where it can be seen',
};
// The columns of an export; a file with all of them is read as one.
const EXPORTED = ['externalId', 'name', 'type', 'url', 'status', 'category', 'subcategory', 'keywords', 'finishedBy', 'finishedByName', 'team', 'finishedAt', 'efforts', 'metadata'];

/** The format as the name or else the text of a file tells. */
export function formatOf(name: string, text: string): FileFormat {
  if (/\.csv$/i.test(name)) return 'CSV';
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'JSON_LINES';
  return text.trimStart().startsWith('{') ? 'JSON_LINES' : 'CSV';
}

/** Reads the beginning of a file; isWhole says whether the text is all of it. */
export function preview(text: string, format: FileFormat, isWhole: boolean): Preview {
  const plain = text.replace(/^\uFEFF/, '');
  return format === 'CSV' ? previewCsv(plain, isWhole) : previewJson(plain, isWhole);
}

function previewCsv(text: string, isWhole: boolean): Preview {
  const [head = [], ...rows] = records(text, isWhole, ROWS + 1);
  if (!head.length && !isWhole) return { columns: [], rows: [], problem: '', warning: LONG };
  const isExport = EXPORTED.every((name) => head.includes(name));
  const columns = head.map((name) => ({ name, meaning: meanings[name] ?? (!isExport || name === 'metadata' ? 'metadata' : 'left out: it is a result') }));
  const shown = rows.map((row) => head.map((_, i) => row[i] ?? ''));
  const isEmpty = !rows.length && isWhole;
  return {
    columns,
    rows: shown,
    problem: lacks(head, 'the header row', 'column') || (isEmpty ? 'The file has no rows below its header row. Choose another file.' : ''),
    warning: rows.length || isEmpty ? '' : LONG.replace('line', 'row'),
  };
}

function previewJson(text: string, isWhole: boolean): Preview {
  const lines = text.split('\n');
  if (!isWhole) lines.pop();
  if (text.trimStart().startsWith('[')) return { columns: [], rows: [], problem: 'The file is one JSON list. Write each object on a line of its own, without the list around them.', warning: '' };
  if (!isWhole && !lines.some((line) => line.trim())) return { columns: [], rows: [], problem: '', warning: LONG };
  const read: Record<string, unknown>[] = [];
  for (const line of lines.filter((line) => line.trim()).slice(0, ROWS)) {
    try {
      const value: unknown = JSON.parse(line);
      if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('no object');
      read.push(value as Record<string, unknown>);
    } catch {
      // The line is a mistake; the import says so with its number.
    }
  }
  if (!read.length) return { columns: [], rows: [], problem: 'No line at the beginning of the file is a JSON object. Write one object on each line, or choose the other format.', warning: '' };
  const names = [...new Set(read.flatMap((object) => Object.keys(object)))];
  const isExport = EXPORTED.every((name) => names.includes(name));
  const meaning = (name: string) => meanings[name] ?? (name === 'metadata' ? 'metadata, an object' : isExport ? 'left out: it is a result' : 'not known: write it into metadata');
  return {
    columns: names.map((name) => ({ name, meaning: meaning(name) })),
    rows: read.map((object) => names.map((name) => cell(object[name]))),
    problem: '',
    warning: lacks(names, 'the first lines', 'field'),
  };
}

const cell = (value: unknown) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

function lacks(names: string[], where: string, what: string): string {
  const missing = NEEDED.filter((name) => !names.includes(name));
  if (!missing.length) return '';
  const said = `There is no ${what} ${missing.map((name) => `“${name}”`).join(' and no ')} in ${where}.`;
  const it = missing.length > 1 ? 'them' : 'it';
  // A header is for all rows; each line of JSON has fields of its own.
  return what === 'column' ? `${said} Add ${it}, then choose the file again.` : `${said} The import leaves out each line without ${it}, and tells you its number.`;
}

/** The first records of a CSV file, as RFC 4180 has them; the last one of a part of a file is left out, because it may be cut. */
export function records(text: string, isWhole: boolean, most: number): string[][] {
  const all: string[][] = [];
  let record: string[] = [];
  let value = '';
  let quoted = false;
  let at = 0;
  const endRecord = () => {
    record.push(value);
    if (record.length > 1 || value) all.push(record);
    record = [];
    value = '';
  };
  for (; at < text.length && all.length < most; at += 1) {
    const character = text[at]!;
    if (quoted) {
      if (character !== '"') value += character;
      else if (text[at + 1] === '"') {
        value += '"';
        at += 1;
      } else quoted = false;
    } else if (character === '"' && value === '') quoted = true;
    else if (character === ',') {
      record.push(value);
      value = '';
    } else if (character === '\n') endRecord();
    else if (character !== '\r' || text[at + 1] !== '\n') value += character;
  }
  if (at >= text.length && isWhole && (value || record.length) && all.length < most) endRecord();
  return all;
}
