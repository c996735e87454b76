package score

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

// Service carries out what may be asked about scores and snapshots.
type Service struct {
	o        Options
	shows    Reader              // what is shown; changes begin with what the store has
	reading  *semaphore.Weighted // see [readingBytes]
	follower Follower            // or nil; see [Service.Telling]
	turns    *retry.Turns
}

// Options says what a [Service] works with. Store, Now and NewID are needed.
type Options struct {
	Store    Store
	Contents Contents // of snapshots
	Now      func() time.Time
	NewID    func() string // makes UUIDs
}

// NewService returns a service.
func NewService(o Options) *Service {
	return &Service{o: o, shows: o.Store, reading: semaphore.NewWeighted(readingBytes), turns: &retry.Turns{}}
}

// Showing returns the service that shows scores as another view of the same store has them, one that leaves out what the caller
// does not need. Changes never begin with these.
func (s *Service) Showing(view Reader) *Service {
	with := *s
	with.shows = view
	return &with
}

// readable reports whether the viewer may read the score.
func readable(ctx context.Context, s Score) bool {
	return s.Access == Limited || s.Access == Public || viewer.From(ctx).Is(s.Owner)
}

// guard gives the scores that the viewer may read the proof of it, and NotFound to the others: this is the one guard of
// scores.
func guard(ctx context.Context, scores []Score, errs []error) ([]Score, []error) {
	for i := range scores {
		switch {
		case errs != nil && errs[i] != nil:
		case readable(ctx, scores[i]):
			scores[i].shown = true
			if !viewer.From(ctx).Is(scores[i].Owner) {
				scores[i].shownFrom = scores[i].ShownFrom
				scores[i].Snapshots = max(scores[i].Snapshots-scores[i].Hidden, 0)
			}
		default:
			if errs == nil {
				errs = make([]error, len(scores))
			}
			scores[i], errs[i] = Score{}, notFound()
		}
	}
	return scores, errs
}

// ListByID returns the score or the error of each, in the order of refs. What the viewer may not read is NotFound.
func (s *Service) ListByID(ctx context.Context, refs []Ref) ([]Score, []error) {
	scores, errs := s.shows.ScoresByID(ctx, refs)
	return guard(ctx, scores, errs)
}

// get returns the score to its owner, with everything in it: NotFound for who may not read it, Forbidden for who may.
func (s *Service) get(ctx context.Context, ref Ref) (Score, error) { return mine(ctx, s.o.Store, ref) }

func mine(ctx context.Context, from Finder, ref Ref) (Score, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Score{}, err
	}
	found, err := domain.First(guarded(ctx, from, ref))
	if err == nil && !viewer.From(ctx).Is(found.Owner) {
		err = fault.New(fault.Forbidden, "only the owner of the score may do this")
	}
	return found, err
}

func guarded(ctx context.Context, from Finder, ref Ref) ([]Score, []error) {
	scores, errs := from.ScoresByID(ctx, []Ref{ref})
	return guard(ctx, scores, errs)
}

// List lists the scores of a user by id: all of them for the user, the public ones for others.
func (s *Service) List(ctx context.Context, owner UserID, w page.Window) (page.Slice[Score], error) {
	slice, err := s.shows.ListScores(ctx, owner, !viewer.From(ctx).Is(owner), w)
	slice.Items, _ = guard(ctx, slice.Items, nil)
	return slice, err
}

// ListPublic lists the public scores of a user by id.
func (s *Service) ListPublic(ctx context.Context, owner UserID, w page.Window) (page.Slice[Score], error) {
	slice, err := s.shows.ListScores(ctx, owner, true, w)
	slice.Items, _ = guard(ctx, slice.Items, nil)
	return slice, err
}

// Count returns how many scores the user has. Forbidden for everybody else.
func (s *Service) Count(ctx context.Context, owner UserID) (int, error) {
	if !viewer.From(ctx).Is(owner) {
		return 0, fault.New(fault.Forbidden, "only the user may see this")
	}
	return domain.First(s.shows.CountScores(ctx, []UserID{owner}))
}

// allowed reads what was shown of the keys and has none() for the others. There are as many errors as keys.
func allowed[K, V any](keys []K, was func(K) shown, none func() error, read func([]K) ([]V, []error)) ([]V, []error) {
	values, errs := domain.Allowed(keys, func(key K) error {
		if !was(key) {
			return none()
		}
		return nil
	}, read)
	if errs == nil {
		errs = make([]error, len(keys))
	}
	return values, errs
}

