package project

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// CreateTeam is the input of [Service.CreateTeam].
type CreateTeam struct {
	Project        ID
	Name           string
	Type           TeamType
	IdempotencyKey *string `json:"-"`
}

// CreateTeam creates a team, for managers. It returns [NameTaken] as an expected outcome, wrapped in a fault that names the
// field.
func (s *Service) CreateTeam(ctx context.Context, in CreateTeam) (Team, error) {
	name, err := parseName("input.name", "a name", in.Name)
	if err != nil {
		return Team{}, err
	}
	if in.Type.rank() == 0 {
		return Team{}, fault.Invalidf("input.type", "there is no such type of teams")
	}
	return once(ctx, s, "createTeam", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Team, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Team{}, err
		}
		t := Team{
			TeamID: TeamID{Project: in.Project, ID: s.o.NewID()}, Name: name, Type: in.Type, CreatedAt: domain.Later(s.o.Now, time.Time{}),
			as: proof(p.Member.Type),
		}
		if t, err = s.putTeam(ctx, t, true, key); err == nil {
			s.tellChanged(ctx, p)
		}
		return t, err
	}, func(ctx context.Context, result []string) (Team, error) {
		return domain.Gone(s.team(ctx, TeamID{Project: in.Project, ID: result[0]}, Taggie))
	})
}

// RenameTeam is the input of [Service.RenameTeam].
type RenameTeam struct {
	Team           TeamID
	Name           string
	IdempotencyKey *string `json:"-"`
}

// RenameTeam changes the name of a team, for managers. It returns [NameTaken] as an expected outcome, wrapped in a fault that
// names the field.
func (s *Service) RenameTeam(ctx context.Context, in RenameTeam) (Team, error) {
	name, err := parseName("input.name", "a name", in.Name)
	if err != nil {
		return Team{}, err
	}
	return once(ctx, s, "renameTeam", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Team, error) {
		t, err := s.team(ctx, in.Team, Manager)
		if err != nil {
			return Team{}, err
		}
		t.Name = name
		return s.putTeam(ctx, t, false, key)
	}, func(ctx context.Context, result []string) (Team, error) {
		return domain.Gone(s.team(ctx, in.Team, Taggie))
	})
}

// DeleteTeam is the input of [Service.DeleteTeam].
type DeleteTeam struct {
	Team           TeamID
	MoveTo         *TeamID // its members; nil when they leave the project
	IdempotencyKey *string `json:"-"`
}

// DeleteTeam deletes a team, for managers. Its members move to another team, or leave, in the same step, or by a task if they are more than
// [MembersAtOnce]. What they did still tells of the team. It returns the team; [ErrLastManager] is an expected outcome.
func (s *Service) DeleteTeam(ctx context.Context, in DeleteTeam) (Team, error) {
	if in.MoveTo != nil && (in.MoveTo.Project != in.Team.Project || in.MoveTo.ID == in.Team.ID) {
		return Team{}, fault.Invalidf("input.moveTo", "give another team of the same project")
	}
	return once(ctx, s, "deleteTeam", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Team, error) {
		t, err := s.team(ctx, in.Team, Manager)
		if err != nil || !t.DeletedAt.IsZero() {
			return t, err
		}
		if in.MoveTo != nil {
			if _, err := s.team(ctx, *in.MoveTo, Manager); err != nil {
				return Team{}, err
			}
			t.Into = in.MoveTo.ID
		}
		t.DeletedAt = domain.Later(s.o.Now, t.CreatedAt)
		follow := task.Task{Kind: RunTeam, ID: t.ID, Scope: string(t.Project), Due: t.DeletedAt}
		moved, _, err := s.o.Store.DeleteTeam(ctx, viewer.From(ctx).UserID, t, []task.Task{follow}, key.With(t.ID))
		if err != nil {
			return Team{}, err
		}
		s.tellEmptied(ctx, t, moved)
		return t, nil
	}, func(ctx context.Context, _ []string) (Team, error) { return domain.Gone(s.team(ctx, in.Team, Taggie)) })
}

// EmptyTeam moves the members of a deleted team that has more than [MembersAtOnce]. Of a deleted project, whose members are those of no team, it
// waits for the end. It is the [task.Handler] of [RunTeam].
func (s *Service) EmptyTeam(ctx context.Context, of task.Task) (time.Time, error) {
	id := TeamID{Project: ID(of.Scope), ID: of.ID}
	for {
		p, err := domain.First(s.o.Store.ProjectsByID(ctx, "", []ID{id.Project}))
		if err != nil {
			return time.Time{}, domain.IgnoreMissing(err)
		}
		if p.Deletion.State != "" {
			return s.o.Now().Add(emptyAgain), nil
		}
		if err := s.emptyTeam(ctx, id); err != nil {
			return time.Time{}, err
		}
		// Nobody is in the team, or all are former members since the project was deleted a moment ago.
		now, err := domain.First(s.o.Store.ProjectsByID(ctx, "", []ID{id.Project}))
		if err != nil || now.Version == p.Version {
			return time.Time{}, domain.IgnoreMissing(err)
		}
	}
}

