package labelling

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

// Service carries out what labellers, reviewers and managers ask for. Besides the outcomes that its methods name, all of them
// return NotFound to who is no member of the project, Forbidden to members who may not do this, and Unavailable when a store does
// not answer; [ErrNotReady], which is of that kind, has the queue of the project rebuilt.
type Service struct {
	Options
	populate *Populate
	rebuild  *Rebuilder
	turns    *retry.Turns // of those who change one project, or one item
}

// NewService returns a service that has queues filled and rebuilt by the given ones.
func NewService(o Options, populate *Populate, rebuild *Rebuilder) *Service {
	return &Service{Options: o, populate: populate, rebuild: rebuild, turns: &retry.Turns{}}
}

// allow returns nil when a member may do what needs the role; NotFound for who is none.
func allow(m project.Member, need project.TeamType, what string) error {
	switch {
	case !m.Type.May(project.Taggie):
		return notFound(what)
	case m.Type.May(need):
		return nil
	}
	return fault.New(fault.Forbidden, "only a %s of the project may do this", need)
}

// project returns the project when the viewer may do what needs the role.
func (s *Service) project(ctx context.Context, id project.ID, need project.TeamType) (project.Project, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return project.Project{}, err
	}
	p, err := domain.First(s.Truth.ProjectsByID(ctx, me, []project.ID{id}))
	if err != nil {
		return project.Project{}, err
	}
	return p, allow(p.Member, need, "project")
}

// of is the project of a member, as far as it proves what the member may see.
func of(m project.Member) project.Project { return project.Project{ID: m.Project, Member: m} }

// missing makes of the problem that an item is removed that there is none.
func missing(err error) error {
	if _, removed := errors.AsType[*ItemRemoved](err); removed {
		return notFound("item")
	}
	return err
}

// item returns an item with the viewer's membership in its project. *[ItemRemoved] to members when it was removed.
func (s *Service) item(ctx context.Context, id project.ItemID) (project.Item, project.Member, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return project.Item{}, project.Member{}, err
	}
	items, members, errs := s.Truth.ItemsByID(ctx, me, []project.ItemID{id})
	member := members[id.Project]
	if err := allow(member, project.Taggie, "item"); err != nil {
		if len(errs) > 0 && errs[0] != nil {
			err = errs[0] // which may be that nothing could be read
		}
		return project.Item{}, project.Member{}, err
	}
	item, err := domain.First(items, errs)
	if err == nil && item.Status.Hidden() {
		return project.Item{}, member, &ItemRemoved{}
	}
	return of(member).Item(item), member, err
}

// change reads an item, has the next state decided, and stores it; again when somebody else changed the item meanwhile.
func (s *Service) change(ctx context.Context, id project.ItemID, key idempotency.Key, decide func(project.Item, project.Member) (Move, error)) (Move, project.Member, error) {
	before, member, err := s.item(ctx, id)
	if err != nil {
		return Move{}, member, err
	}
	var conflict *project.ItemConflict
	for range s.turns.Until(ctx, string(id.Project)+" "+id.ID) {
		m, err := decide(before, member)
		if err != nil {
			return Move{}, member, err
		}
		if err = s.move(ctx, &m, key); !errors.As(err, &conflict) {
			return m, member, err
		}
		if before = of(member).Item(conflict.Current); before.Status.Hidden() {
			return Move{}, member, &ItemRemoved{}
		}
	}
	return Move{}, member, retry.Busy("this item")
}

// mine returns *[LeaseLost] when the viewer does not have the item by this token.
func mine(i project.Item, member project.Member, token string, input *Finish) error {
	if i.Status == project.Claimed && i.Claim.User == member.User && i.Claim.Token == token {
		return nil
	}
	return &LeaseLost{Current: i, Input: input}
}

// ready has the queue of a project rebuilt if that is what the error says.
func (s *Service) ready(p project.ID, err error) error {
	if errors.Is(err, ErrNotReady) {
		s.rebuild.Want(p)
	}
	return err
}

// once runs a mutation of the viewer at most once per idempotency key.
func once[T any](ctx context.Context, s *Service, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	return domain.Once(ctx, idempotency.Guard{Store: s.Truth, Now: s.Now}, mutation, key, input, effect, reread)
}

// reread returns the item of an earlier result as it is now; the zero Item when the viewer may not see it any more.
func (s *Service) reread(id project.ItemID) func(context.Context, []string) (project.Item, error) {
	return func(ctx context.Context, _ []string) (project.Item, error) {
		item, _, err := s.item(ctx, id)
		return domain.Gone(item, missing(err))
	}
}

// each does something for all of n, a few at a time, and returns when all is done. A panic of one is the caller's.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
					mu.Unlock()
				}
				<-slots
			}()
			do(i)
		})
	}
	all.Wait()
	if panicked != nil {
		panic(panicked)
	}
}
