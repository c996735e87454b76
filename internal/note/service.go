package note

import (
	"context"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// Service carries out what may be asked about notes.
type Service struct {
	o     Options
	turns *retry.Turns
}

// People finds users by what else names them.
type People interface {
	// Lookup returns the holder of an exact e-mail address, or NotFound. It tells that the address is in use, and is bounded:
	// Exhausted.
	Lookup(ctx context.Context, email string) (UserID, error)
}

// Without returns the service over another view of the same store, one that leaves out what the caller does not need.
func (s *Service) Without(view Store) *Service {
	with := *s
	with.o.Store = view
	return &with
}

// Options says what a [Service] works with. Store, Now and NewID are needed.
type Options struct {
	Store  Store
	People People // to share with by address
	Now    func() time.Time
	NewID  func() string // makes UUIDs
}

// NewService returns a service.
func NewService(o Options) *Service { return &Service{o: o, turns: &retry.Turns{}} }

// ListByID returns the note or the error of each id, in the order of ids. What the viewer may not read is NotFound:
// this is the one guard of notes that are reached by id.
func (s *Service) ListByID(ctx context.Context, ids []ID) ([]Note, []error) {
	reader := viewer.From(ctx).UserID
	if reader == "" {
		errs := make([]error, len(ids))
		for i := range errs {
			errs[i] = notFound()
		}
		return make([]Note, len(ids)), errs
	}
	notes, errs := s.o.Store.NotesByID(ctx, reader, ids)
	for i := range notes {
		if (errs == nil || errs[i] == nil) && notes[i].Permission < View {
			if errs == nil {
				errs = make([]error, len(ids))
			}
			notes[i], errs[i] = Note{}, notFound()
		}
	}
	return notes, errs
}

// get returns the note when the viewer has at least the given permission: NotFound for who may not read it, Forbidden
// for who may read but not do this.
func (s *Service) get(ctx context.Context, id ID, need Permission) (Note, error) {
	if viewer.From(ctx).UserID == "" {
		return Note{}, domain.SignUpFirst()
	}
	notes, errs := s.ListByID(ctx, []ID{id})
	switch {
	case errs != nil && errs[0] != nil:
		return Note{}, errs[0]
	case notes[0].Permission >= need:
		return notes[0], nil
	case need == Owner:
		return Note{}, fault.New(fault.Forbidden, "only the owner of the note may do this")
	}
	return Note{}, fault.New(fault.Forbidden, "the note is shared with you for viewing only")
}

// private returns nil when the viewer is the user. This is the one guard of the lists of a user.
func private(ctx context.Context, id UserID) error {
	if viewer.From(ctx).Is(id) {
		return nil
	}
	return fault.New(fault.Forbidden, "only the user may see this")
}

// ListByDeadline lists the user's own notes by deadline. Forbidden for everybody else.
func (s *Service) ListByDeadline(ctx context.Context, owner UserID, due Due, w page.Window) (page.Slice[Note], error) {
	if err := private(ctx, owner); err != nil {
		return page.Slice[Note]{}, err
	}
	if !due.After.IsZero() && !due.Before.IsZero() && !due.After.Before(due.Before) {
		return page.Slice[Note]{}, fault.Invalidf("due.before", "before must be later than after")
	}
	return s.o.Store.ListNotes(ctx, owner, due, w)
}

// ListByTags lists the author's notes that carry each tag. Forbidden for everybody else.
func (s *Service) ListByTags(ctx context.Context, requests []TagRequest) ([]page.Slice[Found], []error) {
	return domain.Allowed(requests, func(r TagRequest) error { return private(ctx, r.Tag.Author) }, func(requests []TagRequest) ([]page.Slice[Found], []error) {
		return s.o.Store.ListNotesByTags(ctx, requests)
	})
}

// ListTags lists the user's tags that begin with the prefix. Forbidden for everybody else.
func (s *Service) ListTags(ctx context.Context, owner UserID, prefix string, w page.Window) (page.Slice[tag.Tag], error) {
	if err := private(ctx, owner); err != nil {
		return page.Slice[tag.Tag]{}, err
	}
	return s.o.Store.ListTags(ctx, owner, tag.Fold(prefix), w)
}

// FindTag returns the user's tag, or NotFound. Forbidden for everybody else.
func (s *Service) FindTag(ctx context.Context, id tag.ID) (tag.Tag, error) {
	if err := private(ctx, id.Author); err != nil {
		return tag.Tag{}, err
	}
	tags, errs := s.o.Store.FindTags(ctx, []tag.ID{id})
	if errs != nil {
		return tags[0], errs[0]
	}
	return tags[0], nil
}

// FindTags returns the viewer's tags by id, in the order of ids. Other people's tags are NotFound.
func (s *Service) FindTags(ctx context.Context, ids []tag.ID) ([]tag.Tag, []error) {
	return domain.Allowed(ids, func(id tag.ID) error {
		if private(ctx, id.Author) != nil {
			return fault.New(fault.NotFound, "there is no such tag")
		}
		return nil
	}, func(ids []tag.ID) ([]tag.Tag, []error) { return s.o.Store.FindTags(ctx, ids) })
}

// ofShown is the one guard of what belongs to notes: the note has to have been shown to the viewer.
func ofShown(ok shown) error {
	if !ok {
		return notFound()
	}
	return nil
}

// ListVersions lists the versions of notes that the viewer was shown; NotFound for others.
func (s *Service) ListVersions(ctx context.Context, requests []VersionsRequest) ([]page.Slice[Version], []error) {
	return domain.Allowed(requests, func(r VersionsRequest) error { return ofShown(r.shown) }, func(requests []VersionsRequest) ([]page.Slice[Version], []error) {
		return s.o.Store.ListVersionsOf(ctx, requests)
	})
}

// VersionsByID returns versions of notes that the viewer was shown; NotFound for others.
func (s *Service) VersionsByID(ctx context.Context, requests []VersionRequest) ([]Version, []error) {
	return domain.Allowed(requests, func(r VersionRequest) error { return ofShown(r.shown) }, func(requests []VersionRequest) ([]Version, []error) {
		ids := make([]VersionID, len(requests))
		for i, r := range requests {
			ids[i] = r.VersionID
		}
		return s.o.Store.VersionsByID(ctx, ids)
	})
}

// ListShared lists the notes that others shared with the user. Forbidden for everybody else.
func (s *Service) ListShared(ctx context.Context, user UserID, w page.Window) (page.Slice[SharedNote], error) {
	if err := private(ctx, user); err != nil {
		return page.Slice[SharedNote]{}, err
	}
	return s.o.Store.ListSharedNotes(ctx, user, w)
}

// AccessLists lists the users of notes that the viewer was shown; NotFound for others.
func (s *Service) AccessLists(ctx context.Context, requests []AccessRequest) ([]page.Slice[Share], []error) {
	return domain.Allowed(requests, func(r AccessRequest) error { return ofShown(r.shown) }, func(requests []AccessRequest) ([]page.Slice[Share], []error) {
		return s.o.Store.AccessLists(ctx, requests)
	})
}

// SyncMargin is how far a synchronisation looks back behind the start of the one before: the time within which every
// write that was begun is either visible or has failed, and by which the clocks of servers differ at most.
const SyncMargin = time.Minute

// Synced says what a run through a list of changes is worth.
type Synced struct {
	Until    time.Time // the next changedSince
	Complete bool      // whether all deletions and ends of shares since are in the list, up to this page
}

// ListChanges lists what happened since then to the notes that the user owns or that are shared with the user. Until when the run
// counts was settled when its first page was read, and is carried in the positions. Forbidden for everybody else.
func (s *Service) ListChanges(ctx context.Context, user UserID, since time.Time, w page.Window) (page.Slice[Change], Synced, error) {
	if err := private(ctx, user); err != nil {
		return page.Slice[Change]{}, Synced{}, err
	}
	now := s.o.Now().UTC().Truncate(time.Millisecond)
	until := now.Add(-SyncMargin)
	if w.From != "" {
		started, from, _ := strings.Cut(w.From, " ")
		var err error
		if until, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return page.Slice[Change]{}, Synced{}, fault.Wrap(fault.Internal, err, "a position of our own cannot be read")
		}
		w.From = from
	}
	slice, err := s.o.Store.ListChanges(ctx, user, since, w)
	begun := until.Format(time.RFC3339Nano) + " "
	for i, position := range slice.Positions {
		slice.Positions[i] = begun + position
	}
	if slice.Until != "" {
		slice.Until = begun + slice.Until
	}
	return slice, Synced{Until: until, Complete: since.IsZero() || since.After(now.Add(-UndoFor))}, err
}

