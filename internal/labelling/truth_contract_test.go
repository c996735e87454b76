package labelling_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	stored "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
)

// The tests of this package make too many calls for an engine. So the store in memory is held to the contract of the store: whatever
// the suite does, it answers as the store on the engine does.
func TestTheTruthInMemoryKeepsTheContract(t *testing.T) { labellingtest.Suite(t, openBoth) }

func openBoth(t *testing.T, now func() time.Time) labellingtest.Stores {
	db, _ := dynamotest.OpenDB(t, now)
	b := &both{Truth: stored.Store{Store: projects.Store{DB: db}}, memory: newTruth(), t: t}
	b.memory.sameTime = true
	s := dynamotest.ProjectStores(db)
	s.Projects, s.Mover = filled{s.Projects, b}, b
	return labellingtest.Stores{Stores: s, Truth: b}
}

// both is the store on the engine, beside the one in memory: what both are asked they answer alike.
type both struct {
	labelling.Truth
	memory *truth
	t      *testing.T
	mu     sync.Mutex // over one question to both
}

// filled has the items that are imported in both.
type filled struct {
	project.Store
	b *both
}

func (f filled) ImportItems(ctx context.Context, items []project.Item) (int, []project.Item, error) {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	created, there, err := f.Store.ImportItems(ctx, items)
	if err == nil {
		for _, i := range items {
			if _, known := f.b.memory.items[i.ID]; !known {
				f.b.memory.items[i.ID] = i
			}
		}
	}
	return created, there, err
}

func (f filled) CreateProject(ctx context.Context, p project.Project, labels []project.Label, t project.Team, m project.Member, once idempotency.Key) error {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	err := f.Store.CreateProject(ctx, p, labels, t, m, once)
	if err == nil {
		p.Member = project.Member{}
		f.b.memory.projects[p.ID] = p
	}
	return err
}

// alike checks that two errors say the same.
func (b *both) alike(what string, want, got error) {
	b.t.Helper()
	if !agreed[*project.ItemConflict](b, what, want, got) && !agreed[*labelling.MarkMoved](b, what, want, got) && !agreed[*idempotency.Replayed](b, what, want, got) {
		assert.Equal(b.t, want == nil, got == nil, "%s: %v and %v", what, want, got)
		assert.Equal(b.t, fault.Is(want, fault.NotFound), fault.Is(got, fault.NotFound), "%s: %v and %v", what, want, got)
	}
}

// agreed checks two errors when the first is of the type; false when it is none.
func agreed[E error](b *both, what string, want, got error) bool {
	b.t.Helper()
	says, is := errors.AsType[E](want)
	if is {
		alike, _ := errors.AsType[E](got)
		assert.Equal(b.t, says, alike, "%s: %v", what, got)
	}
	return is
}

// same checks what is read by ids.
func same[V any](b *both, what string, wants []V, errs []error, has []V, faults []error) {
	b.t.Helper()
	for n := range wants {
		var want, got error
		if errs != nil {
			want = errs[n]
		}
		if faults != nil {
			got = faults[n]
		}
		if b.alike(what, want, got); want == nil {
			assert.Equal(b.t, wants[n], has[n], what)
		}
	}
}

func (b *both) ItemsByID(ctx context.Context, user project.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items, members, errs := b.Truth.ItemsByID(ctx, user, ids)
	has, _, faults := b.memory.ItemsByID(ctx, user, ids)
	same(b, "ItemsByID", items, errs, has, faults)
	return items, members, errs
}

func (b *both) EffortsByID(ctx context.Context, ids []project.EffortID) ([]project.Effort, []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	efforts, errs := b.Truth.EffortsByID(ctx, ids)
	has, faults := b.memory.EffortsByID(ctx, ids)
	same(b, "EffortsByID", efforts, errs, has, faults)
	return efforts, errs
}

func (b *both) MoveItem(ctx context.Context, m labelling.Move, once idempotency.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.MoveItem(ctx, m, once)
	b.alike("MoveItem", err, b.memory.MoveItem(ctx, m, once))
	return err
}

func (b *both) FindIdempotencyKey(ctx context.Context, key idempotency.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.FindIdempotencyKey(ctx, key)
	b.alike("FindIdempotencyKey", err, b.memory.FindIdempotencyKey(ctx, key))
	return err
}

func (b *both) UpdateProject(ctx context.Context, before, after project.Project, once idempotency.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.UpdateProject(ctx, before, after, once)
	b.alike("UpdateProject", err, b.memory.UpdateProject(ctx, before, after, once))
	return err
}

