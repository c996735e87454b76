package entities

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/taggie/taggie/dynamo"
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
func (db Store) ListReverseRelations(ctx context.Context, requests []entity.RelationsRequest) ([]page.Slice[entity.Relation], []error) {
	lists := make([]*reverseList, len(requests))
	for i, r := range requests {
		lists[i] = newReverseList(r)
	}
	for left := lists; len(left) > 0; {
		for i, err := range db.Each(len(left), func(i int) error { return left[i].next(ctx, db) }) {
			left[i].err = err
		}
		db.keepHolding(ctx, left)
		left = slices.DeleteFunc(slices.Clone(left), (*reverseList).done)
	}
	pages := make([]page.Slice[entity.Relation], len(requests))
	return pages, dynamo.Errors(db.Each(len(lists), func(i int) (err error) {
		pages[i], err = lists[i].page(ctx, db)
		return err
	}))
}

// reverseList is one list on its way.
type reverseList struct {
	request entity.RelationsRequest
	list    dynamo.Listing[RelationRecord]
	span    dynamo.Span
	rounds  int
	rows    []RelationRecord // read and not looked at
	kept    []RelationRecord
	ended   bool // every row was read
	err     error
}

func newReverseList(r entity.RelationsRequest) *reverseList {
	object := keys.SubjectKey(r.Entity.Scope, r.Entity.Type, r.Entity.ID)
	l := &reverseList{request: r, list: dynamo.Listing[RelationRecord]{
		Span:   dynamo.Span{Table: dynamo.RelationshipEntries, Index: dynamo.ReverseRelationships, PK: object},
		Decode: func(item dynamo.Item, row *RelationRecord) error { return DecodeRelation(item, row, row.own) },
		Start:  func(position string) dynamo.Attrs { return reverseStart(object, position) },
	}}
	l.span = l.list.In(r.Window)
	return l
}

func (l *reverseList) next(ctx context.Context, db Store) error {
	rows, next, err := l.list.Rows(ctx, db.DB, l.span)
	if err != nil {
		return err
	}
	l.rows, l.ended = rows, next == nil
	l.span.Start = next
	return nil
}

func (l *reverseList) done() bool {
	return l.err != nil || l.ended || len(l.kept) > l.request.Window.Limit
}

func (l *reverseList) page(ctx context.Context, db Store) (page.Slice[entity.Relation], error) {
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
func (db Store) keepHolding(ctx context.Context, lists []*reverseList) {
	type looked struct {
		list       *reverseList
		row        RelationRecord
		generation int
	}
	var all []*looked
	var wants []dynamo.Want
	for _, l := range lists {
		for _, row := range l.rows {
			if l.err != nil || (l.request.Predicate != "" && row.Predicate != l.request.Predicate) {
				continue
			}
			one := &looked{list: l, row: row}
			all = append(all, one)
			wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: headKey(row.Subject, row.Predicate), Decode: func(item dynamo.Item) error {
				var head RelationRecord
				err := DecodeRelation(item, &head, nil)
				one.generation = head.Generation
				return err
			}})
		}
		l.rows = nil
	}
	for i, err := range db.BatchGet(ctx, wants) {
		switch one := all[i]; {
		case err != nil && err != dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			one.list.err = err
		case one.row.Holds(one.generation):
			one.list.kept = append(one.list.kept, one.row)
		}
	}
	for _, l := range lists {
		l.span.Limit = dynamo.Further(l.rounds, l.request.Window.Limit+1-len(l.kept))
		l.rounds++
	}
}

// counts reports whether one of the rows is part of the list.
func (l *reverseList) counts(ctx context.Context, db Store, rows []RelationRecord) (bool, error) {
	probe := reverseList{request: l.request, rows: rows}
	db.keepHolding(ctx, []*reverseList{&probe})
	return len(probe.kept) > 0, probe.err
}

// reverseOther reports whether something that counts lies at the window's From, or beyond it the other way.
func (db Store) reverseOther(ctx context.Context, l *reverseList) (bool, error) {
	w := l.request.Window
	_, key := reverseKey(w.From)
	var at RelationRecord
	there, err := db.Get(ctx, dynamo.RelationshipEntries, key, func(item dynamo.Item) error { return DecodeRelation(item, &at, nil) })
	if err != nil {
		return false, err
	}
	if there {
		if found, err := l.counts(ctx, db, []RelationRecord{at}); err != nil || found {
			return found, err
		}
	}
	s := l.list.Span
	s.Backward, s.Limit, s.Start = !w.Backward, 1, l.list.Start(w.From)
	for round := 0; ; round++ {
		rows, next, err := l.list.Rows(ctx, db.DB, s)
		if err != nil {
			return false, err
		}
		found, err := l.counts(ctx, db, rows)
		if err != nil || found || next == nil {
			return found, err
		}
		s.Start, s.Limit = next, dynamo.Further(round, 1)
	}
}

// reversePosition is all of a row's start key: its index and its key. No key holds a NUL.
func reversePosition(r RelationRecord) string {
	return strings.Join([]string{strconv.FormatInt(r.Index, 10), r.Key.PK, r.Key.SK}, "\x00")
}

func reverseKey(position string) (index string, key dynamo.Key) {
	index, rest, _ := strings.Cut(position, "\x00")
	key.PK, key.SK, _ = strings.Cut(rest, "\x00")
	return index, key
}

func reverseStart(object, position string) dynamo.Attrs {
	index, key := reverseKey(position)
	start := dynamo.RelationshipEntries.Key(key)
	start["_object_key"], start["_index"] = dynamo.Str(object), dynamo.ReverseRelationships.Bound(index)
	return start
}
