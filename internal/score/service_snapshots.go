package score

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
)

// CreateSnapshot is the input of [Service.CreateSnapshot].
type CreateSnapshot struct {
	Score          Ref
	Name           string
	IdempotencyKey *string `json:"-"`
}

// CreateSnapshot keeps a score of the viewer as it is. It returns [ErrNameTaken] and [ErrTooManySnapshots] as expected outcomes.
func (s *Service) CreateSnapshot(ctx context.Context, in CreateSnapshot) (Snapshot, error) {
	name, err := parseName(in.Name)
	if err != nil {
		return Snapshot{}, err
	}
	return once(ctx, s, "createSnapshot", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Snapshot, error) {
		// An item is unknown when a page went, and then its item, or when others see the score meanwhile: the score is read again.
		return domain.Edit[*UnknownItem](retry.Until(ctx), thisScore, func() (Score, error) { return s.get(ctx, in.Score) },
			func(of Score) (Snapshot, error) { return s.take(ctx, of, name, key) })
	}, s.rereadSnapshot)
}

// take takes a snapshot: the intent first, the content next, what is told of it last. What does not come so far is taken back, by
// us or by the task of the intent.
func (s *Service) take(ctx context.Context, of Score, name string, key idempotency.Key) (Snapshot, error) {
	of, content, err := s.contentOf(ctx, of)
	if err != nil {
		return Snapshot{}, err
	}
	now := domain.Later(s.o.Now, time.Time{})
	made := Snapshot{SnapshotID: SnapshotID{of.Ref, s.o.NewID()}, Name: name, CreatedAt: now, UpdatedAt: now, Version: of.Version, shown: true}
	intent, err := s.o.Store.BeginSnapshot(ctx, made, of.Items())
	if err != nil {
		if fault.Is(err, fault.Unavailable) { // it may have been recorded
			s.takeBack(ctx, made.SnapshotID)
		}
		return Snapshot{}, err
	}
	if err = s.keep(ctx, made.SnapshotID, content); err == nil {
		err = s.o.Store.CommitSnapshot(ctx, of, made, intent, key.With(string(of.Owner), string(of.ID), made.ID))
	}
	if err != nil {
		s.takeBack(ctx, made.SnapshotID)
		return Snapshot{}, err
	}
	return made, nil
}

// takeBack removes what was prepared of a snapshot, unless it exists. The task does it otherwise; but what was put into S3 after
// the task had done so, only we know of.
func (s *Service) takeBack(ctx context.Context, id SnapshotID) {
	ctx, cancel := detached(ctx)
	defer cancel()
	i, left, err := s.o.Store.EndIntent(ctx, id.Score, id.ID)
	switch {
	case err != nil:
	case left:
		_ = s.settleIntent(ctx, i)
	default:
		if _, err := domain.First(s.o.Store.SnapshotsByID(ctx, []SnapshotID{id})); fault.Is(err, fault.NotFound) {
			_ = s.o.Contents.Delete(ctx, SnapshotKey(id))
		}
	}
}

func (s *Service) rereadSnapshot(ctx context.Context, result []string) (Snapshot, error) {
	of, err := domain.First(guarded(ctx, s.o.Store, Ref{UserID(result[0]), ID(result[1])}))
	if err != nil {
		return domain.Gone(Snapshot{}, err)
	}
	return domain.Gone(s.snapshot(ctx, of, result[2]))
}

// RenameSnapshot is the input of [Service.RenameSnapshot].
type RenameSnapshot struct {
	Snapshot       SnapshotID
	Name           string
	IdempotencyKey *string `json:"-"`
}

// RenameSnapshot renames a snapshot of the viewer. It returns [ErrNameTaken] as an expected outcome.
func (s *Service) RenameSnapshot(ctx context.Context, in RenameSnapshot) (Snapshot, error) {
	name, err := parseName(in.Name)
	if err != nil {
		return Snapshot{}, err
	}
	return once(ctx, s, "renameSnapshot", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Snapshot, error) {
		return s.editSnapshot(ctx, in.Snapshot, func(of Score, before Snapshot) (Snapshot, error) {
			after := before
			if after.Name != name {
				after.Name, after.UpdatedAt = name, domain.Later(s.o.Now, before.UpdatedAt)
			}
			id := before.SnapshotID
			return after, s.o.Store.RenameSnapshot(ctx, of, before, after, key.With(string(id.Score.Owner), string(id.Score.ID), id.ID))
		})
	}, s.rereadSnapshot)
}

// DeleteSnapshot is the input of [Service.DeleteSnapshot].
type DeleteSnapshot struct {
	Snapshot       SnapshotID
	IdempotencyKey *string `json:"-"`
}

// DeleteSnapshot deletes a snapshot of the viewer.
func (s *Service) DeleteSnapshot(ctx context.Context, in DeleteSnapshot) error {
	_, err := once(ctx, s, "deleteSnapshot", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Snapshot, error) {
		return s.editSnapshot(ctx, in.Snapshot, func(of Score, before Snapshot) (Snapshot, error) {
			id := before.SnapshotID
			left, err := s.o.Store.DeleteSnapshot(ctx, of, before, key.With(string(id.Score.Owner), string(id.Score.ID), id.ID))
			if err == nil {
				s.settleSoon(ctx, left)
			}
			return before, err
		})
	}, func(context.Context, []string) (Snapshot, error) { return Snapshot{}, nil })
	return err
}

