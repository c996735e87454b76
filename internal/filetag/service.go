package filetag

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

// Service carries out what may be asked about tags on items.
type Service struct {
	Options
	mu     sync.Mutex
	layout Layout
	read   time.Time // when the layout was read
}

// Options says what a [Service] works with.
type Options struct {
	Store  Store
	Items  Items  // what the viewer may read
	Scores Scores // what the viewer may read
	Kept   Kept   // what there is, whoever asks
	Now    func() time.Time
	NewID  func() string // makes UUIDs
}

// Items shows items to the viewer.
type Items interface {
	// ItemsByID returns the item or the error of each request, in their order; NotFound for what the viewer may not read.
	ItemsByID(ctx context.Context, requests []score.ItemRequest) ([]score.Item, []error)
}

// Scores shows scores to the viewer.
type Scores interface {
	// ListByID returns the score or the error of each, in the order of refs; NotFound for what the viewer may not read.
	ListByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error)
}

// Kept tells which items and scores there are. It sees every acknowledged write.
type Kept interface {
	ItemsByID(ctx context.Context, refs []score.ItemRef) ([]score.Item, []error)
	ListUsesOf(ctx context.Context, requests []score.UsesRequest) ([]page.Slice[score.Use], []error)
	ScoresByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error)
}

// NewService returns a service.
func NewService(o Options) *Service { return &Service{Options: o} }

// attempts bounds how often a change is tried again when others change the same thing.
const attempts = 8

// PutTags is the input of [Service.PutTags].
type PutTags struct {
	Item           score.ItemRef
	Tags           []NewTag
	IdempotencyKey *string `json:"-"`
}

// PutTags makes these the viewer's tags on an item, and no others. NotFound when the viewer may not read the item: who does not own it
// may put tags on it while everybody may read it.
func (s *Service) PutTags(ctx context.Context, in PutTags) (Tagged, error) {
	tags, err := parse("input.tags", in.Tags)
	if err != nil {
		return Tagged{}, err
	}
	return s.change(ctx, "setItemTags", in.Item, in.IdempotencyKey, in, func([]Tag) []Tag { return tags })
}

// RemoveTags is the input of [Service.RemoveTags].
type RemoveTags struct {
	Item           score.ItemRef
	Tags           []string
	IdempotencyKey *string `json:"-"`
}

// RemoveTags takes tags of the viewer off an item; what is not on it is ignored. Faults as for [Service.PutTags].
func (s *Service) RemoveTags(ctx context.Context, in RemoveTags) (Tagged, error) {
	tags := make([]NewTag, len(in.Tags))
	for i, value := range in.Tags {
		tags[i].Value = value
	}
	remove, err := parse("input.tags", tags)
	if err != nil {
		return Tagged{}, err
	}
	return s.change(ctx, "removeItemTags", in.Item, in.IdempotencyKey, in, func(tags []Tag) (left []Tag) {
		for _, t := range tags {
			if _, gone := (Index{Tags: remove}).find(t.Key); !gone {
				left = append(left, t)
			}
		}
		return left
	})
}

// Tagged is the outcome of a change: all tags of the viewer on the item.
type Tagged struct {
	Item     score.ItemRequest // with the proof that the viewer may read the item
	Readable bool              // the viewer may, still
	Tags     []ItemTag
}

// change changes the viewer's tags on an item, and returns all of them.
func (s *Service) change(ctx context.Context, mutation string, ref score.ItemRef, key *string, input any, change func([]Tag) []Tag) (Tagged, error) {
	author := viewer.From(ctx).UserID
	if author == "" {
		return Tagged{}, fault.New(fault.Unauthenticated, "sign up first: createUser")
	}
	of := Key{ref, author}
	request := idempotency.Request{Viewer: string(author), Mutation: mutation, Key: key, Input: input}
	return idempotency.Do(ctx, idempotency.Guard{Store: s.Store, Now: s.Now}, request, func(ctx context.Context, once idempotency.Key) (Tagged, error) {
		after, err := s.edit(ctx, of, once.With(string(ref.ID)), change)
		if err != nil {
			return Tagged{}, err
		}
		return s.shownTags(ctx, after)
	}, func(ctx context.Context, _ []string) (Tagged, error) { return s.own(ctx, of) })
}

