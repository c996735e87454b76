package project

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/viewer"
)

// The bounds of invitations.
const (
	MaxInvitations    = 100 // of a project; those that are over make room for new ones
	MaxInvitationUses = 100
	MaxInvitationDays = 30
)

// InvitationID identifies an invitation to a project, by all that its row is found by.
type InvitationID struct {
	Project ID
	Created int64 // when it was created, in milliseconds since 1970
	ID      string
}

func (id InvitationID) project() ID { return id.Project }

// CreatedAt is when it was created.
func (id InvitationID) CreatedAt() time.Time { return time.UnixMilli(id.Created).UTC() }

// Invitation lets whoever has its token join a team of a project.
type Invitation struct {
	InvitationID
	Team      string
	Type      TeamType // of the team, which is never [Manager]
	Hash      string   // of the secret part of the token, which is kept nowhere
	CreatedBy UserID
	ExpiresAt time.Time
	Uses      int // how many users can join
	Used      int // how many have joined
	RevokedAt time.Time
	token     string
	as        proof
}

// Over reports whether nobody can join by the invitation any more: it is revoked, expired or used up. That never changes back.
func (i Invitation) Over(now time.Time) bool {
	return !i.RevokedAt.IsZero() || !now.Before(i.ExpiresAt) || i.Used >= i.Uses
}

// Token is what users join by; nil when it cannot be computed any more, because it was made with a secret that Taggie has no longer.
func (i Invitation) Token() *string {
	if i.token == "" {
		return nil
	}
	return &i.token
}

// TeamRef names the team that is joined.
func (i Invitation) TeamRef() Ref[TeamID] {
	return Ref[TeamID]{ID: TeamID{Project: i.Project, ID: i.Team}, as: i.as}
}

// ErrInvitationInvalid says that nobody can join by a token, for whatever reason: who tries tokens learns nothing from it.
var ErrInvitationInvalid = &fault.Error{Kind: fault.Conflict, Message: "this invitation is not valid: ask for a new one"}

// InvitationConflict says that the member who invites is not as it was read.
type InvitationConflict struct{}

// Error says what happened, for people.
func (*InvitationConflict) Error() string { return "the member was changed meanwhile" }

// Invitations keeps the invitations to projects.
type Invitations interface {
	// ListInvitations returns the invitations of each project, the newest first, or why they could not be read, in the order of ids. It sees every
	// acknowledged write.
	ListInvitations(ctx context.Context, ids []ID) ([][]Invitation, []error)
	// InvitationsByID returns the invitation or the error of each id, in the order of ids. It sees every acknowledged write.
	InvitationsByID(ctx context.Context, ids []InvitationID) ([]Invitation, []error)
	// CreateInvitation creates the invitation and removes those that are over, on condition that the member is as it was read:
	// *[InvitationConflict]. It is atomic.
	CreateInvitation(ctx context.Context, m Member, i Invitation, over []Invitation, once idempotency.Key) error
	// RevokeInvitation sets when the invitation was revoked, unless it was before, and returns it as it is then. NotFound.
	RevokeInvitation(ctx context.Context, by UserID, id InvitationID, at time.Time, once idempotency.Key) (Invitation, error)
	// AcceptInvitation makes the user of m a member by the invitation and counts that, on condition that the invitation is not over at the time when m is
	// added, and that the team is there. A user who is a member already stays as they are, and nothing is counted. It returns the membership, and
	// whether it is new. [ErrInvitationInvalid]; *[UnknownUser] when the user does not exist; Exhausted above [MaxMembers]. It is atomic.
	AcceptInvitation(ctx context.Context, id InvitationID, m Member, once idempotency.Key) (Member, bool, error)
}

// ListInvitations lists the invitations of each project, the newest first, for managers. If a project has more than [MaxInvitations], it lists those that
// are open, and at most so many. NotFound for who is no member, Forbidden for who is no manager.
func (s *Service) ListInvitations(ctx context.Context, refs []Ref[ID]) ([][]Invitation, []error) {
	now := s.o.Now()
	return byRef(ctx, s, refs, Manager, "project", s.o.Store.ListInvitations, func(all *[]Invitation, as proof) {
		if len(*all) > MaxInvitations {
			*all = slices.DeleteFunc(*all, func(i Invitation) bool { return i.Over(now) })
			*all = (*all)[:min(len(*all), MaxInvitations)]
		}
		for n := range *all {
			s.showInvitation(&(*all)[n], as)
		}
	})
}

// InvitationsByID returns the invitation or the error of each, in the order of ids, for managers. NotFound for who is no member, Forbidden for who is no
// manager.
func (s *Service) InvitationsByID(ctx context.Context, ids []InvitationID) ([]Invitation, []error) {
	refs := make([]Ref[InvitationID], len(ids))
	for n, id := range ids {
		refs[n].ID = id
	}
	return byRef(ctx, s, refs, Manager, "invitation", s.o.Store.InvitationsByID, s.showInvitation)
}

// showInvitation gives a manager the token of an invitation.
func (s *Service) showInvitation(i *Invitation, as proof) { i.token, i.as = s.tokenOf(*i), as }