// editSnapshot reads a snapshot of the viewer and lets store change it, again when it was renamed meanwhile.
func (s *Service) editSnapshot(ctx context.Context, id SnapshotID, store func(Score, Snapshot) (Snapshot, error)) (Snapshot, error) {
	var of Score
	return domain.Edit[*SnapshotConflict](retry.Until(ctx), thisScore, func() (Snapshot, error) {
		var err error
		if of, err = s.get(ctx, id.Score); err != nil {
			if fault.Is(err, fault.NotFound) {
				err = snapshotNotFound()
			}
			return Snapshot{}, err
		}
		before, err := domain.First(s.o.Store.SnapshotsByID(ctx, []SnapshotID{id}))
		before.shown = err == nil
		return before, err
	}, func(before Snapshot) (Snapshot, error) { return store(of, before) })
}

// Restore is the input of [Service.Restore].
type Restore struct {
	Snapshot        SnapshotID
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Restore makes the content of a snapshot that of the score again. Access stays as it is, and so do the snapshots. It returns
// *[VersionConflict] as an expected outcome. NotFound when the snapshot is gone, or is deleted meanwhile.
func (s *Service) Restore(ctx context.Context, in Restore) (Score, error) {
	return once(ctx, s, "restoreSnapshot", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Score, error) {
		of, err := s.get(ctx, in.Snapshot.Score)
		if err != nil {
			return Score{}, err
		}
		at, err := s.snapshot(ctx, of, in.Snapshot.ID)
		if err != nil {
			return Score{}, err
		}
		content, err := s.contentAt(ctx, at.SnapshotID)
		if err != nil {
			return Score{}, err
		}
		restored, err := s.rewrite(ctx, of.Ref, in.ExpectedVersion, key, func(d *draft) error {
			d.Title, d.Pages, d.Annotations, d.DescriptionHash = content.Title, content.Pages, nil, ""
			if content.Description != "" {
				t := NewText(DescriptionText, content.Description)
				d.texts[TextID{d.Ref, t.Kind, t.Hash}], d.DescriptionHash = t.Text, t.Hash
			}
			for _, text := range content.Annotations {
				t := NewText(AnnotationText, text)
				d.texts[TextID{d.Ref, t.Kind, t.Hash}] = t.Text
				d.Annotations = append(d.Annotations, t.Hash)
			}
			return nil
		})
		if _, unknown := errors.AsType[*UnknownItem](err); unknown { // the snapshot kept it until now
			err = snapshotNotFound()
		}
		return restored, err
	}, s.reread)
}

// settleWithin bounds what is done about an intent right after the change, while its caller waits: so long, or half the time that
// the caller still has, if that is more. The task does the rest.
const settleWithin = 3 * time.Second

func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	bound := settleWithin
	if deadline, ok := ctx.Deadline(); ok {
		bound = max(bound, time.Until(deadline)/2)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), bound)
}

// settleSoon removes what is left of something that was deleted. What it does not get done, the task does.
func (s *Service) settleSoon(ctx context.Context, i Intent) {
	ctx, cancel := detached(ctx)
	defer cancel()
	_ = s.settleIntent(ctx, i)
}

// Settle is the handler of [SettleIntent]: it takes back what was prepared and not committed, and removes what is left of what is
// gone. Every step can be run again.
func (s *Service) Settle(ctx context.Context, t task.Task) (again time.Time, err error) {
	of, id, ok := IntentOf(t)
	if !ok {
		return time.Time{}, fault.New(fault.Internal, "this is no task of a score: %s %q", t.Kind, t.ID)
	}
	return time.Time{}, s.settle(ctx, of, id)
}

func (s *Service) settle(ctx context.Context, of Ref, id string) error {
	i, left, err := s.o.Store.EndIntent(ctx, of, id)
	if err != nil || !left {
		return err
	}
	return s.settleIntent(ctx, i)
}

// settleIntent removes uses of items first, so that nothing used is without its content, the content next, and the intent
// last, so that it can be run again.
func (s *Service) settleIntent(ctx context.Context, i Intent) error {
	if i.Kind == Showing {
		if s.follower != nil {
			if err := s.follower.FollowItems(ctx, i.Items, i.Score.ID); err != nil {
				return err
			}
		}
		return s.o.Store.ForgetIntent(ctx, i)
	}
	if i.Kind == Deleting {
		snapshots, err := s.o.Store.ListIntents(ctx, i.Score)
		if err != nil {
			return err
		}
		for _, one := range snapshots {
			if err := s.settleIntent(ctx, one); err != nil {
				return err
			}
		}
	}
	if err := s.o.Store.ReleaseIntent(ctx, i); err != nil {
		return err
	}
	if i.Kind == Snapshotting {
		if err := s.o.Contents.Delete(ctx, SnapshotKey(i.Snapshot())); err != nil {
			return err
		}
	}
	return s.o.Store.ForgetIntent(ctx, i)
}
