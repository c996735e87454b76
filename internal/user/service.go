package user

import (
	"context"
	"errors"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

// Limiter bounds how often somebody may do something. An error means that it cannot tell.
type Limiter interface {
	Allow(ctx context.Context, who string) (bool, error)
}

// Service carries out what may be asked about users.
type Service struct {
	o        Options
	trusted  time.Duration                   // how old what is known of revocations may be
	subjects *lru.Cache[[2]string, signedUp] // issuer and subject to user
	keep     sync.Mutex                      // over forgets, and over what is added while nothing is forgotten
	forgets  int                             // how often something was forgotten of them
	news     news
}

// signedUp is what is known of a subject: its user, which does not change while the user is there, and which tokens of the user count,
// which [Service.Forget] forgets.
type signedUp struct {
	id     ID
	access Access
	read   time.Time // when reading that began
}

// admits refuses tokens that are revoked. Fault: Unauthenticated.
func (known signedUp) admits(identity viewer.Identity) error {
	if !known.access.Revoked.IsZero() && identity.IssuedBy(known.access.Revoked) {
		return fault.New(fault.Unauthenticated, "the token was revoked")
	}
	return nil
}

// Options says what a [Service] works with. Store, Now and NewID are needed.
type Options struct {
	Store     Store
	Probes    Limiter   // of what tells whether an address is in use
	Announcer Announcer // of revocations; nil where nobody is told
	Managed   []Managed // where others may need a user
	Now       func() time.Time
	NewID     func() string // makes UUIDs
}

// NewService returns a service.
func NewService(o Options) *Service {
	subjects, err := lru.New[[2]string, signedUp](subjectsKept)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	return &Service{o: o, trusted: Trusted, subjects: subjects}
}

// subjectsKept is more than there are sockets on a server, whose bearers are asked for again and again; each takes some 200 bytes.
const subjectsKept = 40_000

// SignIn completes an identity with the user that signed up with it, if there is one. What it says of revocations is no older than
// [Trusted], and Viewer.Looked says since when it is known. Who is deleted is no user: Viewer.Deletion says who that was. Faults: Unauthenticated when the user was revoked since the token was issued,
// Unavailable.
func (s *Service) SignIn(ctx context.Context, identity viewer.Identity) (viewer.Viewer, error) {
	v := viewer.Viewer{Identity: identity}
	if v.Anonymous() {
		return v, nil
	}
	v.Looked = time.Now()
	known, err := s.signedUp(ctx, [2]string{identity.Issuer, identity.Subject})
	switch {
	case fault.Is(err, fault.NotFound):
		return v, nil
	case err != nil:
		return viewer.Viewer{}, err
	}
	if err := known.admits(identity); err != nil {
		return viewer.Viewer{}, err
	}
	v.Looked = known.read
	if d := known.access.Deletion; d.State != "" {
		v.Deletion = viewer.Deletion{User: known.id, UndoUntil: d.UndoUntil, Erasing: d.Over(s.o.Now())}
		return v, nil
	}
	v.UserID = known.id
	return v, nil
}

// signedUp returns what is known of an issuer's subject, or NotFound.
func (s *Service) signedUp(ctx context.Context, subject [2]string) (signedUp, error) {
	looked := s.news.lookedAt() // first: what is still known after it is not older
	known, ok := s.subjects.Get(subject)
	if ok {
		if looked.After(known.read) {
			known.read = looked
		}
		if time.Since(known.read) <= s.trusted {
			return known, nil
		}
	}
	before, began := s.forgotten(), time.Now()
	id, err := known.id, error(nil)
	if !ok {
		id, err = s.o.Store.UserIDBySubject(ctx, subject[0], subject[1])
	}
	if err != nil {
		return signedUp{}, err
	}
	access, err := s.access(ctx, id)
	if err != nil {
		return signedUp{}, err
	}
	known = signedUp{id, access, began}
	s.keep.Lock()
	defer s.keep.Unlock()
	if access.Deletion.State != "" { // another user can be the subject's once this one is erased
		s.subjects.Remove(subject)
	} else if s.forgets == before { // otherwise perhaps of this one
		s.subjects.Add(subject, known)
	}
	return known, nil
}

func (s *Service) forgotten() int {
	s.keep.Lock()
	defer s.keep.Unlock()
	return s.forgets
}

// ListByID returns the user or the error of each id, in the order of ids. Whoever is signed in may see that a user
// exists and its name: ids cannot be guessed, and are handed out only along edges that the caller may walk. The
// address is guarded by [MaySeeEmail], the lists of a user by the domains that keep them.
func (s *Service) ListByID(ctx context.Context, ids []ID) ([]User, []error) {
	if viewer.From(ctx).Anonymous() {
		errs := make([]error, len(ids))
		for i := range errs {
			errs[i] = fault.New(fault.NotFound, "there is no such user")
		}
		return make([]User, len(ids)), errs
	}
	return s.o.Store.UsersByID(ctx, ids)
}

// MaySeeEmail reports whether the viewer may see the user's address.
func MaySeeEmail(ctx context.Context, id ID) bool {
	v := viewer.From(ctx)
	return v.Is(id) || v.Admin()
}

// FindByEmail returns the id of the user with this address when the viewer may know it: the viewer's own, or any to an
// administrator. Otherwise, and when there is none, it returns NotFound.
func (s *Service) FindByEmail(ctx context.Context, email string) (ID, error) {
	v := viewer.From(ctx)
	if v.UserID == "" && !v.Admin() {
		return "", fault.New(fault.NotFound, "there is no such user")
	}
	id, err := s.lookup(ctx, email)
	if err != nil {
		return "", err
	}
	if !MaySeeEmail(ctx, id) {
		return "", fault.New(fault.NotFound, "there is no such user")
	}
	return id, nil
}

// ListAll lists users for administrators: all of them, or those whose address or name begins with the prefix; see [Store]. Unauthenticated
// or Forbidden for everybody else.
func (s *Service) ListAll(ctx context.Context, prefix string, w page.Window) (page.Slice[User], error) {
	if err := domain.AdminsOnly(ctx); err != nil {
		return page.Slice[User]{}, err
	}
	return s.o.Store.ListUsers(ctx, FoldName(prefix), w)
}

// Lookup returns the holder of an exact address, or NotFound. It tells that the address is in use, which is why it is
// for sharing only, and bounded: Exhausted for who asks too often.
func (s *Service) Lookup(ctx context.Context, email string) (ID, error) {
	if viewer.From(ctx).UserID == "" {
		return "", domain.SignUpFirst()
	}
	if err := s.mayProbe(ctx); err != nil {
		return "", err
	}
	return s.lookup(ctx, email)
}

func (s *Service) lookup(ctx context.Context, email string) (ID, error) {
	if len(email) > MaxEmail {
		return "", fault.New(fault.NotFound, "there is no such user")
	}
	return s.o.Store.UserIDByEmail(ctx, FoldEmail(email))
}

// mayProbe bounds how often an identity may learn whether addresses are in use. Redis keeps the count, and what Redis
// keeps may be missing: then asking is allowed.
func (s *Service) mayProbe(ctx context.Context) error {
	identity := viewer.From(ctx).Identity
	if allowed, err := s.o.Probes.Allow(ctx, identity.Issuer+" "+identity.Subject); err == nil && !allowed {
		refused := fault.New(fault.Exhausted, "too many e-mail addresses were tried; try again a little later")
		refused.RetryAfter = TryEvery
		return refused
	}
	return nil
}

// Create is the input of [Service.Create].
type Create struct {
	Name, Email    string
	IdempotencyKey *string `json:"-"`
}

// Create signs the viewer up. It returns [ErrEmailTaken] or [ErrAlreadySignedUp] as expected outcomes; Invalid for a
// bad name or address; Forbidden for an address that the viewer's token does not vouch for; Unauthenticated when it is repeated
// after the user was revoked, with a token from before.
func (s *Service) Create(ctx context.Context, in Create) (User, error) {
	v := viewer.From(ctx)
	if v.Anonymous() {
		return User{}, fault.New(fault.Unauthenticated, "sign in first: send a token")
	}
	name, err := parseName(in.Name)
	if err != nil {
		return User{}, err
	}
	email, err := s.parseOwnEmail(v, in.Email)
	if err != nil {
		return User{}, err
	}
	if err := s.mayProbe(ctx); err != nil {
		return User{}, err
	}
	// The key belongs to the identity, not to the user, which does not exist before and does after.
	request := idempotency.Request{Viewer: v.Identity.Issuer + " " + v.Identity.Subject, Mutation: "createUser", Key: in.IdempotencyKey, Input: in}
	created, err := idempotency.Do(ctx, s.guard(), request, func(ctx context.Context, once idempotency.Key) (User, error) {
		now := s.o.Now().UTC().Truncate(time.Millisecond)
		u := User{ID: ID(s.o.NewID()), Name: name, Email: email, Version: 1, CreatedAt: now, UpdatedAt: now}
		err := s.o.Store.CreateUser(ctx, u, v.Identity.Issuer, v.Identity.Subject, once.With(string(u.ID)))
		return u, err
	}, func(ctx context.Context, result []string) (User, error) {
		// Whoever carries this out on a connection that is older than the user may not have been found by a revocation yet.
		if err := s.counts(ctx, v.Identity, ID(result[0])); err != nil {
			return User{}, err
		}
		return s.reread(ctx, result)
	})
	if err == nil {
		viewer.SignedUp(ctx, created.ID)
	}
	if existing, ok := errors.AsType[*AlreadySignedUp](err); ok && v.UserID == "" { // since this connection was signed in
		if err := s.counts(ctx, v.Identity, existing.User); err != nil {
			return User{}, err
		}
		viewer.SignedUp(ctx, existing.User)
	}
	return created, err
}

// Update is the input of [Service.Update]; nil leaves a field as it is.
type Update struct {
	Name, Email     *string
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Update changes the viewer's user. It returns [ErrEmailTaken] or *[VersionConflict] as expected outcomes.
func (s *Service) Update(ctx context.Context, in Update) (User, error) {
	v := viewer.From(ctx)
	if v.UserID == "" {
		return User{}, domain.SignUpFirst()
	}
	var name, email string
	var err error
	if in.Name != nil {
		if name, err = parseName(*in.Name); err != nil {
			return User{}, err
		}
	}
	if in.Email != nil {
		if email, err = s.parseOwnEmail(v, *in.Email); err != nil {
			return User{}, err
		}
		if err := s.mayProbe(ctx); err != nil {
			return User{}, err
		}
	}
	request := idempotency.Request{Viewer: string(v.UserID), Mutation: "updateUser", Key: in.IdempotencyKey, Input: in}
	return idempotency.Do(ctx, s.guard(), request, func(ctx context.Context, once idempotency.Key) (User, error) {
		return domain.Edit[*VersionConflict](retry.Until(ctx), "this user", func() (User, error) {
			before, err := s.reread(ctx, []string{string(v.UserID)})
			if err == nil && in.ExpectedVersion != nil && *in.ExpectedVersion != before.Version {
				err = &VersionConflict{Current: before}
			}
			return before, err
		}, func(before User) (User, error) {
			after := before
			if in.Name != nil {
				after.Name = name
			}
			if in.Email != nil {
				after.Email = email
			}
			if after != before {
				after.Version++
				after.UpdatedAt = s.o.Now().UTC().Truncate(time.Millisecond)
			}
			return after, s.o.Store.UpdateUser(ctx, before, after, once.With(string(after.ID)))
		})
	}, s.reread)
}

func (s *Service) parseOwnEmail(v viewer.Viewer, typed string) (string, error) {
	email, err := ParseEmail(typed)
	if err != nil {
		return "", err
	}
	if !v.Identity.MayUse(email) {
		return "", &fault.Error{Kind: fault.Forbidden, Field: "input.email", Message: "this must be the verified address of your token"}
	}
	return email, nil
}

func (s *Service) reread(ctx context.Context, result []string) (User, error) {
	users, errs := s.o.Store.UsersByID(ctx, []ID{ID(result[0])})
	if errs != nil && errs[0] != nil {
		return User{}, errs[0]
	}
	return users[0], nil
}

func (s *Service) guard() idempotency.Guard { return idempotency.Guard{Store: s.o.Store, Now: s.o.Now} }
