package labelling_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// truth is a store in memory, which TestTheTruthInMemoryKeepsTheContract holds to the contract. Scans show it page by page as it is at each page; hooks break it.
type truth struct {
	mu       sync.Mutex
	projects map[project.ID]project.Project
	members  map[project.UserID]project.Member
	labels   []project.Label
	teams    []project.Team
	items    map[string]project.Item
	efforts  map[string]project.Effort
	outbox   map[string]labelling.Transition
	keys     map[string]idempotency.Key
	calls    map[string]int
	marks    map[project.ID]labelling.Mark
	removals map[string]project.Removal
	imports  map[string]project.Import
	moved    map[string]string // the transition by which each item was changed last

	// before is called before each operation, after after a write was stored; an error is what the caller gets.
	before, after func(what string) error
	pageSize      int
	sameTime      bool // moves may follow one another within a millisecond

	// lag has scans show what changed since then as it is, as it was, or not at all.
	lag struct {
		show    func(what string) int // 0 hidden, 1 as it was, 2 as it is; nil for no lag
		items   map[string]project.Item
		efforts map[string]project.Effort
	}
}

// lags has the indexes lag behind from now on.
func (s *truth) lags(show func(what string) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag.show, s.lag.items, s.lag.efforts = show, maps.Clone(s.items), maps.Clone(s.efforts)
}

// indexed returns what a shard of an index shows. The others are not copied: that is most of what a scan would cost.
func indexed[T any](what string, show func(string) int, was, is map[string]T, n int, same func(a, b T) bool) []T {
	var list []T
	for id := range is {
		if shard(id) != n {
			continue
		}
		v := is[id]
		if show != nil {
			if old, there := was[id]; !there || !same(old, v) {
				switch n := show(what); {
				case n == 0, n == 1 && !there:
					continue
				case n == 1:
					v = old
				}
			}
		}
		list = append(list, v)
	}
	return list
}

func newTruth() *truth {
	return &truth{
		projects: map[project.ID]project.Project{}, members: map[project.UserID]project.Member{}, items: map[string]project.Item{},
		efforts: map[string]project.Effort{}, outbox: map[string]labelling.Transition{}, keys: map[string]idempotency.Key{},
		calls: map[string]int{}, moved: map[string]string{}, marks: map[project.ID]labelling.Mark{},
		removals: map[string]project.Removal{}, imports: map[string]project.Import{}, pageSize: 3,
	}
}

var errLost = fault.New(fault.Unavailable, "the answer was lost")

// setBefore sets the hook of before. Servers work in the background, so that it changes under the lock.
func (s *truth) setBefore(hook func(what string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = hook
}

// setAfter sets the hook of after.
func (s *truth) setAfter(hook func(what string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = hook
}

// begin counts a call and asks the hook; it holds the lock afterwards.
func (s *truth) begin(what string) error {
	s.mu.Lock()
	hook := s.before
	s.calls[what]++
	s.mu.Unlock()
	var err error
	if hook != nil {
		err = hook(what)
	}
	s.mu.Lock()
	return err
}

func (s *truth) end(what string) error {
	hook := s.after
	if hook == nil {
		return nil
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	return hook(what)
}

// shard is FNV-1a, without an allocation: scans ask for it again and again.
func shard(id string) int {
	h := uint32(2166136261)
	for _, c := range []byte(id) {
		h = (h ^ uint32(c)) * 16777619
	}
	return int(h % labelling.Shards)
}

var missing = fault.New(fault.NotFound, "there is no such thing")

func byID[K comparable, V any](ids []K, get func(K) (V, bool)) ([]V, []error) {
	values, errs := make([]V, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		v, ok := get(id)
		if values[i] = v; !ok {
			errs[i] = missing
		}
	}
	return values, errs
}

func all[V any](n int, err error) ([]V, []error) {
	return make([]V, n), slices.Repeat([]error{err}, n)
}

func (s *truth) ItemsByID(_ context.Context, user project.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	err := s.begin("ItemsByID")
	defer s.mu.Unlock()
	if err != nil {
		items, errs := all[project.Item](len(ids), err)
		return items, nil, errs
	}
	members := map[project.ID]project.Member{}
	if m, ok := s.members[user]; ok {
		members[m.Project] = m
	}
	items, errs := byID(ids, func(id project.ItemID) (project.Item, bool) {
		i, ok := s.items[id.ID]
		return i, ok && i.Project == id.Project
	})
	return items, members, errs
}

func (s *truth) EffortsByID(_ context.Context, ids []project.EffortID) ([]project.Effort, []error) {
	err := s.begin("EffortsByID")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Effort](len(ids), err)
	}
	return byID(ids, func(id project.EffortID) (project.Effort, bool) { e, ok := s.efforts[id.ID]; return e, ok })
}

func (s *truth) LabelsByID(_ context.Context, ids []project.LabelID) ([]project.Label, []error) {
	err := s.begin("LabelsByID")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Label](len(ids), err)
	}
	return byID(ids, func(id project.LabelID) (project.Label, bool) {
		n := slices.IndexFunc(s.labels, func(l project.Label) bool { return l.LabelID == id })
		if n < 0 {
			return project.Label{}, false
		}
		return s.labels[n], true
	})
}

func (s *truth) ListLabels(_ context.Context, ids []project.ID) ([][]project.Label, []error) {
	err := s.begin("ListLabels")
	defer s.mu.Unlock()
	return [][]project.Label{slices.Clone(s.labels)}, slices.Repeat([]error{err}, len(ids))
}