// own returns the viewer's tags on an item.
func (s *Service) own(ctx context.Context, of Key) (Tagged, error) {
	set, err := first(s.Store.FindSets(ctx, []Key{of}))
	if err != nil {
		return Tagged{}, err
	}
	if set.Version == "" {
		if set.Via, err = s.viaOf(ctx, of.Item); err != nil {
			return Tagged{}, err
		}
	}
	return s.shownTags(ctx, set)
}

func (s *Service) viaOf(ctx context.Context, ref score.ItemRef) (score.ID, error) {
	in, err := s.via(ctx, ref, "")
	return in.ID, err
}

// shownTags returns the tags of a set of the viewer with the proof that the viewer may read the item.
func (s *Service) shownTags(ctx context.Context, set Set) (Tagged, error) {
	request, found, err := s.readable(ctx, set.Item, set.Via)
	if err != nil || !found {
		return Tagged{}, err
	}
	return Tagged{Item: request, Readable: true, Tags: shown(set, request, set.Author)}, nil
}

// readable returns the item as the viewer may read it: as its owner, or as a page of the public score.
func (s *Service) readable(ctx context.Context, ref score.ItemRef, via score.ID) (request score.ItemRequest, found bool, err error) {
	if viewer.From(ctx).Is(ref.Owner) {
		return score.AnItem(ref), true, nil
	}
	if via == "" {
		return request, false, nil
	}
	in, err := first(s.Scores.ListByID(ctx, []score.Ref{{Owner: ref.Owner, ID: via}}))
	if fault.Is(err, fault.NotFound) {
		return request, false, nil
	}
	if err != nil {
		return request, false, err
	}
	request, found = pageOf(in, ref)
	return request, found, nil
}

// edit reads the set, and what its rows depend on, and keeps what change makes of it; again when somebody else was faster.
func (s *Service) edit(ctx context.Context, of Key, once idempotency.Key, change func([]Tag) []Tag) (Set, error) {
	for range attempts {
		before, err := first(s.Store.FindSets(ctx, []Key{of}))
		if err != nil {
			return Set{}, err
		}
		via, err := s.via(ctx, of.Item, before.Via)
		if err != nil {
			return Set{}, err
		}
		if via.ID == "" && of.Author != of.Item.Owner {
			return Set{}, noItem() // after the same calls whether or not there is one
		}
		after, proof, err := s.current(ctx, before, via)
		if err != nil {
			return Set{}, err
		}
		after.Tags = change(before.Tags)
		kept, err := s.Store.PutSet(ctx, before, after, proof, once)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err == nil && kept.Counted != nil {
			_ = s.followItem(ctx, of.Item) // the task does it otherwise
		}
		return kept, err
	}
	return Set{}, fault.New(fault.Conflict, "somebody else changes the tags of this item again and again")
}

// current returns the set as it has to be now that the item and the layout are as they are and the score shows the item, the zero Score
// for none; and what that relies on. NotFound when there is no such item.
func (s *Service) current(ctx context.Context, set Set, via score.Score) (Set, Proof, error) {
	i, err := first(s.Kept.ItemsByID(ctx, []score.ItemRef{set.Item}))
	if err != nil {
		return Set{}, Proof{}, err
	}
	layout, err := s.currentLayout()
	if err != nil {
		return Set{}, Proof{}, err
	}
	set.SetName, set.Via, set.Shards, set.Version = i.SetName, via.ID, layout.written(), s.NewID()
	return set, Proof{Item: true, SetName: i.SetName, Version: via.Version}, nil
}

// first returns the one result of a list of one.
func first[T any](values []T, errs []error) (T, error) {
	if len(errs) > 0 && errs[0] != nil {
		var zero T
		return zero, errs[0]
	}
	return values[0], nil
}