func (b *both) ListOutbox(ctx context.Context, before time.Time, limit int) ([]labelling.Transition, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, err := b.Truth.ListOutbox(ctx, before, limit)
	has, got := b.memory.ListOutbox(ctx, before, limit)
	if b.alike("ListOutbox", err, got); limit >= len(list) { // it is up to the store which of those that are as old come first
		assert.ElementsMatch(b.t, list, has, "ListOutbox")
	}
	return list, err
}

func (b *both) DeleteOutbox(ctx context.Context, done []labelling.Transition) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.DeleteOutbox(ctx, done)
	b.alike("DeleteOutbox", err, b.memory.DeleteOutbox(ctx, done))
	return err
}

func (b *both) FindOutbox(ctx context.Context, item string, r project.TransitionRef) (labelling.Transition, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, there, err := b.Truth.FindOutbox(ctx, item, r)
	has, is, got := b.memory.FindOutbox(ctx, item, r)
	b.alike("FindOutbox", err, got)
	if assert.Equal(b.t, there, is, "FindOutbox"); there {
		assert.Equal(b.t, found, has, "FindOutbox")
	}
	return found, there, err
}

func (b *both) LastPending(ctx context.Context, items []project.Item) ([]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pending, err := b.Truth.LastPending(ctx, items)
	has, got := b.memory.LastPending(ctx, items)
	b.alike("LastPending", err, got)
	assert.ElementsMatch(b.t, pending, has, "LastPending")
	return pending, err
}

func (b *both) ListByStatus(ctx context.Context, p project.ID, status project.Status, shard int, after labelling.Place, limit int) ([]string, labelling.Place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids, next, err := b.Truth.ListByStatus(ctx, p, status, shard, after, limit)
	has, _, got := b.memory.ListByStatus(ctx, p, status, shard, after, limit)
	b.alike("ListByStatus", err, got)
	assert.Equal(b.t, ids, has, "ListByStatus")
	return ids, next, err
}

// scans checks that scans of both show the same, each thing once while nothing moves.
func scans[T any](b *both, ended error, id func(T) string, wants, has []T) {
	b.t.Helper()
	if ended != nil {
		return
	}
	byID := func(x, y T) int { return strings.Compare(id(x), id(y)) }
	slices.SortFunc(wants, byID)
	slices.SortFunc(has, byID)
	assert.Equal(b.t, wants, has, "a scan")
}

func into[T any](all *[]T) func([]T) error {
	return func(some []T) error { *all = append(*all, some...); return nil }
}

func (b *both) ScanItems(ctx context.Context, p project.ID, shard int, page func([]project.Item) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var wants, has []project.Item
	err := b.Truth.ScanItems(ctx, p, shard, func(some []project.Item) error { wants = append(wants, some...); return page(some) })
	assert.NoError(b.t, b.memory.ScanItems(ctx, p, shard, into(&has)))
	scans(b, err, func(i project.Item) string { return i.ID }, wants, has)
	return err
}

func (b *both) ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var wants, has []project.Effort
	err := b.Truth.ScanEfforts(ctx, p, shard, func(some []project.Effort) error { wants = append(wants, some...); return page(some) })
	assert.NoError(b.t, b.memory.ScanEfforts(ctx, p, shard, into(&has)))
	scans(b, err, func(e project.Effort) string { return e.ID }, wants, has)
	return err
}

func (b *both) ItemWithEfforts(ctx context.Context, id project.ItemID) (project.Item, []project.Effort, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	item, efforts, err := b.Truth.ItemWithEfforts(ctx, id)
	is, has, got := b.memory.ItemWithEfforts(ctx, id)
	if b.alike("ItemWithEfforts", err, got); err == nil {
		assert.Equal(b.t, item, is, "ItemWithEfforts")
		assert.ElementsMatch(b.t, efforts, has, "ItemWithEfforts")
	}
	return item, efforts, err
}

func (b *both) Marks(ctx context.Context, ids []project.ID) ([]labelling.Mark, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	marks, err := b.Truth.Marks(ctx, ids)
	has, got := b.memory.Marks(ctx, ids)
	b.alike("Marks", err, got)
	assert.Equal(b.t, marks, has, "Marks")
	return marks, err
}

func (b *both) PutMark(ctx context.Context, p project.ID, before, after labelling.Mark) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.PutMark(ctx, p, before, after)
	b.alike("PutMark", err, b.memory.PutMark(ctx, p, before, after))
	return err
}

func (b *both) ListAllProjects(ctx context.Context, after project.ID, limit int) ([]project.ID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids, err := b.Truth.ListAllProjects(ctx, after, limit)
	has, got := b.memory.ListAllProjects(ctx, after, limit)
	b.alike("ListAllProjects", err, got)
	assert.ElementsMatch(b.t, ids, has, "ListAllProjects")
	return ids, err
}