func (s *truth) ListToReview(_ context.Context, r project.ReviewsRequest) (page.Slice[project.Effort], error) {
	err := s.begin("ListToReview")
	defer s.mu.Unlock()
	var found []project.Effort
	for _, id := range slices.Sorted(maps.Keys(s.efforts)) {
		if e := s.efforts[id]; err == nil && e.AwaitsReview() && e.User != r.Except && (r.Author == "" || r.Author == e.User) && (r.Category == "" || r.Category == e.Category) && id > r.Window.From {
			found = append(found, e)
		}
	}
	return page.Fill(r.Window, found[:min(len(found), r.Window.Limit+1)], func(e project.Effort) string { return e.ID }), err
}

func (s *truth) ListTeams(_ context.Context, ids []project.ID) ([][]project.Team, []error) {
	err := s.begin("ListTeams")
	defer s.mu.Unlock()
	return [][]project.Team{slices.Clone(s.teams)}, slices.Repeat([]error{err}, len(ids))
}

func (s *truth) ProjectsByID(_ context.Context, user project.UserID, ids []project.ID) ([]project.Project, []error) {
	err := s.begin("ProjectsByID")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Project](len(ids), err)
	}
	return byID(ids, func(id project.ID) (project.Project, bool) {
		p, ok := s.projects[id]
		if m := s.members[user]; m.Project == id {
			p.Member = m
		}
		return p, ok
	})
}

func (s *truth) ProjectAs(_ context.Context, id project.ID, users []project.UserID) ([]project.Project, []error) {
	err := s.begin("ProjectAs")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Project](len(users), err)
	}
	return byID(users, func(user project.UserID) (project.Project, bool) {
		p, ok := s.projects[id]
		if m := s.members[user]; m.Project == id {
			p.Member = m
		}
		return p, ok
	})
}

func (s *truth) UpdateProject(_ context.Context, before, after project.Project, once idempotency.Key) error {
	err := s.begin("UpdateProject")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.use(once); err != nil {
		return err
	}
	if s.projects[before.ID].Version != before.Version {
		return &project.VersionConflict{Current: s.projects[before.ID]}
	}
	after.Member = project.Member{}
	s.projects[after.ID] = after
	s.record(once)
	return s.end("UpdateProject")
}

func (s *truth) FindIdempotencyKey(_ context.Context, key idempotency.Key) error {
	err := s.begin("FindIdempotencyKey")
	defer s.mu.Unlock()
	return errors.Join(err, s.use(key))
}

func (s *truth) use(key idempotency.Key) error {
	used, ok := s.keys[key.Viewer+"/"+key.Key]
	switch {
	case !key.Given() || !ok:
		return nil
	case string(used.Hash) != string(key.Hash):
		return idempotency.ErrMismatch
	}
	return &idempotency.Replayed{Result: used.Result}
}

func (s *truth) record(key idempotency.Key) {
	if key.Given() {
		s.keys[key.Viewer+"/"+key.Key] = key
	}
}

func (s *truth) MoveItem(_ context.Context, m labelling.Move, once idempotency.Key) error {
	err := s.begin("MoveItem")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.use(once); err != nil {
		return err
	}
	current, ok := s.items[m.Before.ID]
	if !ok {
		return missing
	}
	if m.Transition != nil && s.moved[m.Before.ID] == m.Transition.ID {
		return s.end("MoveItem") // the same once more
	}
	if current.Version != m.Before.Version {
		return &project.ItemConflict{Current: current}
	}
	if m.After.Version != m.Before.Version+1 || !s.sameTime && !m.After.UpdatedAt.After(m.Before.UpdatedAt) {
		return fmt.Errorf("version %d follows version %d", m.After.Version, m.Before.Version)
	}
	for _, e := range []*project.Effort{m.Effort, m.Correction} {
		if e == nil {
			continue
		}
		_, there := s.efforts[e.ID]
		switch known := e == m.Effort && m.Known != nil; {
		case known && !there:
			return missing
		case there && !known:
			return fmt.Errorf("effort %s is there", e.ID)
		}
	}
	if len(m.Efforts) > labelling.MostEfforts {
		return fmt.Errorf("%d efforts in one transaction", len(m.Efforts))
	}
	if m.Effort != nil {
		s.efforts[m.Effort.ID] = *m.Effort
	}
	if m.Correction != nil {
		s.efforts[m.Correction.ID] = *m.Correction
	}
	for _, e := range m.Efforts {
		s.efforts[e.ID] = e
	}
	s.items[m.After.ID] = m.After
	delete(s.moved, m.After.ID)
	if m.Transition != nil {
		s.moved[m.After.ID] = m.Transition.ID
		s.outbox[m.Transition.ID] = *m.Transition
	}
	s.record(once)
	return s.end("MoveItem")
}

func (s *truth) ListOutbox(_ context.Context, before time.Time, limit int) ([]labelling.Transition, error) {
	err := s.begin("ListOutbox")
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var list []labelling.Transition
	for _, t := range s.outbox {
		if t.At.Before(before) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b labelling.Transition) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Version, b.Version))
	})
	return list[:min(limit, len(list))], nil
}

func (s *truth) DeleteOutbox(_ context.Context, done []labelling.Transition) error {
	err := s.begin("DeleteOutbox")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, t := range done {
		delete(s.outbox, t.ID)
	}
	return s.end("DeleteOutbox")
}

func (s *truth) FindOutbox(_ context.Context, item string, r project.TransitionRef) (labelling.Transition, bool, error) {
	err := s.begin("FindOutbox")
	defer s.mu.Unlock()
	t, there := s.outbox[r.ID]
	return t, there && t.Item == item && t.At.Equal(r.At), err
}

func (s *truth) LastPending(_ context.Context, items []project.Item) ([]bool, error) {
	err := s.begin("LastPending")
	defer s.mu.Unlock()
	pending := make([]bool, len(items))
	for n, i := range items {
		_, pending[n] = s.outbox[i.LastTransition.ID]
	}
	return pending, err
}
