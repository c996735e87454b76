package projects

import (
	"context"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// ListItems lists the items of a status, or status after status, shard after shard. Entries which the items do not have any
// more are left out, and pages stay full. While a page lies in one shard that is one Query; where a shard ends, the next ones
// are read side by side, more and more of them.
//
// Whether anything follows a page of 100, 200 … items is told by the index alone: looking at the item would be one more batch.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <project>:status~<shard> AND
// begins_with(_index_key, <status>:<shard>:), for one shard or several; then the items as in ItemsByID.
// Cost: 1 Query, 1 per shard where shards end, and ⌈n/100⌉ BatchGetItem.
func (db Store) ListItems(ctx context.Context, id project.ID, status project.Status, w page.Window) (page.Slice[project.Item], error) {
	kept, more, err := db.collect(ctx, db.statusList(id, status, w.Backward, w.From, false), w.Limit)
	if err != nil {
		return page.Slice[project.Item]{}, err
	}
	slice := page.Fill(w, kept, statusPosition)
	slice.More = slice.More || more
	slice.Other = w.From != ""
	if w.From == "" || !w.Probe {
		return slice, nil
	}
	found, _, err := db.collect(ctx, db.statusList(id, status, !w.Backward, w.From, true), 0)
	slice.Other = len(found) > 0
	return slice, err
}

// collect reads a list until it has more than limit items, or as many and the index says that there are more, or the list ends.
func (db Store) collect(ctx context.Context, list *statusList, limit int) (kept []project.Item, more bool, err error) {
	for len(kept) <= limit {
		wanted := limit + 1 - len(kept)
		if list.rounds > 0 {
			wanted = dynamo.Further(list.rounds-1, wanted)
		}
		list.rounds++
		entries, err := list.next(ctx, wanted)
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
		found, err := db.verified(ctx, list.project, look)
		if err != nil {
			return nil, false, err
		}
		kept = append(kept, found...)
		if len(look) < len(entries) {
			if len(kept) == limit {
				return kept, true, nil
			}
			list.unread(entries[len(look)])
		}
	}
	return kept, false, nil
}

// verified reads the items of entries and returns those that have them still.
func (db Store) verified(ctx context.Context, id project.ID, entries []statusRow) ([]project.Item, error) {
	items := make([]project.Item, len(entries))
	wants := make([]dynamo.Want, len(entries))
	for i, e := range entries {
		wants[i] = WantItem(project.ItemID{Project: id, ID: e.item}, &items[i])
	}
	var kept []project.Item
	for i, err := range db.BatchGet(ctx, wants) {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, key := StatusEntry(items[i]); key == entries[i].key {
			kept = append(kept, items[i])
		}
	}
	return kept, nil
}

// statusPosition is where an item stands in the lists of its project.
func statusPosition(i project.Item) string {
	_, key := StatusEntry(i)
	return key + ":" + i.ID
}

// statusRow is an entry of the index.
type statusRow struct{ key, item string }

func decodeStatusRow(item dynamo.Item, r *statusRow) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "_index_key":
			r.key, err = v.Str()
		case "_id":
			r.item, err = v.Str()
		}
		return err
	})
}

// statusList is the entries of all shards one after the other, in either direction.
type statusList struct {
	db      Store
	project project.ID
	parts   []*statusPart // what is not read yet; the first one is where the list goes on
	rounds  int           // of [Store.collect]
	wave    int           // of shards that were read side by side
}

// statusPart is the entries of one status in one shard.
type statusPart struct {
	span  dynamo.Span
	rows  []statusRow // read and not handed out
	begun bool
	done  bool
}

// waves are how many shards are read side by side: at first the one in which the page begins and, probably, ends. Behind them
// it is all shards of a status.
var waves = [...]int{1, 3, 12}

// statusList returns the entries from a position on, or from the beginning of the list.
func (db Store) statusList(id project.ID, status project.Status, backward bool, from string, inclusive bool) *statusList {
	statuses := project.Statuses
	if status != "" {
		statuses = []project.Status{status}
	}
	l := &statusList{db: db, project: id}
	for _, status := range statuses {
		for shard := range keys.Shards {
			s := dynamo.Span{Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(string(id), keys.IndexName(keys.StatusIndex, shard)), Backward: backward}
			s.Low, s.High = keys.StatusRange(string(status), shard)
			l.parts = append(l.parts, &statusPart{span: s})
		}
	}
	if backward {
		slices.Reverse(l.parts)
	}
	key, item := SplitPosition(from)
	at := slices.IndexFunc(l.parts, func(p *statusPart) bool { return p.span.Low <= key && key <= p.span.High })
	if at < 0 {
		return l
	}
	l.parts = l.parts[at:]
	switch s := &l.parts[0].span; {
	case !inclusive:
		s.Start = l.startAt(s.PK, key, item)
	case backward:
		s.High = key
	default:
		s.Low = key
	}
	return l
}

// SplitPosition returns what a position in a list by status was made of.
func SplitPosition(p string) (key, item string) {
	at := strings.LastIndexByte(p, ':')
	return p[:max(at, 0)], p[at+1:]
}

func (l *statusList) startAt(pk, key, item string) dynamo.Attrs {
	return StatusStart(l.project, pk, key, item)
}

// StatusStart is the exclusive start key at an entry.
func StatusStart(of project.ID, pk, key, item string) dynamo.Attrs {
	name := keys.IndexName(keys.StatusIndex, keys.Shard(item))
	start := dynamo.IndexEntries.Key(entities.IndexEntryKey(ItemID(project.ItemID{Project: of, ID: item}), name, key))
	start["_scope_index_name"], start["_index_key"] = dynamo.Str(pk), dynamo.Str(key)
	return start
}

// unread puts an entry back.
func (l *statusList) unread(r statusRow) {
	if len(l.parts) == 0 {
		l.parts = []*statusPart{{done: true, begun: true}}
	}
	l.parts[0].rows = append([]statusRow{r}, l.parts[0].rows...)
}

// next returns up to n entries; fewer only at the end.
func (l *statusList) next(ctx context.Context, n int) ([]statusRow, error) {
	var rows []statusRow
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
func (l *statusList) read(ctx context.Context, n int) error {
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

func (p *statusPart) read(ctx context.Context, db *dynamo.DB, n int) error {
	p.begun = true
	p.span.Limit = n
	next, err := db.Query(ctx, p.span, func(item dynamo.Item) (bool, error) {
		var r statusRow
		err := decodeStatusRow(item, &r)
		p.rows = append(p.rows, r)
		return true, err
	})
	p.span.Start, p.done = next, next == nil
	return err
}
