package projects

import (
	"context"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// sharded is a list in an index whose entries are spread over the shards of a project. Its order is that of the spans.
type sharded[T any] struct {
	spans    []dynamo.Span
	skips    func(row entryRow) bool // entries that are not listed; nil when all are
	split    func(position string) (key, id string)
	start    func(pk, key, id string) dynamo.Attrs // the exclusive start key at an entry
	id       func(row entryRow) string             // the entry among those of its key, as positions keep it
	want     func(row entryRow, into *T) dynamo.Want
	position func(of T) string // where it stands now; an entry elsewhere is one that it has no more
}

// entryRow is an entry of the index.
type entryRow struct{ subject, unique, key, id string }

func decodeEntryRow(item dynamo.Item, r *entryRow) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "_subject_key":
			r.subject, err = v.Str()
		case "_unique_key":
			r.unique, err = v.Str()
		case "_index_key":
			r.key, err = v.Str()
		case "_id":
			r.id, err = v.Str()
		}
		return err
	})
}

// shardSpan is a range of a shard of an index of a project.
func shardSpan(of project.ID, index string, shard int, low, high string) dynamo.Span {
	return dynamo.Span{
		Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(string(of), keys.IndexName(index, shard)), Low: low, High: high,
	}
}

// listShards returns a page of the list. Entries which no longer stand are left out, and pages stay full. While a page lies in one span
// that is one Query; where a span ends, the next ones are read side by side, more and more of them.
func listShards[T any](ctx context.Context, db Store, of sharded[T], w page.Window) (page.Slice[T], error) {
	kept, more, err := newShardList(db, of, w.Backward, w.From, false).collect(ctx, w.Limit)
	if err != nil {
		return page.Slice[T]{}, err
	}
	slice := page.Fill(w, kept, of.position)
	slice.More = slice.More || more
	slice.Other = w.From != ""
	if w.From == "" || !w.Probe {
		return slice, nil
	}
	found, _, err := newShardList(db, of, !w.Backward, w.From, true).collect(ctx, 0)
	slice.Other = len(found) > 0
	return slice, err
}

// collect reads a list until it has more than limit items, or as many and the index says that there are more, or the list ends.
func (l *shardList[T]) collect(ctx context.Context, limit int) (kept []T, more bool, err error) {
	for len(kept) <= limit {
		wanted := limit + 1 - len(kept)
		if l.rounds > 0 {
			wanted = dynamo.Further(l.rounds-1, wanted)
		}
		l.rounds++
		entries, err := l.next(ctx, wanted)
		if err != nil {
			return nil, false, err
		}
		if len(entries) == 0 {
			return kept, false, nil
		}
		look := entries
		if whole := len(kept) + len(entries) - 1; whole == limit && len(look)%dynamo.MaxBatchGet == 1 && len(look) > 1 {
			look = entries[:len(entries)-1]
		}
		found, err := l.verified(ctx, look)
		if err != nil {
			return nil, false, err
		}
		kept = append(kept, found...)
		if len(look) < len(entries) {
			if len(kept) == limit {
				return kept, true, nil
			}
			l.unread(entries[len(look)])
		}
	}
	return kept, false, nil
}

// verified reads what entries are of, and returns what has them still.
func (l *shardList[T]) verified(ctx context.Context, entries []entryRow) ([]T, error) {
	if l.of.skips != nil {
		entries = slices.DeleteFunc(slices.Clone(entries), l.of.skips)
	}
	all, wants := make([]T, len(entries)), make([]dynamo.Want, len(entries))
	for i, e := range entries {
		wants[i] = l.of.want(e, &all[i])
	}
	var kept []T
	for i, err := range l.db.BatchGet(ctx, wants) {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			continue
		}
		if err != nil {
			return nil, err
		}
		key, id := l.of.split(l.of.position(all[i]))
		if key == entries[i].key && id == l.of.id(entries[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept, nil
}

// shardList is the entries of all spans one after the other, in either direction.
type shardList[T any] struct {
	db     Store
	of     sharded[T]
	parts  []*shardPart // what is not read yet; the first one is where the list goes on
	rounds int          // of collect
	wave   int          // of spans that were read side by side
}

// shardPart is the entries of one span.
type shardPart struct {
	span  dynamo.Span
	rows  []entryRow // read and not handed out
	begun bool
	done  bool
}

// waves are how many shards are read side by side: at first the one in which the page begins and, probably, ends. Behind them
// it is as many as there are shards.
var waves = [...]int{1, 3, 12}

// newShardList returns the entries from a position on, or from the beginning of the list.
func newShardList[T any](db Store, of sharded[T], backward bool, from string, inclusive bool) *shardList[T] {
	l := &shardList[T]{db: db, of: of}
	for _, s := range of.spans {
		s.Backward = backward
		l.parts = append(l.parts, &shardPart{span: s})
	}
	if backward {
		slices.Reverse(l.parts)
	}
	if from == "" {
		return l
	}
	key, id := of.split(from)
	at := slices.IndexFunc(l.parts, func(p *shardPart) bool { return p.span.Low <= key && key <= p.span.High })
	if at < 0 {
		return l
	}
	l.parts = l.parts[at:]
	switch s := &l.parts[0].span; {
	case !inclusive:
		s.Start = of.start(s.PK, key, id)
	case backward:
		s.High = key
	default:
		s.Low = key
	}
	return l
}

// unread puts an entry back.
func (l *shardList[T]) unread(r entryRow) {
	if len(l.parts) == 0 {
		l.parts = []*shardPart{{done: true, begun: true}}
	}
	l.parts[0].rows = append([]entryRow{r}, l.parts[0].rows...)
}

// next returns up to n entries; fewer only at the end.
func (l *shardList[T]) next(ctx context.Context, n int) ([]entryRow, error) {
	var rows []entryRow
	for len(rows) < n && len(l.parts) > 0 {
		p := l.parts[0]
		switch {
		case len(p.rows) > 0:
			take := min(n-len(rows), len(p.rows))
			rows = append(rows, p.rows[:take]...)
			p.rows = p.rows[take:]
		case p.done:
			l.parts = l.parts[1:]
		default:
			if err := l.read(ctx, n-len(rows)); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// read reads the part where the list goes on, and, when it was not begun, those after it that belong to the same wave.
func (l *shardList[T]) read(ctx context.Context, n int) error {
	parts := l.parts[:1]
	if !parts[0].begun {
		width := keys.Shards
		if l.wave < len(waves) {
			width = waves[l.wave]
		}
		l.wave++
		parts = l.parts[:min(width, len(l.parts))]
	}
	for _, err := range l.db.Each(len(parts), func(i int) error { return parts[i].read(ctx, l.db.DB, n) }) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *shardPart) read(ctx context.Context, db *dynamo.DB, n int) error {
	p.begun = true
	p.span.Limit = n
	next, err := db.Query(ctx, p.span, func(item dynamo.Item) (bool, error) {
		var r entryRow
		err := decodeEntryRow(item, &r)
		p.rows = append(p.rows, r)
		return true, err
	})
	p.span.Start, p.done = next, next == nil
	return err
}
