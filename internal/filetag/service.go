package filetag

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Service carries out what may be asked about tags on items.
type Service struct {
	Options
	turns  retry.Turns
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
	// Projects shows items of projects; without it the files of projects are tagged by their owners only.
	Projects Projects
	Now      func() time.Time
	NewID    func() string // makes UUIDs
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

// Projects shows items of projects to the viewer.
type Projects interface {
	// ItemsByID returns the item or the error of each, in the order of refs; NotFound for what the viewer may not read.
	ItemsByID(ctx context.Context, refs []project.Ref[project.ItemID]) ([]project.Item, []error)
	// FirstShown returns the first of the items that the viewer may read and that counts; false for none.
	FirstShown(ctx context.Context, ids []project.ItemID, counts func(project.Item) bool) (project.Item, bool, error)
}

// Kept tells which items and scores there are. It sees every acknowledged write.
type Kept struct {
	Items interface {
		ItemsByID(ctx context.Context, refs []score.ItemRef) ([]score.Item, []error)
		ListUsesOf(ctx context.Context, requests []score.UsesRequest) ([]page.Slice[score.Use], []error)
	}
	Scores interface {
		ScoresByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error)
		ArePublic(ctx context.Context, refs []score.Ref) ([]bool, []error)
	}
}

// NewService returns a service.
func NewService(o Options) *Service { return &Service{Options: o} }

// PutTags is the input of [Service.PutTags].
type PutTags struct {
	Item           score.ItemRef
	Tags           []NewTag
	IdempotencyKey *string `json:"-"`
}

// PutTags makes these the viewer's tags on an item, and no others. NotFound when the viewer may not read the item: who does not own it
// may put tags on it while everybody may read it, or a project shows it, and take them off for as long as there is the item. Only the owner is told to which
// score an item was uploaded, and has to name that.
func (s *Service) PutTags(ctx context.Context, in PutTags) (Tagged, error) {
	tags, err := parse("input.tags", in.Tags)
	if err != nil {
		return Tagged{}, err
	}
	return s.change(ctx, "setItemTags", Key{Item: in.Item}, in.IdempotencyKey, in, func([]Tag) []Tag { return tags })
}

// RemoveTags is the input of [Service.RemoveTags].
type RemoveTags struct {
	Item           score.ItemRef
	Author         UserID // "" for the viewer; another for the owner of the item
	Tags           []string
	IdempotencyKey *string `json:"-"`
}

// RemoveTags takes tags off an item: the viewer's, or public ones of others by its owner; what is not on it is ignored. Faults as for
// [Service.PutTags].
func (s *Service) RemoveTags(ctx context.Context, in RemoveTags) (Tagged, error) {
	if len(in.Tags) == 0 {
		return Tagged{}, fault.Invalidf("input.tags", "give 1 to %d tags", MaxTags)
	}
	tags := make([]NewTag, len(in.Tags))
	for i, value := range in.Tags {
		tags[i].Value = value
	}
	remove, err := parse("input.tags", tags)
	if err != nil {
		return Tagged{}, err
	}
	others := in.Author != "" && !viewer.From(ctx).Is(in.Author)
	return s.change(ctx, "removeItemTags", Key{in.Item, in.Author}, in.IdempotencyKey, in, func(tags []Tag) (left []Tag) {
		for _, t := range tags {
			if _, gone := find(remove, t.Key); !gone || others && !t.Public {
				left = append(left, t)
			}
		}
		return left
	})
}

// Tagged is the outcome of a change: all tags of the author on the item that the viewer may see.
type Tagged struct {
	Item     score.ItemRequest // with the proof that the viewer may read the item
	Readable bool              // the viewer may, still
	Tags     []ItemTag
}

// change changes the tags of an author on an item, of the viewer where none is named, and returns all of them.
func (s *Service) change(ctx context.Context, mutation string, of Key, key *string, input any, change func([]Tag) []Tag) (Tagged, error) {
	me := viewer.From(ctx).UserID
	switch {
	case me == "":
		return Tagged{}, domain.SignUpFirst()
	case of.Author == "":
		of.Author = me
	case of.Author != me && of.Item.Owner != me:
		return Tagged{}, noItem()
	}
	request := idempotency.Request{Viewer: string(me), Mutation: mutation, Key: key, Input: input}
	return idempotency.Do(ctx, idempotency.Guard{Store: s.Store, Now: s.Now}, request, func(ctx context.Context, once idempotency.Key) (Tagged, error) {
		after, err := s.edit(ctx, of, once.With(string(of.Item.ID)), change)
		if err != nil {
			return Tagged{}, err
		}
		return s.shownTags(ctx, after)
	}, func(ctx context.Context, _ []string) (Tagged, error) { return s.found(ctx, of) })
}

// found returns the tags of an author on an item.
func (s *Service) found(ctx context.Context, of Key) (Tagged, error) {
	set, err := domain.First(s.Store.FindSets(ctx, []Key{of}))
	if err != nil {
		return Tagged{}, err
	}
	if set.Version == "" {
		via, err := s.via(ctx, of.Item)
		if err != nil {
			return Tagged{}, err
		}
		set.Item, set.Via = placed(ctx, of.Item, via), via.ID
	}
	return s.shownTags(ctx, set)
}

// placed returns where the item is that the viewer means: who does not own it is not told, but the score that shows it knows.
func placed(ctx context.Context, ref score.ItemRef, via score.Score) score.ItemRef {
	if page, is := pageOf(via, ref); is && !viewer.From(ctx).Is(ref.Owner) {
		return page.ItemRef
	}
	return ref
}

