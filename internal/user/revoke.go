package user

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/viewer"
)

// Announcer tells all servers at once that the tokens of a user that were issued by then are revoked. An error means that some do not know
// before they look.
type Announcer interface {
	Announce(ctx context.Context, id string, at time.Time) error
}

// Revoke is the input of [Service.Revoke].
type Revoke struct {
	User           ID
	IdempotencyKey *string `json:"-"`
}

// Revoke revokes the tokens of a user that were issued until now, for administrators, and returns that moment. Servers that
// nobody can tell find out by [Service.News].
func (s *Service) Revoke(ctx context.Context, in Revoke) (time.Time, error) {
	v := viewer.From(ctx)
	if !v.Admin() {
		return time.Time{}, fault.New(fault.Forbidden, "only an administrator may do this")
	}
	request := idempotency.Request{Viewer: string(v.UserID), Mutation: "revokeUser", Key: in.IdempotencyKey, Input: in}
	at, err := idempotency.Do(ctx, s.guard(), request, func(ctx context.Context, once idempotency.Key) (time.Time, error) {
		now := s.o.Now().UTC().Truncate(time.Millisecond)
		return now, s.o.Store.RevokeUser(ctx, in.User, now, once.With(string(in.User)))
	}, func(ctx context.Context, _ []string) (time.Time, error) {
		access, err := s.access(ctx, in.User)
		return access.Revoked, err
	})
	if err != nil {
		return time.Time{}, err
	}
	s.Forget(in.User)
	if s.o.Announcer != nil {
		_ = s.o.Announcer.Announce(ctx, string(in.User), at) // the others look
	}
	return at, nil
}

// access returns which tokens of a user count.
func (s *Service) access(ctx context.Context, id ID) (Access, error) {
	return domain.First(s.o.Store.AccessByID(ctx, []ID{id}))
}

// counts looks in the store whether a token of a user still counts. Fault: Unauthenticated when it does not.
func (s *Service) counts(ctx context.Context, identity viewer.Identity, id ID) error {
	access, err := s.access(ctx, id)
	if err == nil && access.Deletion.State != "" {
		return fault.New(fault.Unauthenticated, "the user was deleted")
	}
	if err != nil {
		return err
	}
	return signedUp{id: id, access: access}.admits(identity)
}

// RevokedByID returns for each user until when issued tokens are revoked, in the order of ids: zero for who was never revoked.
// Whoever asks, it is for the server itself.
func (s *Service) RevokedByID(ctx context.Context, ids []ID) ([]time.Time, []error) {
	accesses, errs := s.o.Store.AccessByID(ctx, ids)
	times := make([]time.Time, len(ids))
	for i, a := range accesses {
		times[i] = a.Revoked
	}
	return times, errs
}

// Forget has the next sign-in of a user read anew whether the user was revoked.
func (s *Service) Forget(id ID) {
	s.keep.Lock()
	defer s.keep.Unlock()
	s.forgets++
	for _, subject := range s.subjects.Keys() {
		if known, ok := s.subjects.Peek(subject); ok && known.id == id {
			s.subjects.Remove(subject)
		}
	}
}

// ForgetAll is the same for all users, when revocations may have been missed.
func (s *Service) ForgetAll() {
	s.keep.Lock()
	defer s.keep.Unlock()
	s.forgets++
	s.subjects.Purge()
}