// CreateInvitation is the input of [Service.CreateInvitation].
type CreateInvitation struct {
	Team           TeamID
	Uses           int     // 1 to MaxInvitationUses
	Days           int     // until it expires; 1 to MaxInvitationDays
	IdempotencyKey *string `json:"-"`
}

// CreateInvitation invites whoever gets the token to a team, for managers. Managers themselves are not invited by a token. Exhausted when
// [MaxInvitations] of the project are open; one that is over makes room. Managers who invite on several servers at the same moment can exceed the bound.
func (s *Service) CreateInvitation(ctx context.Context, in CreateInvitation) (Invitation, error) {
	if in.Uses < 1 || in.Uses > MaxInvitationUses {
		return Invitation{}, fault.Invalidf("input.uses", "an invitation is for 1 to %d users", MaxInvitationUses)
	}
	if in.Days < 1 || in.Days > MaxInvitationDays {
		return Invitation{}, fault.Invalidf("input.expiresInDays", "an invitation expires after 1 to %d days", MaxInvitationDays)
	}
	id := in.Team.Project
	return once(ctx, s, "createProjectInvitation", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Invitation, error) {
		var me Member
		var team Team
		return domain.Edit[*InvitationConflict](s.turns.Until(ctx, string(id)), "this project", func() ([]Invitation, error) {
			p, err := s.get(ctx, id, Manager)
			if err != nil {
				return nil, err
			}
			me = p.Member
			if team, err = s.inviting(ctx, Ref[TeamID]{ID: in.Team, as: proof(me.Type)}); err != nil {
				return nil, err
			}
			return domain.First(s.o.Store.ListInvitations(ctx, []ID{id}))
		}, func(before []Invitation) (Invitation, error) {
			now := domain.Later(s.o.Now, time.Time{})
			over, err := makeRoom(before, now)
			if err != nil {
				return Invitation{}, err
			}
			i := Invitation{
				InvitationID: InvitationID{Project: id, Created: now.UnixMilli(), ID: s.o.NewID()}, Team: team.ID, Type: team.Type,
				CreatedBy: me.User, ExpiresAt: now.AddDate(0, 0, in.Days), Uses: in.Uses,
			}
			if i.token, i.Hash, err = s.newToken(i.InvitationID); err != nil {
				return Invitation{}, err
			}
			i.as = proof(me.Type)
			return i, s.o.Store.CreateInvitation(ctx, me, i, over, key.With(i.ID, strconv.FormatInt(i.Created, 10)))
		})
	}, func(ctx context.Context, result []string) (Invitation, error) {
		created, err := strconv.ParseInt(result[1], 10, 64)
		if err != nil {
			return Invitation{}, err
		}
		return domain.Gone(domain.First(s.InvitationsByID(ctx, []InvitationID{{Project: id, Created: created, ID: result[0]}})))
	})
}

// inviting returns a team that one can be invited to.
func (s *Service) inviting(ctx context.Context, ref Ref[TeamID]) (Team, error) {
	t, err := domain.First(s.TeamsByID(ctx, []Ref[TeamID]{ref}))
	switch {
	case err != nil:
		return Team{}, err
	case !t.DeletedAt.IsZero():
		return Team{}, notFound("team")
	case t.Type == Manager:
		return Team{}, fault.Invalidf("input.teamId", "nobody is invited to a team of managers by a link: add them one by one")
	}
	return t, nil
}

// makeRoom returns the oldest invitations that have to go before another one is created.
func makeRoom(newestFirst []Invitation, now time.Time) ([]Invitation, error) {
	excess := len(newestFirst) - MaxInvitations + 1
	var over []Invitation
	for _, i := range slices.Backward(newestFirst) {
		if len(over) < excess && i.Over(now) {
			over = append(over, i)
		}
	}
	if len(over) < excess {
		return nil, fault.New(fault.Exhausted, "a project has at most %d open invitations: revoke one first", MaxInvitations)
	}
	return over, nil
}

// RevokeInvitation is the input of [Service.RevokeInvitation].
type RevokeInvitation struct {
	Invitation     InvitationID
	IdempotencyKey *string `json:"-"`
}

// RevokeInvitation ends an invitation, for managers, and returns it. Who has joined by it stays. One that was revoked before is left as it is.
func (s *Service) RevokeInvitation(ctx context.Context, in RevokeInvitation) (Invitation, error) {
	return once(ctx, s, "revokeProjectInvitation", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Invitation, error) {
		i, err := s.invitation(ctx, in.Invitation)
		if err != nil {
			return Invitation{}, err
		}
		as := i.as
		i, err = s.o.Store.RevokeInvitation(ctx, viewer.From(ctx).UserID, i.InvitationID, domain.Later(s.o.Now, i.CreatedAt()), key.With(i.ID))
		s.showInvitation(&i, as)
		return i, err
	}, func(ctx context.Context, _ []string) (Invitation, error) {
		return domain.Gone(s.invitation(ctx, in.Invitation))
	})
}

// invitation returns the invitation, for managers.
func (s *Service) invitation(ctx context.Context, id InvitationID) (Invitation, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Invitation{}, err
	}
	return domain.First(s.InvitationsByID(ctx, []InvitationID{id}))
}
