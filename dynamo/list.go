package dynamo

import (
	"context"
	"slices"

	"github.com/taggie/taggie/internal/page"
)

// Listing is a list whose pages are read from one span.
type Listing[T any] struct {
	Span       Span
	Descending bool // the order of the list is the reverse of the order of its keys
	RowsOfOne  int  // how many rows there may be of one thing that counts once; 0 is 1
	Decode     func(item Item, row *T) error
	Skips      func(row T) bool                      // reports rows that are of no list like this one; nil when all are of it
	Position   func(row T) string                    // what a cursor keeps of a row
	SortKey    func(p string) string                 // the sort key at a position; the position itself when nil
	Start      func(p string) Attrs                  // the exclusive start key at a position; primary key when nil
	Beyond     func(next Attrs, backward bool) Attrs // where to go on, when rows in between never count; at next when nil
	// Looked is how many rows [Filtered] looks at for a page, more than there can be in one. What it found by then is the page, which tells with Position
	// where it ends; 0 for as many as it takes.
	Looked int
}

// In returns the span of a window.
func (l Listing[T]) In(w page.Window) Span {
	s := l.Span
	s.Backward = w.Backward != l.Descending
	s.Limit = (w.Limit + 1) * max(l.RowsOfOne, 1)
	if w.From != "" {
		s.Start = l.startAt(w.From)
	}
	return s
}

func (l Listing[T]) keyAt(position string) string {
	if l.SortKey == nil {
		return position
	}
	return l.SortKey(position)
}

func (l Listing[T]) startAt(position string) Attrs {
	if l.Start == nil {
		return l.Span.Table.Key(Key{l.Span.PK, l.keyAt(position)})
	}
	return l.Start(position)
}

// Read returns a page of the list.
//
// Cost: 1 Query, one more per started megabyte; one more of one row when the window probes its other side.
func (l Listing[T]) Read(ctx context.Context, db *DB, w page.Window) (page.Slice[T], error) {
	rows, _, err := l.Rows(ctx, db, l.In(w))
	if err != nil {
		return page.Slice[T]{}, err
	}
	slice := page.Fill(w, rows, l.Position)
	slice.Other, err = l.Other(ctx, db, w, nil)
	return slice, err
}

// Other reports whether there is a row that counts on the other side of the window's From, or at it. Every row counts when
// counts is nil. Where it has looked at as many rows as are looked at for a page, there may be one.
//
// Cost: 1 Query of one row, and what counts costs; more where rows do not count.
func (l Listing[T]) Other(ctx context.Context, db *DB, w page.Window, counts func(context.Context, []T) (bool, error)) (bool, error) {
	if w.From == "" || !w.Probe {
		return w.From != "", nil
	}
	s := l.Span
	if s.Backward = w.Backward == l.Descending; s.Backward {
		s.High = l.keyAt(w.From)
	} else {
		s.Low = l.keyAt(w.From)
	}
	s.Limit = 1
	looked := 0
	for round := 0; ; round++ {
		rows, next, err := l.Rows(ctx, db, s)
		if err != nil || len(rows) == 0 && next == nil {
			return false, err
		}
		if counts == nil && len(rows) > 0 {
			return true, nil
		}
		found := false
		if counts != nil {
			found, err = counts(ctx, rows)
		}
		if err != nil || found || next == nil {
			return found, err
		}
		if looked += len(rows); l.Looked > 0 && looked >= l.Looked {
			return true, nil
		}
		s.Start, s.Limit = next, l.further(round, 1, looked)
	}
}

// further is [Further], without what is beyond the rows that are looked at.
func (l Listing[T]) further(round, wanted, looked int) int {
	n := Further(round, wanted)
	if l.Looked > 0 {
		n = min(n, l.Looked-looked)
	}
	return n
}

// Rows reads the rows of a span of the list, and where to go on.
func (l Listing[T]) Rows(ctx context.Context, db *DB, s Span) (rows []T, next Attrs, err error) {
	rows = []T{}
	next, err = db.query(ctx, s, func(items []found) (bool, error) {
		rows = slices.Grow(rows, len(items)) // all that one answer has, at once
		for _, item := range items {
			var empty T
			rows = append(rows, empty)
			row := &rows[len(rows)-1]
			if err := l.Decode(item.Item, row); err != nil {
				return false, err
			}
			if l.Skips != nil && l.Skips(*row) {
				rows = rows[:len(rows)-1]
			}
		}
		return true, nil
	})
	if next != nil && l.Beyond != nil {
		next = l.Beyond(next, s.Backward)
	}
	return rows, next, err
}

// mostFurther is how many rows are read at once, at most, where rows are left out.
const mostFurther = 500

// Further returns how many rows to read in the given round after the first, when so many are wanted still. Where much was
// left out, much more may have to be: reading only what is wanted could take a call per row, reading a hundred at a time
// takes long where hundreds do not count.
func Further(round, wanted int) int { return max(wanted, min(MaxBatchGet<<min(round, 8), mostFurther)) }

// Filtered returns a page of a list of which not every row counts: resolve looks at rows in the order they were read and
// returns those that do, in the same order. It reads on until the page is full, the span is read, or it has looked at so many rows as the list allows.
func Filtered[R, T any](ctx context.Context, db *DB, l Listing[R], w page.Window, resolve func(context.Context, []R) ([]T, error), position func(T) string) (page.Slice[T], error) {
	var kept []T
	looked, until := 0, ""
	s := l.In(w)
	for round := 0; ; round++ {
		rows, next, err := l.Rows(ctx, db, s)
		if err != nil {
			return page.Slice[T]{}, err
		}
		resolved, err := resolve(ctx, rows)
		if err != nil {
			return page.Slice[T]{}, err
		}
		kept = append(kept, resolved...)
		if next == nil || len(kept) > w.Limit {
			break
		}
		if looked += len(rows); l.Looked > 0 && looked >= l.Looked {
			until = l.Position(rows[len(rows)-1])
			break
		}
		s.Start, s.Limit = next, l.further(round, w.Limit+1-len(kept), looked)
	}
	slice := page.Fill(w, kept, position)
	slice.More = slice.More || until != ""
	if len(kept) < w.Limit {
		slice.Until = until
	}
	var err error
	slice.Other, err = l.Other(ctx, db, w, func(ctx context.Context, rows []R) (bool, error) {
		resolved, err := resolve(ctx, rows)
		return len(resolved) > 0, err
	})
	return slice, err
}
