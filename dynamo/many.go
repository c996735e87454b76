package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/page"
)

// ManyLists reads a page of each of several lists of the same kind: the rows of all of them concurrently within the bound,
// one Query each, and what the rows point to together, in full batches.
type ManyLists[R, T any] struct {
	DB *DB
	// Want reads what a row points to.
	Want func(list int, row R, into *T) Want
	// Beside reads what belongs to it, which need not be there; nil for nothing.
	Beside func(list int, row R, into *T) Want
	// Counts reports whether what was read is part of the list; nil when all is.
	Counts   func(list int, of T) bool
	Position func(of T) string
}

// oneList is one of them on its way.
type oneList[R, T any] struct {
	number int
	list   Listing[R]
	window page.Window
	span   Span
	rows   []R // read and not resolved
	ahead  []R // read only to know that there is more
	rounds int
	kept   []T
	more   bool
	ended  bool // every row was read
	done   bool // and nothing is left to do
	err    error
}

func (m ManyLists[R, T]) Read(ctx context.Context, windows []page.Window, list func(i int) Listing[R]) ([]page.Slice[T], []error) {
	lists := make([]*oneList[R, T], len(windows))
	for i, w := range windows {
		l := list(i)
		lists[i] = &oneList[R, T]{number: i, list: l, window: w, span: l.In(w)}
	}
	for left := lists; len(left) > 0; {
		for i, err := range m.DB.Each(len(left), func(i int) error { return m.next(ctx, left[i]) }) {
			left[i].err = err
		}
		m.resolve(ctx, left)
		var unfinished []*oneList[R, T]
		for _, l := range left {
			if l.err == nil && !l.done {
				unfinished = append(unfinished, l)
			}
		}
		left = unfinished
	}
	slices := make([]page.Slice[T], len(windows))
	return slices, m.DB.Each(len(lists), func(i int) (err error) {
		l := lists[i]
		if l.err != nil {
			return l.err
		}
		slices[i] = page.Fill(l.window, l.kept, m.Position)
		slices[i].More = slices[i].More || l.more
		slices[i].Other, err = l.list.Other(ctx, m.DB, l.window, m.counting(i))
		return err
	})
}

// counting returns what tells whether any of some rows of a list counts; nil when all rows do.
func (m ManyLists[R, T]) counting(list int) func(context.Context, []R) (bool, error) {
	if m.Counts == nil {
		return nil
	}
	return func(ctx context.Context, rows []R) (bool, error) {
		probe := oneList[R, T]{number: list, rows: rows}
		m.resolve(ctx, []*oneList[R, T]{&probe})
		return len(probe.kept) > 0, probe.err
	}
}

// next reads the next rows of a list. The row behind the page is not looked at where every row counts, or where it alone would
// be one batch more: that it is there has to do.
func (m ManyLists[R, T]) next(ctx context.Context, l *oneList[R, T]) error {
	limit := l.window.Limit
	if !l.ended {
		rows, next, err := l.list.Rows(ctx, m.DB, l.span)
		if err != nil {
			return err
		}
		l.rows, l.ended = rows, next == nil
		l.span.Start, l.span.Limit = next, Further(l.rounds, limit+1)
	}
	l.rows, l.ahead, l.done = append(l.ahead, l.rows...), nil, l.ended
	if l.rounds == 0 && len(l.rows) == limit+1 && limit > 0 && (m.Counts == nil || limit%MaxBatchGet == 0) {
		l.rows, l.ahead = l.rows[:limit:limit], l.rows[limit:]
		l.done = false
	}
	l.rounds++
	return nil
}

// resolve reads what the rows of the lists point to, and keeps what counts.
func (m ManyLists[R, T]) resolve(ctx context.Context, lists []*oneList[R, T]) {
	var found []T
	n := 0
	for _, l := range lists {
		n += len(l.rows)
	}
	found = make([]T, n)
	wants := make([]Want, 0, n)
	for _, l := range lists {
		for _, row := range l.rows {
			wants = append(wants, m.Want(l.number, row, &found[len(wants)]))
		}
	}
	errs := m.resolved(ctx, lists, wants, found)
	for _, l := range lists {
		for range l.rows {
			switch err := errs[0]; {
			case err == ErrMissing: //nolint:errorlint // BatchGet returns it bare
			case err != nil:
				l.err = err
			case m.Counts == nil || m.Counts(l.number, found[0]):
				l.kept = append(l.kept, found[0])
			}
			errs, found = errs[1:], found[1:]
		}
		l.rows = nil
		switch {
		case len(l.ahead) > 0 && len(l.kept) == l.window.Limit:
			l.more, l.done = true, true
		case len(l.ahead) == 0:
			l.done = l.done || len(l.kept) > l.window.Limit
		}
	}
}

// resolved reads what the rows point to, and what belongs to that, and returns the error of each.
func (m ManyLists[R, T]) resolved(ctx context.Context, lists []*oneList[R, T], wants []Want, found []T) []error {
	n := len(wants)
	if m.Beside == nil || n == 0 {
		return m.DB.BatchGet(ctx, wants)
	}
	for _, l := range lists {
		for _, row := range l.rows {
			wants = append(wants, m.Beside(l.number, row, &found[len(wants)-n]))
		}
	}
	all := m.DB.BatchGet(ctx, wants)
	errs := all[:n]
	for i, err := range all[n:] {
		if err != ErrMissing && errs[i] == nil { //nolint:errorlint // BatchGet returns it bare
			errs[i] = err
		}
	}
	return errs
}