// emptyTeam moves members until it finds none. The team is gone with its project.
func (s *Service) emptyTeam(ctx context.Context, id TeamID) error {
	t, err := domain.First(s.o.Store.TeamsByID(ctx, []TeamID{id}))
	for err == nil {
		var moved []Member
		if moved, err = s.o.Store.EmptyTeam(ctx, t); len(moved) == 0 {
			break
		}
		s.tellEmptied(ctx, t, moved)
	}
	return domain.IgnoreMissing(err)
}

// tellEmptied tells of members that a deleted team has no more.
func (s *Service) tellEmptied(ctx context.Context, t Team, moved []Member) {
	for _, m := range moved {
		if m.Team == "" {
			s.tellLeft(ctx, t.Project, m.User)
		} else {
			s.tellMoved(ctx, t.Project, m.User, m.Team)
		}
	}
}

func (s *Service) putTeam(ctx context.Context, t Team, create bool, key idempotency.Key) (Team, error) {
	err := s.o.Store.PutTeam(ctx, viewer.From(ctx).UserID, t, create, key.With(t.ID))
	if errors.Is(err, NameTaken) {
		return Team{}, nameTaken("input.name")
	}
	return t, err
}

// team returns the team when the viewer may do what needs the role.
func (s *Service) team(ctx context.Context, id TeamID, need TeamType) (Team, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Team{}, err
	}
	t, err := domain.First(s.TeamsByID(ctx, []Ref[TeamID]{{ID: id}}))
	if err != nil {
		return Team{}, err
	}
	return t, allow(t.as, need, "team")
}

// PutMember is the input of [Service.PutMember]. One of User and Email names the user.
type PutMember struct {
	Team           TeamID
	User           UserID
	Email          *string
	IdempotencyKey *string `json:"-"`
}

// field returns the input field that names the user.
func (in PutMember) field() string {
	if in.Email != nil {
		return "input.email"
	}
	return "input.userId"
}

// PutMember adds a user to a team, or moves the user there from another one of the project, for managers. It returns
// *[UnknownUser] and [ErrLastManager] as expected outcomes.
func (s *Service) PutMember(ctx context.Context, in PutMember) (Member, error) {
	if (in.User == "") == (in.Email == nil) {
		return Member{}, fault.Invalidf("input.userId", "give one of userId and email")
	}
	return once(ctx, s, "putProjectMember", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Member, error) {
		// The team comes first: whether an address is in use is told to managers only.
		team, err := s.team(ctx, in.Team, Manager)
		if err != nil {
			return Member{}, err
		}
		user := in.User
		if in.Email != nil {
			if user, err = s.o.People.Lookup(ctx, *in.Email); fault.Is(err, fault.NotFound) {
				return Member{}, &UnknownUser{Field: in.field()}
			} else if err != nil {
				return Member{}, err
			}
		}
		m := Member{Project: team.Project, User: user, Team: team.ID, Type: team.Type, AddedAt: domain.Later(s.o.Now, time.Time{}), as: team.as}
		before, err := s.member(ctx, team.Project, user)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return Member{}, err
		}
		if err == nil && before.Team == m.Team {
			m.AddedAt = before.AddedAt
		}
		err = s.o.Store.PutMember(ctx, viewer.From(ctx).UserID, m, key.With(string(user)))
		if _, unknown := errors.AsType[*UnknownUser](err); unknown {
			return Member{}, &UnknownUser{Field: in.field()}
		}
		if err == nil && before.Team != m.Team {
			s.tellMoved(ctx, m.Project, user, m.Team)
		}
		return m, err
	}, func(ctx context.Context, result []string) (Member, error) {
		p, err := s.get(ctx, in.Team.Project, Taggie)
		if err != nil {
			return domain.Gone(Member{}, err)
		}
		m, err := s.member(ctx, p.ID, UserID(result[0]))
		m.as = proof(p.Member.Type)
		return domain.Gone(m, err)
	})
}

func (s *Service) member(ctx context.Context, id ID, user UserID) (Member, error) {
	return domain.First(s.o.Store.MembersByID(ctx, id, []UserID{user}))
}

// RemoveMember is the input of [Service.RemoveMember].
type RemoveMember struct {
	Project        ID
	User           UserID
	IdempotencyKey *string `json:"-"`
}

// RemoveMember removes a user from a project, for managers, and for the user, also when there is no such project: who is no
// member has left already. It returns [ErrLastManager] as an expected outcome.
func (s *Service) RemoveMember(ctx context.Context, in RemoveMember) error {
	me, err := domain.Self(ctx)
	if err != nil {
		return err
	}
	_, err = once(ctx, s, "removeProjectMember", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (struct{}, error) {
		if in.User != me {
			if _, err := s.get(ctx, in.Project, Manager); err != nil {
				return struct{}{}, err
			}
		}
		// Of who is no member nothing is told: everybody may ask to leave any project.
		_, err := s.member(ctx, in.Project, in.User)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return struct{}{}, err
		}
		was := err == nil
		err = s.o.Store.DeleteMember(ctx, me, in.Project, in.User, key.With(string(in.User)))
		if err == nil && was {
			s.tellLeft(ctx, in.Project, in.User)
		}
		return struct{}{}, err
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}
