package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/page"
)

// manyLists reads a page of each of several lists of the same kind: the rows of all of them concurrently within the bound,
// one Query each, and what the rows point to together, in full batches.
type manyLists[R, T any] struct {
	db *DB
	// want reads what a row points to.
	want func(list int, row R, into *T) want
	// beside reads what belongs to it, which need not be there; nil for nothing.
	beside func(list int, row R, into *T) want
	// counts reports whether what was read is part of the list; nil when all is.
	counts   func(list int, of T) bool
	position func(of T) string
}

// oneList is one of them on its way.
type oneList[R, T any] struct {
	number int
	list   listing[R]
	window page.Window
	span   span
	rows   []R // read and not resolved
	ahead  []R // read only to know that there is more
	rounds int
	kept   []T
	more   bool
	ended  bool // every row was read
	done   bool // and nothing is left to do
	err    error
}

func (m manyLists[R, T]) read(ctx context.Context, windows []page.Window, list func(i int) listing[R]) ([]page.Slice[T], []error) {
	lists := make([]*oneList[R, T], len(windows))
	for i, w := range windows {
		l := list(i)
		lists[i] = &oneList[R, T]{number: i, list: l, window: w, span: l.in(w)}
	}
	for left := lists; len(left) > 0; {
		for i, err := range m.db.each(len(left), func(i int) error { return m.next(ctx, left[i]) }) {
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
	return slices, m.db.each(len(lists), func(i int) (err error) {
		l := lists[i]
		if l.err != nil {
			return l.err
		}
		slices[i] = page.Fill(l.window, l.kept, m.position)
		slices[i].More = slices[i].More || l.more
		slices[i].Other, err = l.list.other(ctx, m.db, l.window, m.counting(i))
		return err
	})
}

// counting returns what tells whether any of some rows of a list counts; nil when all rows do.
func (m manyLists[R, T]) counting(list int) func(context.Context, []R) (bool, error) {
	if m.counts == nil {
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
func (m manyLists[R, T]) next(ctx context.Context, l *oneList[R, T]) error {
	limit := l.window.Limit
	if !l.ended {
		rows, next, err := l.list.rows(ctx, m.db, l.span)
		if err != nil {
			return err
		}
		l.rows, l.ended = rows, next == nil
		l.span.start, l.span.limit = next, further(l.rounds, limit+1)
	}
	l.rows, l.ahead, l.done = append(l.ahead, l.rows...), nil, l.ended
	if l.rounds == 0 && len(l.rows) == limit+1 && limit > 0 && (m.counts == nil || limit%maxBatchGet == 0) {
		l.rows, l.ahead = l.rows[:limit:limit], l.rows[limit:]
		l.done = false
	}
	l.rounds++
	return nil
}

// resolve reads what the rows of the lists point to, and keeps what counts.
func (m manyLists[R, T]) resolve(ctx context.Context, lists []*oneList[R, T]) {
	var found []T
	n := 0
	for _, l := range lists {
		n += len(l.rows)
	}
	found = make([]T, n)
	wants := make([]want, 0, n)
	for _, l := range lists {
		for _, row := range l.rows {
			wants = append(wants, m.want(l.number, row, &found[len(wants)]))
		}
	}
	errs := m.resolved(ctx, lists, wants, found)
	for _, l := range lists {
		for range l.rows {
			switch err := errs[0]; {
			case err == errMissing: //nolint:errorlint // batchGet returns it bare
			case err != nil:
				l.err = err
			case m.counts == nil || m.counts(l.number, found[0]):
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
func (m manyLists[R, T]) resolved(ctx context.Context, lists []*oneList[R, T], wants []want, found []T) []error {
	n := len(wants)
	if m.beside == nil || n == 0 {
		return m.db.batchGet(ctx, wants)
	}
	for _, l := range lists {
		for _, row := range l.rows {
			wants = append(wants, m.beside(l.number, row, &found[len(wants)-n]))
		}
	}
	all := m.db.batchGet(ctx, wants)
	errs := all[:n]
	for i, err := range all[n:] {
		if err != errMissing && errs[i] == nil { //nolint:errorlint // batchGet returns it bare
			errs[i] = err
		}
	}
	return errs
}
