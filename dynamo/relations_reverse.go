package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
)

// ListReverseRelations lists relationships by their objects, under one predicate or all, several at once within the bound. A
// row is shown when it holds at the generation of its predicate's head. The heads for all requests are read together.
//
// Index: reverse_relationships, eventually consistent. Key: _object_key = <scope>:<type>:<id>, by _index. Index: primary. Key:
// _subject_key = <scope>:<type>:<id> AND _predicate_key = <predicate>:! of each. Cost: 1 Query for each request and ⌈heads/100⌉
// BatchGetItem for all of them; where rows are left out, or are of other predicates, further Queries of 100, 200, 400, 500 … rows
// with their BatchGetItem; for each window that probes its other side 1 GetItem and 1 BatchGetItem more.
func (db Entities) ListReverseRelations(ctx context.Context, requests []entity.RelationsRequest) ([]page.Slice[entity.Relation], []error) {
	lists := make([]*reverseList, len(requests))
	for i, r := range requests {
		lists[i] = newReverseList(r)
	}
	for left := lists; len(left) > 0; {
		for i, err := range db.each(len(left), func(i int) error { return left[i].next(ctx, db) }) {
			left[i].err = err
		}
		db.keepHolding(ctx, left)
		left = slices.DeleteFunc(slices.Clone(left), (*reverseList).done)
	}
	pages := make([]page.Slice[entity.Relation], len(requests))
	return pages, some(db.each(len(lists), func(i int) (err error) {
		pages[i], err = lists[i].page(ctx, db)
		return err
	}))
}

// reverseList is one list on its way.
type reverseList struct {
	request entity.RelationsRequest
	list    listing[relationRecord]
	span    span
	rounds  int
	rows    []relationRecord // read and not looked at
	kept    []relationRecord
	ended   bool // every row was read
	err     error
}

func newReverseList(r entity.RelationsRequest) *reverseList {
	object := keys.SubjectKey(r.Entity.Scope, r.Entity.Type, r.Entity.ID)
	l := &reverseList{request: r, list: listing[relationRecord]{
		span:   span{table: relationshipEntries, index: reverseRelationships, pk: object},
		decode: func(item []byte, row *relationRecord) error { return decodeRelation(item, row, row.own) },
		start:  func(position string) attrs { return reverseStart(object, position) },
	}}
	l.span = l.list.in(r.Window)
	return l
}

func (l *reverseList) next(ctx context.Context, db Entities) error {
	rows, next, err := l.list.rows(ctx, db.DB, l.span)
	if err != nil {
		return err
	}
	l.rows, l.ended = rows, next == nil
	l.span.start = next
	return nil
}

func (l *reverseList) done() bool {
	return l.err != nil || l.ended || len(l.kept) > l.request.Window.Limit
}

func (l *reverseList) page(ctx context.Context, db Entities) (page.Slice[entity.Relation], error) {
	if l.err != nil {
		return page.Slice[entity.Relation]{}, l.err
	}
	w := l.request.Window
	slice := page.Fill(w, l.kept, reversePosition)
	relations := page.Slice[entity.Relation]{Positions: slice.Positions, More: slice.More, Other: w.From != ""}
	for _, row := range slice.Items {
		relations.Items = append(relations.Items, row.Relation)
	}
	if w.Probe && w.From != "" { // many rows have the same index: see reverseOther
		other, err := db.reverseOther(ctx, l)
		if err != nil {
			return page.Slice[entity.Relation]{}, err
		}
		relations.Other = other
	}
	return relations, nil
}

// keepHolding takes the rows that hold, of those that the lists have read, to what they keep.
func (db Entities) keepHolding(ctx context.Context, lists []*reverseList) {
	type looked struct {
		list       *reverseList
		row        relationRecord
		generation int
	}
	var all []*looked
	var wants []want
	for _, l := range lists {
		for _, row := range l.rows {
			if l.err != nil || (l.request.Predicate != "" && row.Predicate != l.request.Predicate) {
				continue
			}
			one := &looked{list: l, row: row}
			all = append(all, one)
			wants = append(wants, want{relationshipEntries, headKey(row.Subject, row.Predicate), func(item []byte) error {
				var head relationRecord
				err := decodeRelation(item, &head, nil)
				one.generation = head.Generation
				return err
			}})
		}
		l.rows = nil
	}
	for i, err := range db.batchGet(ctx, wants) {
		switch one := all[i]; {
		case err != nil && err != errMissing: //nolint:errorlint // batchGet returns it bare
			one.list.err = err
		case one.row.holds(one.generation):
			one.list.kept = append(one.list.kept, one.row)
		}
	}
	for _, l := range lists {
		l.span.limit = further(l.rounds, l.request.Window.Limit+1-len(l.kept))
		l.rounds++
	}
}

// counts reports whether one of the rows is part of the list.
func (l *reverseList) counts(ctx context.Context, db Entities, rows []relationRecord) (bool, error) {
	probe := reverseList{request: l.request, rows: rows}
	db.keepHolding(ctx, []*reverseList{&probe})
	return len(probe.kept) > 0, probe.err
}

// reverseOther reports whether something that counts lies at the window's From, or beyond it the other way.
func (db Entities) reverseOther(ctx context.Context, l *reverseList) (bool, error) {
	w := l.request.Window
	_, key := reverseKey(w.From)
	var at relationRecord
	there, err := db.get(ctx, relationshipEntries, key, func(item []byte) error { return decodeRelation(item, &at, nil) })
	if err != nil {
		return false, err
	}
	if there {
		if found, err := l.counts(ctx, db, []relationRecord{at}); err != nil || found {
			return found, err
		}
	}
	s := l.list.span
	s.backward, s.limit, s.start = !w.Backward, 1, l.list.start(w.From)
	for round := 0; ; round++ {
		rows, next, err := l.list.rows(ctx, db.DB, s)
		if err != nil {
			return false, err
		}
		found, err := l.counts(ctx, db, rows)
		if err != nil || found || next == nil {
			return found, err
		}
		s.start, s.limit = next, further(round, 1)
	}
}

// reversePosition is all of a row's start key: its index and its key. No key holds a NUL.
func reversePosition(r relationRecord) string {
	return strings.Join([]string{strconv.FormatInt(r.Index, 10), r.Key.PK, r.Key.SK}, "\x00")
}

func reverseKey(position string) (index string, key rowKey) {
	index, rest, _ := strings.Cut(position, "\x00")
	key.PK, key.SK, _ = strings.Cut(rest, "\x00")
	return index, key
}

func reverseStart(object, position string) attrs {
	index, key := reverseKey(position)
	start := relationshipEntries.key(key)
	start["_object_key"], start["_index"] = str(object), reverseRelationships.bound(index)
	return start
}