// once runs a mutation of the viewer that results in a note; the zero Note when a repeated request finds it gone.
func (s *Service) once(ctx context.Context, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (Note, error)) (Note, error) {
	return domain.Once(ctx, s.guard(), mutation, key, input, effect, s.reread)
}

// reread returns the note of an earlier result, the zero Note when it is gone meanwhile.
func (s *Service) reread(ctx context.Context, result []string) (Note, error) {
	n, err := s.get(ctx, ID(result[0]), View)
	if fault.Is(err, fault.NotFound) {
		return Note{}, nil
	}
	return n, err
}

func (s *Service) guard() idempotency.Guard { return idempotency.Guard{Store: s.o.Store, Now: s.o.Now} }

// edit reads the note, lets store make and keep its next state, and starts again when somebody else was faster; *[VersionConflict] when
// the caller expected another version. It returns the note after the change.
func (s *Service) edit(ctx context.Context, id ID, need Permission, expected *int, store func(before Note) (Note, error)) (Note, error) {
	return domain.Edit[*VersionConflict](s.turns.Until(ctx, string(id)), "this note", func() (Note, error) {
		before, err := s.get(ctx, id, need)
		if err == nil && expected != nil && *expected != before.Version {
			err = &VersionConflict{Current: before}
		}
		return before, err
	}, store)
}
