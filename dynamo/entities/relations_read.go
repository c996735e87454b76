package entities

import (
	"context"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
)

// ListRelations lists relationships of subjects, under one predicate or all, several at once within the bound. The generation
// is that of the marker that is met first; when the one that is met last is of a later generation, a change was
// committed meanwhile and may have removed rows that were still to be read, hence everything is read again. A marker that is
// outside the page is read by itself, before the page or after it. Rows without markers are of generation 0.
//
// Index: primary. Key: _subject_key = <scope>:<type>:<id> AND _predicate_key between <predicate>:! and <predicate>:~; without a
// predicate only the first. Cost: 1 Query for each request, 1 GetItem more for each end of the predicate that is not in the
// page, 1 Query more when the window probes its other side; all of it once more per change that is committed meanwhile.
func (db Store) ListRelations(ctx context.Context, requests []entity.RelationsRequest) ([]page.Slice[entity.Relation], []error) {
	slices := make([]page.Slice[entity.Relation], len(requests))
	return slices, dynamo.Errors(db.Each(len(requests), func(i int) (err error) {
		slices[i], err = db.listRelations(ctx, requests[i])
		return err
	}))
}

func (db Store) listRelations(ctx context.Context, r entity.RelationsRequest) (page.Slice[entity.Relation], error) {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	floor := map[string]int{}
	for idle := 0; ; idle++ {
		s := relationScan{db: db, request: r, floor: floor, backward: r.Window.Backward, want: r.Window.Limit + 1}
		other, err := s.read(ctx)
		if err != nil {
			return page.Slice[entity.Relation]{}, err
		}
		if !s.torn {
			slice := page.Fill(r.Window, s.rows, func(r RelationRecord) string { return r.Key.SK })
			relations := page.Slice[entity.Relation]{Positions: slice.Positions, More: slice.More, Other: other}
			for _, row := range slice.Items {
				relations.Items = append(relations.Items, row.Relation)
			}
			return relations, nil
		}
		if !db.Pause(ctx, idle) {
			return page.Slice[entity.Relation]{}, fault.Wrap(fault.Unavailable, ctx.Err(), "the list is changed faster than it can be read; try again")
		}
	}
}

// relationScan reads rows of a subject in one direction, group by group: a group is what lies under one predicate.
type relationScan struct {
	db       Store
	request  entity.RelationsRequest
	floor    map[string]int // generations that are known to be committed, from earlier scans
	backward bool
	want     int

	rows       []RelationRecord
	predicate  string // of the group
	generation int    // of the group
	open       bool   // the group's far marker was not met yet
	full       bool   // there are enough rows, and the group of the last one is known whole
	torn       bool
}

// read reads a page and reports whether there is something on the other side of its beginning.
func (s *relationScan) read(ctx context.Context) (other bool, err error) {
	w := s.request.Window
	if w.From == "" {
		return false, s.scan(ctx, s.span())
	}
	predicate := predicateOf(w.From)
	generation, err := s.marker(ctx, predicate, s.backward)
	if err != nil {
		return false, err
	}
	s.enter(predicate, generation)
	if other = true; w.Probe {
		if other, err = s.probe(ctx); err != nil {
			return false, err
		}
	}
	span := s.span()
	span.Start = dynamo.RelationshipEntries.Key(dynamo.Key{PK: span.PK, SK: w.From})
	return other, s.scan(ctx, span)
}

func (s *relationScan) span() dynamo.Span {
	subject := s.request.Entity
	all := dynamo.Span{Table: dynamo.RelationshipEntries, PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID), Backward: s.backward}
	if s.request.Predicate != "" {
		all.Low, all.High = keys.PredicateHeadKey(s.request.Predicate), keys.PredicateTailKey(s.request.Predicate)
	}
	return all
}

// probe looks the other way, from the window's From on.
func (s *relationScan) probe(ctx context.Context) (bool, error) {
	p := relationScan{db: s.db, request: s.request, floor: s.floor, backward: !s.backward, want: 1}
	p.enter(s.predicate, s.generation)
	span := p.span()
	if p.backward {
		span.High = s.request.Window.From
	} else {
		span.Low = s.request.Window.From
	}
	err := p.rowsOf(ctx, span)
	s.torn = s.torn || p.torn
	return len(p.rows) > 0, err
}

// scan reads the span and the far marker of the last group.
func (s *relationScan) scan(ctx context.Context, span dynamo.Span) error {
	if err := s.rowsOf(ctx, span); err != nil || !s.open {
		return err
	}
	generation, err := s.marker(ctx, s.predicate, !s.backward)
	s.leave(s.predicate, generation)
	return err
}

// rowsOf reads until there are enough rows or the span ends.
func (s *relationScan) rowsOf(ctx context.Context, span dynamo.Span) error {
	span.Limit = s.want + 2 // the markers
	for round := 0; ; round++ {
		next, err := s.db.Query(ctx, span, func(item dynamo.Item) (bool, error) {
			var r RelationRecord
			if err := DecodeRelation(item, &r, r.own); err != nil {
				return false, err
			}
			s.see(r)
			return true, nil
		})
		if err != nil {
			return err
		}
		if next == nil {
			s.open = false // there is no far marker
			return nil
		}
		if s.torn || len(s.rows) >= s.want {
			return nil
		}
		span.Start, span.Limit = next, dynamo.Further(round, s.want+1-len(s.rows))
	}
}

func (s *relationScan) see(r RelationRecord) {
	switch {
	case s.full:
	case s.open && r.Predicate != s.predicate: // the group had no far marker
		s.open = false
		s.see(r)
	case len(s.rows) >= s.want && !s.open:
		s.full = true
	case r.Marker && s.far(r):
		if !s.open {
			s.enter(r.Predicate, 0) // it had neither a near one, nor rows
		}
		s.leave(r.Predicate, r.Generation)
	case r.Marker:
		s.enter(r.Predicate, r.Generation)
	default:
		if !s.open {
			s.enter(r.Predicate, 0)
		}
		if len(s.rows) < s.want && r.Holds(s.generation) {
			s.rows = append(s.rows, r)
		}
	}
}

func (s *relationScan) far(r RelationRecord) bool {
	if s.backward {
		return r.Key.SK == keys.PredicateHeadKey(r.Predicate)
	}
	return r.Key.SK == keys.PredicateTailKey(r.Predicate)
}

// enter begins a group. A marker may be shown later than its twin of the same transaction, which an earlier scan has met.
func (s *relationScan) enter(predicate string, generation int) {
	s.predicate, s.generation, s.open = predicate, max(generation, s.floor[predicate]), true
}

// leave ends a group at a far marker.
func (s *relationScan) leave(predicate string, generation int) {
	s.open = false
	if generation > s.generation {
		s.torn, s.floor[predicate] = true, generation
	}
}

// marker reads the tail or the head of a predicate; 0 when there is none.
func (s *relationScan) marker(ctx context.Context, predicate string, tail bool) (int, error) {
	key := headKey(s.request.Entity, predicate)
	if tail {
		key = tailKey(s.request.Entity, predicate)
	}
	var r RelationRecord
	_, err := s.db.Get(ctx, dynamo.RelationshipEntries, key, func(item dynamo.Item) error { return DecodeRelation(item, &r, nil) })
	return r.Generation, err
}

// predicateOf returns the predicate of a sort key: names of predicates need no escape.
func predicateOf(sk string) string {
	predicate, _, _ := strings.Cut(sk, ":")
	return predicate
}
