package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

const (
	progressEvery = 2 * time.Second // between two states that are kept
	triesOfFaults = 5               // of an archive that fails by something else than a store that does not answer
)

// Runner writes archives. Its Run is the [task.Handler] of [RunArchive].
type Runner struct {
	Store    Progress
	Files    Files
	Contents Contents
	Now      func() time.Time
}

// errOver says that an archive has ended meanwhile, or is gone.
var errOver = errors.New("the archive has ended")

// Run writes the file of an archive, as the user may see what is in it. After a crash it begins again: the file appears when it is complete. It comes
// back when the archive expires, removes the file, and lets the user create another one. Memory: a part of an upload (8 MiB), and what [Write] needs.
func (r Runner) Run(ctx context.Context, t task.Task) (time.Time, error) {
	id := ID{User: UserID(t.Scope), ID: t.ID}
	stored, err := r.get(ctx, id)
	run := &run{Runner: r, stored: stored}
	switch {
	case fault.Is(err, fault.NotFound):
		return time.Time{}, r.remove(ctx, id)
	case err != nil:
		return time.Time{}, fmt.Errorf("run an archive: %w", err)
	case !r.Now().Before(stored.ExpiresAt()):
		if err := run.save(ctx, func(a Archive) (Archive, bool) { return a.Fail("it could not be written in time", r.Now()) }); err != nil && !errors.Is(err, errOver) {
			return time.Time{}, fmt.Errorf("end archive %s of user %s: %w", id.ID, id.User, err)
		}
		if err := r.remove(ctx, id); err != nil {
			return time.Time{}, err
		}
		return time.Time{}, run.release(ctx)
	case stored.State.Ended():
		return stored.ExpiresAt(), nil
	}
	err = run.write(viewer.With(ctx, viewer.Viewer{Identity: viewer.Identity{Issuer: string(RunArchive), Subject: string(id.User)}, UserID: id.User}))
	if failure := failureOf(ctx, t, err); failure != "" {
		if err = r.remove(ctx, id); err == nil { // a run before this one may have uploaded it: nobody counts the file of one that failed
			err = run.save(ctx, func(a Archive) (Archive, bool) { return a.Fail(failure, r.Now()) })
		}
	}
	if err != nil && !errors.Is(err, errOver) {
		return time.Time{}, fmt.Errorf("run archive %s of user %s: %w", id.ID, id.User, err)
	}
	return stored.ExpiresAt(), nil
}

// remove removes the file of an archive, if there.
func (r Runner) remove(ctx context.Context, id ID) error {
	if err := r.Files.Delete(ctx, Key(id)); err != nil {
		return fmt.Errorf("remove archive %s of user %s: %w", id.ID, id.User, err)
	}
	return nil
}

// failureOf says why an archive ends without a file, for people; "" when it goes on, or is tried again.
func failureOf(ctx context.Context, t task.Task, err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, errors.Is(err, errOver), ctx.Err() != nil, ok && (f.Kind == fault.Unavailable || f.Kind == fault.Outdated), t.Tries < triesOfFaults: // a newer server can go on
		return ""
	case ok && f.Kind == fault.Exhausted:
		return f.Message
	}
	return "something went wrong on our side"
}

func (r Runner) get(ctx context.Context, id ID) (Archive, error) {
	return domain.First(r.Store.ArchivesByID(ctx, []ID{id}))
}

// release lets the user create another archive, since the file of this one is removed. Another server may have done so.
func (r *run) release(ctx context.Context) error {
	after, ok := r.stored.Remove()
	if !ok {
		return nil
	}
	err := r.Store.ChangeArchive(ctx, r.stored, after)
	if err == nil {
		return nil
	}
	if current, again := r.get(ctx, r.stored.ID); fault.Is(again, fault.NotFound) || again == nil && !current.Counts() {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "the archive could not be stored")
}

// run is one run of an archive.
type run struct {
	Runner
	stored  Archive // as it is in the store
	savedAt time.Time
}

func (r *run) write(ctx context.Context) error {
	// What a run before this one wrote is in a file that nobody sees; progress never goes back, so it stays there until this run is further.
	if err := r.advance(ctx, 0); err != nil {
		return err
	}
	var written Written
	size, err := r.Files.Upload(ctx, Key(r.stored.ID), ContentType, func(w io.Writer) (err error) {
		written, err = Write(ctx, w, r.stored, r.Contents, r.Files, func(entries int) error {
			if r.Now().Sub(r.savedAt) < progressEvery {
				return nil
			}
			return r.advance(ctx, entries)
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.save(ctx, func(a Archive) (Archive, bool) { return a.Finish(written, size, r.Now()) })
}

func (r *run) advance(ctx context.Context, entries int) error {
	return r.save(ctx, func(a Archive) (Archive, bool) { return a.Advance(max(entries, a.Entries)) })
}

// save stores the archive as change makes it.
func (r *run) save(ctx context.Context, change func(Archive) (Archive, bool)) error {
	before := r.stored
	after, ok := change(before)
	if !ok {
		return errOver
	}
	if err := r.Store.ChangeArchive(ctx, before, after); err != nil {
		current, again := r.get(ctx, before.ID)
		if fault.Is(again, fault.NotFound) || again == nil && current.State.Ended() {
			return errOver
		}
		return fault.Wrap(fault.Unavailable, err, "the archive could not be stored")
	}
	r.stored, r.savedAt = after, r.Now()
	return nil
}