// Texts returns texts of scores that the viewer was shown, in the order of requests; NotFound for others, Unavailable for a text
// that went because the score has changed since.
func (s *Service) Texts(ctx context.Context, requests []TextRequest) ([]string, []error) {
	return allowed(requests, func(r TextRequest) shown { return r.shown }, notFound, func(requests []TextRequest) ([]string, []error) {
		ids := make([]TextID, len(requests))
		for i, r := range requests {
			ids[i] = r.TextID
		}
		texts, errs := s.shows.TextsByID(ctx, ids)
		for i, err := range errs {
			if fault.Is(err, fault.NotFound) {
				errs[i] = fault.New(fault.Unavailable, "the score has changed while it was read; ask again")
			}
		}
		return texts, errs
	})
}

// ListSnapshots lists the snapshots of scores that the viewer was shown, as far as they are not the owner's alone, the newest first; NotFound for
// others.
func (s *Service) ListSnapshots(ctx context.Context, requests []SnapshotsRequest) ([][]Snapshot, []error) {
	return allowed(requests, func(r SnapshotsRequest) shown { return r.shown }, notFound, func(requests []SnapshotsRequest) ([][]Snapshot, []error) {
		refs := make([]Ref, len(requests))
		for i, r := range requests {
			refs[i] = r.Score
		}
		lists, errs := s.shows.ListSnapshotsOf(ctx, refs)
		for n, list := range lists {
			lists[n] = slices.DeleteFunc(list, func(s Snapshot) bool { return s.Version < requests[n].from })
			for i := range lists[n] {
				lists[n][i].shown = true
			}
		}
		return lists, errs
	})
}

// SnapshotsByID returns snapshots of scores that the viewer was shown; NotFound for others, and for those that are the owner's alone.
func (s *Service) SnapshotsByID(ctx context.Context, requests []SnapshotRequest) ([]Snapshot, []error) {
	snapshots, errs := allowed(requests, func(r SnapshotRequest) shown { return r.shown }, snapshotNotFound, func(requests []SnapshotRequest) ([]Snapshot, []error) {
		ids := make([]SnapshotID, len(requests))
		for i, r := range requests {
			ids[i] = r.SnapshotID
		}
		return s.shows.SnapshotsByID(ctx, ids)
	})
	for i := range snapshots {
		if errs[i] == nil && snapshots[i].Version < requests[i].from {
			snapshots[i], errs[i] = Snapshot{}, snapshotNotFound()
		}
		snapshots[i].shown = errs[i] == nil
	}
	return snapshots, errs
}

// snapshot returns a snapshot of a score that the viewer was shown.
func (s *Service) snapshot(ctx context.Context, of Score, id string) (Snapshot, error) {
	return domain.First(s.SnapshotsByID(ctx, []SnapshotRequest{of.Snapshot(id)}))
}

// once runs a mutation of the viewer at most once per idempotency key.
func once[T any](ctx context.Context, s *Service, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	return domain.Once(ctx, idempotency.Guard{Store: s.o.Store, Now: s.o.Now}, mutation, key, input, effect, reread)
}

// thisScore is what others change when a change of the viewer is not let through.
const thisScore = "this score"

// edit reads the score, lets store make and keep its next state, and starts again when somebody else was faster; *[VersionConflict] when
// the caller expected another version. It returns the score after the change.
func (s *Service) edit(ctx context.Context, ref Ref, expected *int, store func(before Score) (Score, error)) (Score, error) {
	return domain.Edit[*VersionConflict](s.turns.Until(ctx, string(ref.Owner)+" "+string(ref.ID)), thisScore, func() (Score, error) {
		before, err := s.get(ctx, ref)
		if err == nil && expected != nil && *expected != before.Version {
			err = &VersionConflict{Current: before}
		}
		return before, err
	}, store)
}

// contentOf returns everything that a snapshot keeps of the score as it is, and the score. Texts go when the score changes: then
// it is read again.
func (s *Service) contentOf(ctx context.Context, of Score) (Score, Content, error) {
	for range retry.Until(ctx) {
		c, err := s.withTexts(ctx, of)
		if !fault.Is(err, fault.NotFound) {
			return of, c, err
		}
		changed, err := domain.First(guarded(ctx, s.o.Store, of.Ref))
		if err != nil {
			return of, c, err
		}
		of = changed
	}
	return of, Content{}, fault.New(fault.Unavailable, "the score changes while it is read; try again")
}

// withTexts returns the content of the score, or NotFound when a text is gone.
func (s *Service) withTexts(ctx context.Context, of Score) (Content, error) {
	ids := of.texts()
	texts, errs := s.o.Store.TextsByID(ctx, ids)
	byID := make(map[TextID]string, len(ids))
	for i, id := range ids {
		if errs != nil && errs[i] != nil {
			return Content{}, errs[i]
		}
		byID[id] = texts[i]
	}
	c := Content{Title: of.Title, Pages: of.Pages, Annotations: make([]string, len(of.Annotations))}
	c.Description = byID[TextID{of.Ref, DescriptionText, of.DescriptionHash}]
	for i, hash := range of.Annotations {
		c.Annotations[i] = byID[TextID{of.Ref, AnnotationText, hash}]
	}
	return c, nil
}
