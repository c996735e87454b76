package score

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// Sweep removes the bytes that belong to no item: those of uploads that were never completed or were aborted, and of items that
// were deleted. It handles tasks of the kind [SweepItem], and can be stopped and run again at any step.
func (s *Items) Sweep(ctx context.Context, t task.Task) (again time.Time, err error) {
	again, err = s.sweep(ctx, swept(t))
	if err != nil {
		return time.Time{}, fmt.Errorf("sweep item %s: %w", t.ID, err)
	}
	return again, nil
}

func (s *Items) sweep(ctx context.Context, ref ItemRef) (again time.Time, err error) {
	u, found, err := s.store.FindUpload(ctx, ref)
	if err != nil {
		return time.Time{}, err
	}
	if found && u.State == UploadOpen {
		if s.now().Before(u.ExpiresAt) {
			return u.ExpiresAt, nil
		}
		// Whoever is completing it right now finds it closed, or completed it before.
		if err := s.store.CloseUpload(ctx, u, nil, idempotency.Key{}); err != nil && !errors.Is(err, ErrUploadOver) {
			return time.Time{}, err
		}
		return s.sweep(ctx, ref)
	}
	last := u.forgotten()
	occupied := found && !u.Signed.IsZero() && s.now().Before(last)
	if err := s.remove(ctx, ref, occupied); err != nil || !found {
		return time.Time{}, err
	}
	if u.writable(s.now()) {
		return u.Signed.Add(clockMargin), nil
	}
	if u.Claim > 0 {
		if err := s.store.ReleaseUpload(ctx, u); err != nil {
			return time.Time{}, err
		}
	}
	// A request that was signed before may still be putting bytes there, and who completes the upload may be copying them.
	if s.now().Before(last) {
		return last, nil
	}
	return time.Time{}, s.store.ForgetUpload(ctx, ref)
}

// remove removes what was uploaded, and, when there is no item, what was made of it. Where what was signed may still put the file,
// and where it did and may not have ended, an empty object stays.
func (s *Items) remove(ctx context.Context, ref ItemRef, occupied bool) error {
	if err := s.files.AbortParts(ctx, ref.objectKey()); err != nil {
		return err
	}
	if occupied {
		if err := s.occupy(ctx, ref); err != nil {
			return err
		}
	} else if err := s.files.Delete(ctx, ref.uploadKey()); err != nil {
		return err
	}
	_, errs := s.store.ItemsByID(ctx, []ItemRef{ref})
	switch {
	case errs == nil || errs[0] == nil:
		return nil
	case !fault.Is(errs[0], fault.NotFound):
		return errs[0]
	}
	for _, key := range []string{ref.objectKey(), ref.thumbnailKey()} {
		if err := s.files.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
