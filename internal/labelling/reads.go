package labelling

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/viewer"
)

// Of the following, those that take a project take one that the viewer was shown: its membership is the proof, and nothing is read
// again to find it out.

func shown(p project.Project) error { return allow(p.Member, project.Taggie, "project") }

// State returns what the queue of a project is like.
func (s *Service) State(ctx context.Context, p project.Project) (State, error) {
	if err := shown(p); err != nil {
		return State{}, err
	}
	state, err := s.Coordinator.State(ctx, p.ID)
	return state, s.ready(p.ID, err)
}

// Rebuilding returns how far the rebuild of a project's queue is; nil when there is none.
func (s *Service) Rebuilding(ctx context.Context, p project.Project) (*Progress, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	progress, going, err := s.Coordinator.Rebuilding(ctx, p.ID)
	if err != nil || !going {
		return nil, err
	}
	return &progress, nil
}

// Snapshot returns the state of a queue with the viewer's claims and, if wanted, the statistics of all teams, all of one moment.
func (s *Service) Snapshot(ctx context.Context, p project.Project, statistics bool) (Snapshot, error) {
	if err := shown(p); err != nil {
		return Snapshot{}, err
	}
	var teams []string
	if statistics {
		all, err := domain.First(s.Truth.ListTeams(ctx, []project.ID{p.ID}))
		if err != nil {
			return Snapshot{}, err
		}
		for _, t := range all {
			teams = append(teams, t.ID)
		}
	}
	snapshot, err := s.Coordinator.Snapshot(ctx, p.ID, viewer.From(ctx).UserID, teams)
	return snapshot, s.ready(p.ID, err)
}

// Claims returns what the viewer has, the oldest first.
func (s *Service) Claims(ctx context.Context, p project.Project) ([]Claim, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	claims, err := s.Coordinator.Claims(ctx, p.ID, viewer.From(ctx).UserID)
	return claims, s.ready(p.ID, err)
}

// Statistics returns what the members of teams did, in the order of the teams.
func (s *Service) Statistics(ctx context.Context, p project.Project, teams []string) ([]Statistics, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	all, err := s.Coordinator.StatisticsOf(ctx, p.ID, teams)
	return all, s.ready(p.ID, err)
}

// Top returns the words of a set that are used most.
func (s *Service) Top(ctx context.Context, p project.Project, w Words) ([]Used, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	top, err := s.Coordinator.Top(ctx, p.ID, w)
	return top, s.ready(p.ID, err)
}

// MaxCompletions bounds how many keywords are suggested at once.
const MaxCompletions = 100

// Keywords returns up to n keywords that begin with the prefix, whatever its case, in the order of their folded forms: those that
// somebody uses, and those that the project suggests.
func (s *Service) Keywords(ctx context.Context, p project.Project, prefix string, n int) ([]string, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	if n < 1 || n > MaxCompletions {
		return nil, fault.Invalidf("first", "ask for 1 to %d", MaxCompletions)
	}
	if strings.TrimSpace(prefix) != "" {
		if _, err := project.ParseKeywords("prefix", []string{prefix}, 1); err != nil {
			return nil, err
		}
	}
	words, err := s.Coordinator.Keywords(ctx, p.ID, prefix, n)
	if err != nil {
		return nil, s.ready(p.ID, err)
	}
	for _, suggested := range p.Keywords {
		if strings.HasPrefix(Fold(suggested), Fold(prefix)) && !slices.Contains(words, suggested) {
			words = append(words, suggested)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(Fold(a), Fold(b)), cmp.Compare(a, b)) })
	return words[:min(n, len(words))], nil
}

// MaxHeartbeats bounds in how many projects one can be at work.
const MaxHeartbeats = 20

// Heartbeat says that the viewer is online, and at work in some projects. Those of which the viewer is no member are left out.
func (s *Service) Heartbeat(ctx context.Context, ids []project.ID) error {
	me, err := domain.Self(ctx)
	if err != nil {
		return err
	}
	if len(ids) > MaxHeartbeats {
		return fault.Invalidf("input.projectIds", "give at most %d projects", MaxHeartbeats)
	}
	var mine []project.ID
	if len(ids) > 0 {
		projects, errs := s.Truth.ProjectsByID(ctx, me, ids)
		if err := firstError(errs); err != nil {
			return err
		}
		for i, p := range projects {
			if (errs == nil || errs[i] == nil) && p.Member.Type.May(project.Taggie) {
				mine = append(mine, p.ID)
			}
		}
	}
	return s.Coordinator.Heartbeat(ctx, me, mine)
}

// Online returns who is at work in a project, the one heard of last at the end.
func (s *Service) Online(ctx context.Context, p project.Project) ([]Online, error) {
	if err := shown(p); err != nil {
		return nil, err
	}
	return s.Coordinator.Online(ctx, p.ID)
}

// OnlineCount returns how many users are online.
func (s *Service) OnlineCount(ctx context.Context) (int, error) {
	if _, err := domain.Self(ctx); err != nil {
		return 0, err
	}
	return s.Coordinator.OnlineCount(ctx)
}

// MaxDeadLetters bounds how many are shown at once.
const MaxDeadLetters = 500

// DeadLetters returns the youngest messages that nobody could handle, for administrators.
func (s *Service) DeadLetters(ctx context.Context, n int) ([]DeadLetter, error) {
	if err := domain.AdminsOnly(ctx); err != nil {
		return nil, err
	}
	if n < 1 || n > MaxDeadLetters {
		return nil, fault.Invalidf("first", "ask for 1 to %d", MaxDeadLetters)
	}
	return s.Coordinator.DeadLetters(ctx, n)
}

// RetryDeadLetter has a dead letter handled again, for administrators. [ErrNoDeadLetter].
func (s *Service) RetryDeadLetter(ctx context.Context, id string) error {
	if err := domain.AdminsOnly(ctx); err != nil {
		return err
	}
	return s.Coordinator.RetryDeadLetter(ctx, id)
}

// DropDeadLetter forgets a dead letter, for administrators; its transition stays in the outbox, if it is there. [ErrNoDeadLetter].
func (s *Service) DropDeadLetter(ctx context.Context, id string) error {
	if err := domain.AdminsOnly(ctx); err != nil {
		return err
	}
	return s.Coordinator.DropDeadLetter(ctx, id)
}
