package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/page"
)

// listing is a list whose pages are read from one span.
type listing[T any] struct {
	span       span
	descending bool // the order of the list is the reverse of the order of its keys
	decode     func(item []byte, row *T) error
	skips      func(row T) bool                      // reports rows that are of no list like this one; nil when all are of it
	position   func(row T) string                    // what a cursor keeps of a row
	sortKey    func(p string) string                 // the sort key at a position; the position itself when nil
	start      func(p string) attrs                  // the exclusive start key at a position; primary key when nil
	beyond     func(next attrs, backward bool) attrs // where to go on, when rows in between never count; at next when nil
}

// in returns the span of a window.
func (l listing[T]) in(w page.Window) span {
	s := l.span
	s.backward = w.Backward != l.descending
	s.limit = w.Limit + 1
	if w.From != "" {
		s.start = l.startAt(w.From)
	}
	return s
}

func (l listing[T]) keyAt(position string) string {
	if l.sortKey == nil {
		return position
	}
	return l.sortKey(position)
}

func (l listing[T]) startAt(position string) attrs {
	if l.start == nil {
		return l.span.table.key(rowKey{l.span.pk, l.keyAt(position)})
	}
	return l.start(position)
}

// read returns a page of the list.
//
// Cost: 1 Query, one more per started megabyte; one more of one row when the window probes its other side.
func (l listing[T]) read(ctx context.Context, db *DB, w page.Window) (page.Slice[T], error) {
	rows, _, err := l.rows(ctx, db, l.in(w))
	if err != nil {
		return page.Slice[T]{}, err
	}
	slice := page.Fill(w, rows, l.position)
	slice.Other, err = l.other(ctx, db, w, nil)
	return slice, err
}

// other reports whether there is a row that counts on the other side of the window's From, or at it. Every row counts when
// counts is nil.
//
// Cost: 1 Query of one row, and what counts costs; more where rows do not count.
func (l listing[T]) other(ctx context.Context, db *DB, w page.Window, counts func(context.Context, []T) (bool, error)) (bool, error) {
	if w.From == "" || !w.Probe {
		return w.From != "", nil
	}
	s := l.span
	if s.backward = w.Backward == l.descending; s.backward {
		s.high = l.keyAt(w.From)
	} else {
		s.low = l.keyAt(w.From)
	}
	s.limit = 1
	for round := 0; ; round++ {
		rows, next, err := l.rows(ctx, db, s)
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
		s.start, s.limit = next, further(round, 1)
	}
}

// rows reads the rows of a span of the list, and where to go on.
func (l listing[T]) rows(ctx context.Context, db *DB, s span) (rows []T, next attrs, err error) {
	rows = make([]T, 0, min(s.limit, 64))
	next, err = db.query(ctx, s, func(item []byte) (bool, error) {
		var row T
		err := l.decode(item, &row)
		if l.skips == nil || !l.skips(row) {
			rows = append(rows, row)
		}
		return true, err
	})
	if next != nil && l.beyond != nil {
		next = l.beyond(next, s.backward)
	}
	return rows, next, err
}

// mostFurther is how many rows are read at once, at most, where rows are left out.
const mostFurther = 500

// further returns how many rows to read in the given round after the first, when so many are wanted still. Where much was
// left out, much more may have to be: reading only what is wanted could take a call per row, reading a hundred at a time
// takes long where hundreds do not count.
func further(round, wanted int) int { return max(wanted, min(maxBatchGet<<min(round, 8), mostFurther)) }

// filtered returns a page of a list of which not every row counts: resolve looks at rows in the order they were read and
// returns those that do, in the same order. It reads on until the page is full or the span is read.
func filtered[R, T any](ctx context.Context, db *DB, l listing[R], w page.Window, resolve func(context.Context, []R) ([]T, error), position func(T) string) (page.Slice[T], error) {
	var kept []T
	s := l.in(w)
	for round := 0; ; round++ {
		rows, next, err := l.rows(ctx, db, s)
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
		s.start, s.limit = next, further(round, w.Limit+1-len(kept))
	}
	slice := page.Fill(w, kept, position)
	var err error
	slice.Other, err = l.other(ctx, db, w, func(ctx context.Context, rows []R) (bool, error) {
		resolved, err := resolve(ctx, rows)
		return len(resolved) > 0, err
	})
	return slice, err
}
