package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/jsontext"
)

// csvRecords reads CSV as RFC 4180 has it, with a first line that names the columns. encoding/csv would read the whole file into
// memory in search of a closing quotation mark; here a record is bounded, and after a broken one reading goes on at the
// line below its first.
type csvRecords struct {
	lines   *lines
	columns []column
}

// column is what the cells of a column are: one of our fields, or metadata. In a file of an export one column has all metadata as
// JSON, and the apostrophes are taken off again that keep spreadsheets from calculating.
type column struct {
	field    string // of columnNames, or ""
	metadata string // the name in metadata
	exported bool   // the file is one of an export
}

// startCSV reads the line that names the columns.
func startCSV(r io.Reader) (*lines, []column, error) {
	l := newLines(r, position{})
	if err := l.start(); err != nil {
		return nil, nil, err
	}
	cells, mistake, err := l.row()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, fault.New(fault.Invalid, "the file is empty")
	case err != nil:
		return nil, nil, err
	case mistake != "":
		return nil, nil, fault.New(fault.Invalid, "the first line must name the columns, but it %s", mistake)
	}
	columns, err := columnsOf(cells)
	return l, columns, err
}

func columnsOf(names []string) ([]column, error) {
	const external, name = "externalId", "name"
	if !slices.Contains(names, external) || !slices.Contains(names, name) {
		return nil, fault.New(fault.Invalid, "the first line must name the columns, separated by commas; %s and %s must be among them", external, name)
	}
	ofExport := exported(func(name string) bool { return slices.Contains(names, name) })
	columns := make([]column, len(names))
	for i, given := range names {
		switch {
		case slices.Contains([]string{external, name, "type", "url"}, given), ofExport && slices.Contains(columnNames, given):
			columns[i] = column{field: given, exported: ofExport}
		default:
			columns[i] = column{metadata: strings.TrimPrefix(given, "metadata."), exported: ofExport}
			if columns[i].metadata == "" {
				return nil, fault.New(fault.Invalid, "column %d has no name", i+1)
			}
		}
		if at := slices.Index(columns, columns[i]); at < i {
			return nil, fault.New(fault.Invalid, "columns %d and %d have the same name", at+1, i+1)
		}
	}
	return columns, nil
}

func (c *csvRecords) at() position { return c.lines.at }

func (c *csvRecords) next() (record, error) {
	for {
		line := c.lines.at.Lines + 1
		cells, mistake, err := c.lines.row()
		if err != nil {
			return record{}, err
		}
		if cells == nil && mistake == "" {
			continue // an empty line
		}
		if mistake == "" && len(cells) != len(c.columns) {
			mistake = fmt.Sprintf("has %d columns, but the first line names %d", len(cells), len(c.columns))
		}
		r := record{Mistake: mistake}
		if mistake == "" {
			r = c.record(cells)
		}
		r.Line, r.End = line, c.lines.at
		return r, nil
	}
}

// record puts the cells where their columns belong. An empty cell of metadata says nothing: CSV has no other way to leave
// something out. What only an export has is left out.
func (c *csvRecords) record(cells []string) record {
	var r record
	own := map[string]any{} // metadata of columns of their own
	for i, of := range c.columns {
		cell := cells[i]
		if of.exported {
			cell = typed(cell)
		}
		switch of.field {
		case "externalId":
			r.ExternalID = cell
		case "name":
			r.Name = cell
		case "type":
			r.Type = cell
		case "url":
			r.URL = cell
		case "metadata":
			if err := exportedMetadata(cell, &r.Metadata); err != nil {
				return record{Mistake: err.Error()}
			}
		case "":
			if cell != "" {
				own[of.metadata] = cell
			}
		}
	}
	if r.Metadata == nil && len(own) > 0 {
		r.Metadata = map[string]any{}
	}
	maps.Copy(r.Metadata, own)
	return r
}

