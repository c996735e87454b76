package entity

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// MembersRequest asks for one page of the members of a scope; see [Scope.Members].
type MembersRequest struct {
	Scope  string
	Window page.Window
	shown  bool
}

// Members asks for a page of the members.
func (s Scope) Members(w page.Window) MembersRequest {
	return MembersRequest{Scope: s.ID, Window: w, shown: s.Role >= ReaderRole}
}

// ListMembers lists the members of a scope that the viewer was shown, by user id; NotFound for others.
func (s *Service) ListMembers(ctx context.Context, r MembersRequest) (page.Slice[Member], error) {
	if !r.shown {
		return page.Slice[Member]{}, noScope()
	}
	return s.o.Store.ListMembers(ctx, r.Scope, r.Window)
}

// PutMember is the input of [Service.PutMember]. One of User and Email names the user.
type PutMember struct {
	Scope          string
	User           UserID
	Email          *string
	Role           Role
	IdempotencyKey *string `json:"-"`
}

// field returns the input field that names the user.
func (in PutMember) field() string {
	if in.Email != nil {
		return "input.email"
	}
	return "input.userId"
}

// PutMember adds a user to a scope, or changes the role; owners only. It returns *[UnknownUser] and [ErrLastOwner] as expected
// outcomes.
func (s *Service) PutMember(ctx context.Context, in PutMember) (Member, error) {
	if (in.User == "") == (in.Email == nil) {
		return Member{}, fault.Invalidf("input.userId", "give one of userId and email")
	}
	if in.Role < ReaderRole || in.Role > OwnerRole {
		return Member{}, fault.Invalidf("input.role", "a member reads, writes or owns")
	}
	if in.User != "" && checkID("", string(in.User)) != nil {
		return Member{}, &UnknownUser{Field: in.field()}
	}
	m := Member{Scope: in.Scope, User: in.User, Role: in.Role}
	return domain.Once(ctx, s.guard(), "putScopeMember", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Member, error) {
		// The scope comes first: whether an address is in use is told to owners of scopes only.
		if _, err := s.scope(ctx, in.Scope, OwnerRole); err != nil {
			return Member{}, err
		}
		if in.Email != nil {
			var err error
			if m.User, err = s.o.People.Lookup(ctx, *in.Email); fault.Is(err, fault.NotFound) {
				return Member{}, &UnknownUser{Field: in.field()}
			} else if err != nil {
				return Member{}, err
			}
		}
		m.AddedAt = domain.Later(s.o.Now, time.Time{})
		before, err := s.o.Store.MemberByID(ctx, in.Scope, m.User)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return Member{}, err
		}
		if err == nil && before.Role == m.Role { // that is left as it is
			m.AddedAt = before.AddedAt
		}
		err = s.o.Store.PutMember(ctx, viewer.From(ctx).UserID, m, once.With(string(m.User), m.AddedAt.Format(time.RFC3339Nano)))
		if _, unknown := errors.AsType[*UnknownUser](err); unknown {
			return Member{}, &UnknownUser{Field: in.field()}
		}
		return m, err
	}, func(_ context.Context, result []string) (Member, error) {
		var err error
		m.User = UserID(result[0])
		m.AddedAt, err = time.Parse(time.RFC3339Nano, result[1])
		return m, err
	})
}

// RemoveMember is the input of [Service.RemoveMember].
type RemoveMember struct {
	Scope          string
	User           UserID
	IdempotencyKey *string `json:"-"`
}

// RemoveMember removes a user from a scope: owners remove anybody, everybody may leave. Who is no member is removed already.
// It returns [ErrLastOwner] as an expected outcome.
func (s *Service) RemoveMember(ctx context.Context, in RemoveMember) error {
	self := viewer.From(ctx).UserID
	if self == "" {
		return domain.SignUpFirst()
	}
	_, err := domain.Once(ctx, s.guard(), "removeScopeMember", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (struct{}, error) {
		if in.User != self {
			if _, err := s.scope(ctx, in.Scope, OwnerRole); err != nil {
				return struct{}{}, err
			}
		}
		if !mayExist(ID{Scope: in.Scope, Type: "User", ID: string(in.User)}) {
			return struct{}{}, nil // nobody is there
		}
		return struct{}{}, s.o.Store.DeleteMember(ctx, in.Scope, in.User, once.With(in.Scope))
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}
