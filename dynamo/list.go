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
	position   func(row T) string    // what a cursor keeps of a row
	sortKey    func(p string) string // the sort key at a position; the position itself when nil
	start      func(p string) attrs  // the exclusive start key at a position; primary key when nil
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
		return rowKey{l.span.pk, l.keyAt(position)}.attributes()
	}
	return l.start(position)
}

// read returns a page of the list.
//
// Cost: 1 Query, one more per started megabyte; one more of one row when the window probes its other side.
func (l listing[T]) read(ctx context.Context, db *DB, w page.Window) (page.Slice[T], error) {
	rows := make([]T, 0, min(w.Limit+1, 64))
	_, err := db.query(ctx, l.in(w), func(item []byte) (bool, error) {
		var row T
		err := l.decode(item, &row)
		rows = append(rows, row)
		return true, err
	})
	if err != nil {
		return page.Slice[T]{}, err
	}
	slice := page.Fill(w, rows, l.position)
	slice.Other, err = l.other(ctx, db, w)
	return slice, err
}

// other reports whether there is a row on the other side of the window's From, or at it.
func (l listing[T]) other(ctx context.Context, db *DB, w page.Window) (bool, error) {
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
	found := false
	_, err := db.query(ctx, s, func([]byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}

// filtered returns a page of a list of which not every row counts: resolve looks at rows in the order they were read and
// returns those that do, in the same order. It reads on until the page is full or the span is read.
func filtered[R, T any](ctx context.Context, db *DB, l listing[R], w page.Window, resolve func(context.Context, []R) ([]T, error), position func(T) string) (page.Slice[T], error) {
	var kept []T
	for s := l.in(w); ; {
		var rows []R
		next, err := db.query(ctx, s, func(item []byte) (bool, error) {
			var row R
			err := l.decode(item, &row)
			rows = append(rows, row)
			return true, err
		})
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
		// Where much was left out, much more may have to be: reading only what is still wanted could take a call per row.
		s.start, s.limit = next, max(w.Limit+1-len(kept), maxBatchGet)
	}
	slice := page.Fill(w, kept, position)
	var err error
	slice.Other, err = l.other(ctx, db, w)
	return slice, err
}
