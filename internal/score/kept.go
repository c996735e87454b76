package score

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// Kept says that a user keeps a score of another user.
type Kept struct {
	Score Ref
	At    time.Time
}

// Keeping keeps which scores of others users keep. Each change is atomic and records the idempotency key with the effect; it returns
// *idempotency.Replayed when the key was used before.
type Keeping interface {
	// KeepScore lets a user keep a score, and leaves one that is kept already as it is. Whether the score exists and may be read is for the
	// service to say. Exhausted beyond [MaxKept].
	KeepScore(ctx context.Context, by UserID, k Kept, once idempotency.Key) error
	// DropScore ends that, if it is so.
	DropScore(ctx context.Context, by UserID, dropped Ref, once idempotency.Key) error
	// ListKept lists the scores that a user keeps, the one that was kept last first. It sees every acknowledged write.
	ListKept(ctx context.Context, by UserID, w page.Window) (page.Slice[Kept], error)
}

// ChangeKept is the input of [Service.Keep] and [Service.Drop].
type ChangeKept struct {
	Score          Ref
	IdempotencyKey *string `json:"-"`
}

// Keep lets the viewer keep a score of another user, and returns the score; the zero Score when an earlier request did so, and the viewer may not read
// it any more. A score that is kept already stays where it is in the list. NotFound for a score that the viewer may not read, Exhausted beyond [MaxKept].
func (s *Service) Keep(ctx context.Context, in ChangeKept) (Score, error) {
	self, err := others(ctx, in.Score)
	if err != nil {
		return Score{}, err
	}
	return once(ctx, s, "keepScore", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Score, error) {
		kept, err := domain.First(guarded(ctx, s.o.Store, in.Score))
		if err != nil {
			return Score{}, err
		}
		k := Kept{Score: in.Score, At: domain.Later(s.o.Now, time.Time{})}
		return kept, s.o.Store.KeepScore(ctx, self, k, key.With(string(in.Score.Owner), string(in.Score.ID)))
	}, s.reread)
}

// Drop ends that the viewer keeps a score, whether it still exists or not. A score that is not kept is left alone.
func (s *Service) Drop(ctx context.Context, in ChangeKept) error {
	self, err := others(ctx, in.Score)
	if err != nil {
		return err
	}
	_, err = once(ctx, s, "dropScore", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (struct{}, error) {
		return struct{}{}, s.o.Store.DropScore(ctx, self, in.Score, key)
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}

// others returns the viewer, whose score this is not.
func others(ctx context.Context, ref Ref) (UserID, error) {
	self, err := domain.Self(ctx)
	if err == nil && ref.Owner == self {
		err = fault.Invalidf("input.scoreId", "this is a score of your own")
	}
	return self, err
}

// ListKept lists the scores that the viewer keeps, the one that was kept last first. Those that the viewer may not read any more are among them.
// Forbidden for everybody else.
func (s *Service) ListKept(ctx context.Context, by UserID, w page.Window) (page.Slice[Kept], error) {
	if !viewer.From(ctx).Is(by) {
		return page.Slice[Kept]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListKept(ctx, by, w)
}