// exportedMetadata reads the cell in which an export has all metadata of an item. Its errors are sentences about a line.
func exportedMetadata(cell string, into *map[string]any) error {
	if cell == "" {
		return nil
	}
	if jsontext.LoneSurrogate([]byte(cell)) >= 0 {
		return errors.New("has half of a surrogate pair in metadata, which is no character: write both halves or neither")
	}
	if !json.Valid([]byte(cell)) || jsonObject([]byte(cell), into) != nil {
		return errors.New(mistakeMetadata)
	}
	return nil
}

// The places inside a row.
type place uint8

const (
	atCell  place = iota // before the first byte of a cell
	inPlain              // in a cell without quotation marks
	inQuoted
	afterQuote  // behind a quotation mark in a quoted cell: its end, or the first of two
	afterReturn // behind that, and a carriage return
)

const (
	mistakeQuote = `has a quotation mark in the wrong place: a cell with " in it is written in quotation marks, with each " doubled`
	mistakeOpen  = `has a quotation mark that is never closed, or is longer than 300,000 bytes`

	mistakeMetadata = `has in the column metadata no object written as JSON, as an export has it`
)

// row returns the cells of the next row, none for an empty line, or what is wrong with it. It returns io.EOF at the end.
//
// After a mistake it goes on below the first line of the row, because a quotation mark that is missing there must not take
// the following rows along. That reads a line twice at most: one which leaves a cell open has an odd number of marks, those that
// it runs through have an even one, and hence do not run on themselves.
func (l *lines) row() (cells []string, mistake string, err error) {
	var (
		cell   []byte
		where  = atCell
		first  = 0 // the length of the first line with its break, when it was seen
		breaks = 0
	)
	give := func(n, breaks int) ([]string, string, error) {
		window, _, err := l.window(n) // in memory already
		if err != nil {
			return nil, "", err
		}
		text := window[:n]
		empty := len(bytes.TrimRight(text, "\r\n")) == 0
		valid := utf8.Valid(text)
		l.take(n, breaks)
		switch {
		case empty:
			return nil, "", nil
		case !valid:
			return nil, mistakeNotUTF8, nil
		}
		if where == inPlain {
			cell = bytes.TrimSuffix(cell, []byte("\r"))
		}
		return append(cells, string(cell)), "", nil
	}
	refuse := func(why string) ([]string, string, error) {
		if first > 0 {
			l.take(first, 1)
			return nil, why, nil
		}
		return nil, why, l.skip()
	}
	for seen := 0; ; {
		window, ended, err := l.window(seen + 1)
		if err != nil {
			return nil, "", err
		}
		if ended && len(window) == 0 {
			return nil, "", io.EOF
		}
		for i, c := range window[seen:] {
			n := seen + i + 1
			if n > MaxLineBytes && (c != '\n' || where == inQuoted) {
				if first > 0 {
					return refuse(mistakeOpen)
				}
				return refuse(mistakeTooLong)
			}
			switch {
			case where == inQuoted && c == '"':
				where = afterQuote
			case where == inQuoted:
				if c == '\n' {
					if breaks++; first == 0 {
						first = n
					}
					cell = bytes.TrimSuffix(cell, []byte("\r")) // a break is one byte, as encoding/csv has it
				}
				cell = append(cell, c)
			case c == '\n':
				return give(n, breaks+1)
			case where == afterReturn:
				return refuse(mistakeQuote)
			case c == ',':
				cells, cell, where = append(cells, string(cell)), cell[:0], atCell
			case where == afterQuote && c == '"':
				cell, where = append(cell, c), inQuoted
			case where == afterQuote && c == '\r':
				where = afterReturn
			case where == afterQuote, c == '"' && where == inPlain:
				return refuse(mistakeQuote)
			case c == '"':
				where = inQuoted
			default:
				cell, where = append(cell, c), inPlain
			}
		}
		seen = len(window)
		if ended {
			if where == inQuoted {
				return refuse(mistakeOpen)
			}
			return give(seen, breaks+1)
		}
	}
}
