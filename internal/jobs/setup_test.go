package jobs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taggie/taggie/internal/storetest/entitytest"
	"github.com/taggie/taggie/internal/task"
)

// fakeStore keeps tasks in memory, for tests whose time does not pass by itself: no engine can be called in these. The suite of task.Store holds
// it to what all stores of tasks do.
type fakeStore struct {
	mu       sync.Mutex
	now      func() time.Time
	rows     map[string]*fakeRow
	listed   int
	shown    int // by all lists together
	extended int
	listErr  error
	extend   func(context.Context) (bool, error) // in place of ExtendTask
}

type fakeRow struct {
	task.Task // without a token
	token     string
	until     time.Time
}

func newFakeStore(tasks ...task.Task) *fakeStore {
	s := &fakeStore{now: time.Now, rows: map[string]*fakeRow{}}
	for _, t := range tasks {
		_ = s.PutTask(context.Background(), t)
	}
	return s
}

func TestFakeStoreIsAStoreOfTasks(t *testing.T) {
	entitytest.TasksSuite(t, func(_ *testing.T, now func() time.Time) entitytest.Stores {
		s := newFakeStore()
		s.now = now
		return entitytest.Stores{Tasks: s}
	})
}

func name(t task.Task) string { return string(t.Kind) + " " + t.ID }

func (s *fakeStore) PutTask(_ context.Context, t task.Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[name(t)] == nil {
		s.rows[name(t)] = &fakeRow{Task: t}
	}
	return nil
}

func (s *fakeStore) ListDueTasks(_ context.Context, now time.Time, limit int) ([]task.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed++
	var due []task.Task
	for _, row := range s.rows {
		if !row.Due.After(now) && !row.until.After(now) {
			due = append(due, row.Task)
		}
	}
	slices.SortFunc(due, func(a, b task.Task) int { return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.ID, b.ID)) })
	due = due[:min(limit, len(due))]
	s.shown += len(due)
	return due, s.listErr
}

func (s *fakeStore) ClaimTask(_ context.Context, t task.Task, token string, until time.Time) (task.Task, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[name(t)]
	if row == nil || row.until.After(s.now()) {
		return task.Task{}, false, nil
	}
	claimed := row.Task
	claimed.Token = token
	row.token, row.until = token, until
	row.Tries++
	return claimed, true, nil
}

func (s *fakeStore) ExtendTask(ctx context.Context, t task.Task, until time.Time) (bool, error) {
	if s.extend != nil {
		return s.extend(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extended++
	row := s.rows[name(t)]
	if row == nil || row.token != t.Token {
		return false, nil
	}
	row.until = until
	return true, nil
}

func (s *fakeStore) FinishTask(_ context.Context, t task.Task, again time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[name(t)]
	switch {
	case row == nil || row.token != t.Token:
	case again.IsZero():
		delete(s.rows, name(t))
	default:
		row.Due, row.token, row.until = again, "", time.Time{}
	}
	return nil
}

func (s *fakeStore) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	for n := range s.rows {
		left = append(left, n)
	}
	return left
}

// safeBuffer is a log that may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) count(part string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.b.String(), part)
}

// started runs tasks until the returned function has stopped it.
func started(t *testing.T, s task.Store, limit int, handlers map[task.Kind]task.Handler) (*Tasks, *safeBuffer, func()) {
	t.Helper()
	log := new(safeBuffer)
	var mu sync.Mutex
	tokens := 0
	tasks := NewTasks(TasksOptions{Store: s, Handlers: handlers, Log: slog.New(slog.NewTextHandler(log, nil)), Limit: limit, Token: func() string {
		mu.Lock()
		defer mu.Unlock()
		tokens++
		return fmt.Sprintf("%p-%d", log, tokens)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { tasks.Run(ctx); close(ended) }()
	return tasks, log, func() { cancel(); <-ended }
}