// shownTags returns the tags of a set with the proof that the viewer may read the item.
func (s *Service) shownTags(ctx context.Context, set Set) (Tagged, error) {
	request, found, err := s.readable(ctx, set.Item, set.Via)
	if err != nil {
		return Tagged{}, err
	}
	if !found {
		request = score.AnItem(set.Item)
	}
	return Tagged{Item: request, Readable: found, Tags: shown(set, request, viewer.From(ctx).UserID)}, nil
}

// readable returns the item as the viewer may read it: as its owner, as a page of the public score, or through a project.
func (s *Service) readable(ctx context.Context, ref score.ItemRef, via score.ID) (request score.ItemRequest, found bool, err error) {
	if viewer.From(ctx).Is(ref.Owner) {
		return score.AnItem(ref), true, nil
	}
	if via == "" {
		return s.inProject(ctx, ref)
	}
	in, err := domain.First(s.Scores.ListByID(ctx, []score.Ref{{Owner: ref.Owner, ID: via}}))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return request, false, err
	}
	if request, found = pageOf(in, ref); found {
		return request, true, nil
	}
	return s.inProject(ctx, ref)
}

// edit reads the set, and what its rows depend on, and keeps what change makes of it; again when somebody else was faster.
func (s *Service) edit(ctx context.Context, of Key, once idempotency.Key, change func([]Tag) []Tag) (Set, error) {
	for range s.turns.Until(ctx, string(of.Author)+" "+string(of.Item.ID)) {
		before, err := domain.First(s.Store.FindSets(ctx, []Key{of}))
		if err != nil {
			return Set{}, err
		}
		via, err := s.via(ctx, of.Item, before.Via)
		if err != nil {
			return Set{}, err
		}
		if before.Version == "" {
			before.Item = placed(ctx, of.Item, via)
		}
		tags := change(before.Tags)
		mayNot := !viewer.From(ctx).Is(of.Item.Owner) && !(before.Version != "" && fewer(before.Tags, tags))
		shown := false // by a project
		if via.ID == "" && mayNot {
			var request score.ItemRequest
			if request, shown, err = s.inProject(ctx, of.Item); err != nil {
				return Set{}, err
			}
			if !shown {
				return Set{}, noItem() // after the same calls whether or not there is one
			}
			before.Item = request.ItemRef
		}
		stands, err := s.stands(ctx, before.Item, via)
		if err == nil && (!stands.Item || stands.withdrawn && mayNot || stands.via == "" && mayNot && !shown) {
			err = noItem()
		}
		if err != nil {
			return Set{}, err
		}
		after := s.standing(before, stands)
		after.Tags = tags
		if after.Via == "" && slices.ContainsFunc(tags, func(t Tag) bool { return t.Public }) {
			stands.Task = score.Following(after.Item, s.instant().Add(task.Lease))
		}
		if stands.Imported && !slices.Equal(before.Found(), after.Found()) {
			stands.Placing = score.FollowingUses(string(after.Item.ID)+"-"+after.Version, s.instant().Add(task.Lease), after.Item)
		}
		kept, err := s.Store.PutSet(ctx, before, after, stands.Proof, once)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			return Set{}, err
		}
		kept.Via = after.Via // where there was nothing to change, too
		s.placeNow(ctx, kept.Key, stands.Placing)
		return s.settled(ctx, kept, stands.Task), nil
	}
	return Set{}, retry.Busy("the tags of this item")
}

// fewer reports whether all of the tags were among those before.
func fewer(before, after []Tag) bool {
	return !slices.ContainsFunc(after, func(t Tag) bool { return !slices.Contains(before, t) })
}

// settled does what a change of a set may have left to do: counts that had to wait, and a score that became public while the set was
// written as one that nobody else may see. What it does not get done the task does.
func (s *Service) settled(ctx context.Context, kept Set, again task.Task) Set {
	if again.ID == "" && kept.Counted == nil {
		return kept
	}
	via, err := s.via(ctx, kept.Item, kept.Via)
	if err == nil && (via.ID != kept.Via || kept.Counted != nil) {
		var now Set
		if now, err = s.followSet(ctx, kept, via.ID); err == nil {
			kept = now
		}
	}
	if err == nil && again.ID != "" {
		_ = s.Store.ForgetTask(ctx, again) // it finds nothing to do
	}
	return kept
}

// stands is how things are on which the rows of a set depend.
type stands struct {
	Proof
	via       score.ID
	shards    int
	at        time.Time // when they were read
	withdrawn bool
}

// stands reads how things are, given the score that shows the item, the zero Score for none. Of an item that is gone there is no proof.
func (s *Service) stands(ctx context.Context, ref score.ItemRef, via score.Score) (stands, error) {
	at := s.Now()
	layout, err := s.currentLayout()
	if err != nil {
		return stands{}, err
	}
	i, err := domain.First(s.Kept.Items.ItemsByID(ctx, []score.ItemRef{ref}))
	if fault.Is(err, fault.NotFound) {
		return stands{at: at}, nil
	}
	withdrawn := !i.Withdrawn.IsZero()
	if withdrawn {
		via = score.Score{} // it shows nobody the item
	}
	return stands{Proof{Item: true, SetName: i.SetName, Version: via.Version, Imported: i.Imported}, via.ID, layout.written(), at, withdrawn}, err
}

// standing returns the set as it has to be as things stand; of an item that is gone it is empty.
func (s *Service) standing(set Set, is stands) Set {
	set.Version = s.NewID()
	if !is.Item {
		set.Tags = nil
		return set
	}
	set.SetName, set.Via, set.Shards = is.SetName, is.via, is.shards
	return set
}
