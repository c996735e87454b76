package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Options says what a [Service] works with. All are needed.
type Options struct {
	Store Store
	Files Presigner
	Now   func() time.Time
	NewID func() string // makes UUIDs, of which later ones are greater
}

// Service has archives written, and shows them to their user.
type Service struct{ o Options }

// NewService returns a service.
func NewService(o Options) *Service { return &Service{o: o} }

// Create is the input of [Service.Create].
type Create struct {
	IdempotencyKey *string `json:"-"`
}

// Create has an archive of the viewer written. Exhausted while another one is, and while as many are kept as may be.
func (s *Service) Create(ctx context.Context, in Create) (Archive, error) {
	self, err := domain.Self(ctx)
	if err != nil {
		return Archive{}, err
	}
	guard := idempotency.Guard{Store: s.o.Store, Now: s.o.Now}
	return domain.Once(ctx, guard, "createArchive", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Archive, error) {
		a := Archive{ID: ID{User: self, ID: s.o.NewID()}, State: Queued, CreatedAt: domain.Later(s.o.Now, time.Time{}), Version: 1}
		err := s.o.Store.CreateArchive(ctx, a, a.task(), once.With(a.ID.ID))
		if _, full := errors.AsType[*Full](err); full {
			return a, s.full(ctx, self)
		}
		return a, err
	}, func(ctx context.Context, result []string) (Archive, error) {
		return domain.Gone(domain.First(s.ListByID(ctx, []ID{{User: self, ID: result[0]}})))
	})
}

// full says until when the user has as many archives as one may have.
func (s *Service) full(ctx context.Context, user UserID) error {
	kept := fmt.Sprintf("%d archives of a user are kept at most", MaxKept)
	var goes time.Time
	for w := (page.Window{Limit: page.Max, Backward: true}); goes.IsZero(); {
		oldest, err := s.o.Store.ListArchives(ctx, user, w)
		if err != nil {
			return err
		}
		for _, a := range oldest.Items {
			if a.Counts() && (goes.IsZero() || a.ExpiresAt().Before(goes)) {
				goes = a.ExpiresAt()
			}
		}
		switch w.From = oldest.Until; {
		case !goes.IsZero():
		case !oldest.More, w.From == "" && len(oldest.Positions) == 0:
			return fault.New(fault.Exhausted, "%s: the oldest goes within minutes", kept) // all are expired
		case w.From == "":
			w.From = oldest.Positions[0]
		}
	}
	return fault.New(fault.Exhausted, "%s: the oldest goes at %s", kept, goes.UTC().Format(time.RFC3339))
}

// task returns the task that writes the archive.
func (a Archive) task() task.Task {
	return task.Task{Kind: RunArchive, ID: a.ID.ID, Scope: string(a.User), Due: a.CreatedAt}
}

// ListByID returns archives of the viewer, in the order of ids; NotFound for those of others, and those that are expired.
func (s *Service) ListByID(ctx context.Context, ids []ID) ([]Archive, []error) {
	none := fault.New(fault.NotFound, "there is no such archive")
	found, errs := domain.Allowed(ids, func(id ID) error {
		if !viewer.From(ctx).Is(id.User) {
			return none
		}
		return nil
	}, func(ids []ID) ([]Archive, []error) { return s.o.Store.ArchivesByID(ctx, ids) })
	for i, a := range found {
		if a.Version == 0 || s.o.Now().Before(a.ExpiresAt()) {
			continue
		}
		if errs == nil {
			errs = make([]error, len(ids))
		}
		found[i], errs[i] = Archive{}, none
	}
	return found, errs
}

// List lists the archives of the viewer, the newest first. Forbidden for everybody else.
func (s *Service) List(ctx context.Context, user UserID, w page.Window) (page.Slice[Archive], error) {
	if !viewer.From(ctx).Is(user) {
		return page.Slice[Archive]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListArchives(ctx, user, w)
}

// Download returns a link to the file of an archive that the viewer was shown; "" where there is no file yet, or none any more.
func (s *Service) Download(ctx context.Context, a Archive) (string, error) {
	left := a.ExpiresAt().Sub(s.o.Now()).Truncate(time.Second)
	if a.State != Done || left < time.Second || !viewer.From(ctx).Is(a.User) {
		return "", nil
	}
	url, err := s.o.Files.PresignGet(ctx, Key(a.ID), a.FileName(), ContentType, min(LinkTTL, left))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, fmt.Errorf("link to the file of an archive: %w", err), "files cannot be downloaded now")
	}
	return url, nil
}

// Watch tells how an archive of the viewer goes: now, and after each change, until it has ended; see [task.Watch]. Ended is called before the
// channel is closed when there is nothing more to follow. NotFound as in [Service.ListByID].
func (s *Service) Watch(ctx context.Context, id ID, ended func()) (<-chan task.Seen[Archive], error) {
	read := func(ctx context.Context) (Archive, error) { return domain.First(s.ListByID(ctx, []ID{id})) }
	began := time.Now()
	now, err := read(ctx)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(task.WatchEvery)
	context.AfterFunc(ctx, ticker.Stop)
	return task.Watch(ctx, ticker.C, task.Seen[Archive]{Value: now, At: began}, read, task.Watched[Archive]{
		Over: func(a Archive) bool { return a.State.Ended() }, Same: func(a, b Archive) bool { return a.Version == b.Version },
		Gone: func(err error) bool { return fault.Is(err, fault.NotFound) }, Ended: ended,
	}), nil
}
