package project

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/viewer"
)

// InvitationPreview is what the bearer of a token is told before they join.
type InvitationPreview struct {
	ProjectName string
	TeamName    string
	TeamType    TeamType
	InvitedBy   UserID
	ExpiresAt   time.Time
}

// PreviewInvitation returns what a token invites to, for whoever is signed in, also without being a user yet: a page shows it before they sign up. NotFound
// when nobody can join by the token, for whatever reason. Unauthenticated for who is anonymous.
func (s *Service) PreviewInvitation(ctx context.Context, token string) (InvitationPreview, error) {
	if viewer.From(ctx).Anonymous() {
		return InvitationPreview{}, fault.New(fault.Unauthenticated, "sign in first")
	}
	i, err := s.invited(ctx, token)
	if err != nil {
		return InvitationPreview{}, err
	}
	p, err := domain.First(s.o.Store.ProjectsByID(ctx, "", []ID{i.Project}))
	if err != nil {
		return InvitationPreview{}, err
	}
	t, err := domain.First(s.o.Store.TeamsByID(ctx, []TeamID{i.TeamRef().ID}))
	if err != nil {
		return InvitationPreview{}, err
	}
	if i.Over(s.o.Now()) || p.Deletion.State != "" || !t.DeletedAt.IsZero() || t.Type != i.Type {
		return InvitationPreview{}, notFound("invitation")
	}
	return InvitationPreview{ProjectName: p.Name, TeamName: t.Name, TeamType: t.Type, InvitedBy: i.CreatedBy, ExpiresAt: i.ExpiresAt}, nil
}

// invited returns the invitation that a token is of, over or not. NotFound.
func (s *Service) invited(ctx context.Context, token string) (Invitation, error) {
	t, ok := parseToken(token)
	if !ok {
		return Invitation{}, notFound("invitation")
	}
	i, err := domain.First(s.o.Store.InvitationsByID(ctx, []InvitationID{t.InvitationID}))
	if err == nil && !t.opens(i.Hash) {
		err = notFound("invitation")
	}
	return i, err
}

// AcceptInvitation is the input of [Service.AcceptInvitation].
type AcceptInvitation struct {
	Token          string
	IdempotencyKey *string `json:"-"`
}

// AcceptInvitation makes the viewer a member of the team that a token invites to. A viewer who is a member of the project already, of whatever team,
// stays as they are, and the invitation is not used. It returns the membership; [ErrInvitationInvalid] is an expected outcome. Exhausted
// above [MaxMembers]. That one of the two has blocked the other plays no role: it keeps others from adding a user, and here users add themselves.
func (s *Service) AcceptInvitation(ctx context.Context, in AcceptInvitation) (Member, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return Member{}, err
	}
	return once(ctx, s, "acceptProjectInvitation", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Member, error) {
		i, err := s.invited(ctx, in.Token)
		if fault.Is(err, fault.NotFound) {
			err = ErrInvitationInvalid
		}
		if err != nil {
			return Member{}, err
		}
		m := Member{Project: i.Project, User: me, Team: i.Team, Type: i.Type, AddedAt: domain.Later(s.o.Now, time.Time{})}
		m, joined, err := s.o.Store.AcceptInvitation(ctx, i.InvitationID, m, key.With(string(i.Project)))
		if _, unknown := errors.AsType[*UnknownUser](err); unknown {
			return Member{}, domain.SignUpFirst()
		}
		if err != nil {
			return Member{}, err
		}
		if joined {
			s.tellMoved(ctx, m.Project, m.User, m.Team)
		}
		m.as = proof(m.Type)
		return m, nil
	}, func(ctx context.Context, result []string) (Member, error) {
		p, err := s.get(ctx, ID(result[0]), Taggie)
		return domain.Gone(p.Member, err)
	})
}
