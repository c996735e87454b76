// Package storetest holds the contracts of the domain's stores as test suites.
//
// It knows what the interfaces of internal/user and internal/note promise, and tests it on whatever implementation it is
// handed. It must not know any implementation. Start reading at [Users] and [Notes].
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// Stores is one empty implementation of each store.
type Stores struct {
	Users user.Store
	Notes note.Store
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// Clock is a clock that stands still until it is moved, so that writes happen at the same millisecond: the hard case.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a time in 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// patient returns a context of the test in which a call has as much time as a busy machine may need: what is bounded by a part of
// what the caller has left is then done, not left to a task.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// World is a set of stores with the rules of the notes above them.
type World struct {
	Stores
	Clock *Clock
	Rules *note.Service

	cleaning *note.Cleaning
	t        testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock.
func NewWorld(t testing.TB, s Stores, clock *Clock) *World {
	return &World{
		Stores: s, Clock: clock, Rules: note.NewService(note.Options{Store: s.Notes, Now: clock.Now, NewID: uuid.NewString}),
		cleaning: note.NewCleaning(s.Notes, clock.Now), t: t,
	}
}

// run opens stores for each test of a suite and runs all of them in parallel.
func run(t *testing.T, open Open, tests map[string]func(*testing.T, *World)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			test(t, NewWorld(t, open(t, clock.Now), clock))
		})
	}
}

// SignUp creates a user and returns its id with a context in which it asks.
func (w *World) SignUp(name string) (viewer.UserID, context.Context) {
	w.t.Helper()
	u := user.User{
		ID: user.ID(uuid.NewString()), Name: name, Email: name + "@example.com", Version: 1,
		CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(),
	}
	assert.NoError(w.t, w.Users.CreateUser(w.t.Context(), u, "issuer", name, idempotency.Key{}))
	return u.ID, w.As(u.ID)
}

// SignUpMany creates n users and returns their ids.
func (w *World) SignUpMany(name string, n int) []viewer.UserID {
	w.t.Helper()
	ids := make([]viewer.UserID, n)
	together(n, func(i int) { ids[i], _ = w.SignUp(fmt.Sprint(name, " ", i)) })
	return ids
}

// As returns a context in which the user asks.
func (w *World) As(id viewer.UserID) context.Context {
	return viewer.With(w.t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// Create creates a note of the asking user; its content is its title unless it has one.
func (w *World) Create(ctx context.Context, in note.Create) note.Note {
	w.t.Helper()
	if in.Content == "" {
		in.Content = in.Title
	}
	n, err := w.Rules.Create(ctx, in)
	assert.NoError(w.t, err)
	return n
}

// Share shares a note of the asking user.
func (w *World) Share(ctx context.Context, id note.ID, with viewer.UserID, p note.Permission) {
	w.t.Helper()
	_, err := w.Rules.Share(ctx, note.PutShare{Note: id, User: with, Permission: p})
	assert.NoError(w.t, err)
}

// Get returns the note as the asking user sees it.
func (w *World) Get(ctx context.Context, id note.ID) (note.Note, error) {
	notes, errs := w.Rules.ListByID(ctx, []note.ID{id})
	if errs != nil {
		return notes[0], errs[0]
	}
	return notes[0], nil
}

// Versions returns the numbers of a note's versions, the newest first.
func (w *World) Versions(ctx context.Context, n note.Note) []int {
	w.t.Helper()
	s, err := w.ListVersions(ctx, n, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	var numbers []int
	for _, v := range s.Items {
		numbers = append(numbers, v.Number)
	}
	return numbers
}

// Access returns the users with whom a note is shared, read alone and so through the index of the note.
func (w *World) Access(n note.Note) []viewer.UserID {
	w.t.Helper()
	lists, errs := w.Notes.AccessLists(w.t.Context(), []note.AccessRequest{{Note: n.ID, Owner: n.Owner, Window: page.Window{Limit: page.Max}}})
	require.Nil(w.t, errs)
	var users []viewer.UserID
	for _, s := range lists[0].Items {
		users = append(users, s.User)
	}
	return users
}

// Tagged returns the titles of the notes that carry a tag.
func (w *World) Tagged(ctx context.Context, author viewer.UserID, value string) []string {
	w.t.Helper()
	s, err := w.ListByTag(ctx, tag.ID{Author: author, Key: tag.Fold(value)}, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	titles := []string{}
	for _, f := range s.Items {
		require.NoError(w.t, f.Err)
		titles = append(titles, f.Note.Title)
	}
	return titles
}

// ListByTag returns a page of the notes that carry a tag.
func (w *World) ListByTag(ctx context.Context, id tag.ID, win page.Window) (page.Slice[note.Found], error) {
	lists, errs := w.Rules.ListByTags(ctx, []note.TagRequest{{Tag: id, Window: win}})
	if errs != nil {
		return lists[0], errs[0]
	}
	return lists[0], nil
}

// ListVersions returns a page of the versions of a note.
func (w *World) ListVersions(ctx context.Context, n note.Note, win page.Window) (page.Slice[note.Version], error) {
	lists, errs := w.Notes.ListVersionsOf(ctx, []note.VersionsRequest{{Note: n.ID, Window: win}})
	if errs != nil {
		return lists[0], errs[0]
	}
	return lists[0], nil
}

// Titles returns the titles of all notes due in a range, in order.
func (w *World) Titles(ctx context.Context, owner viewer.UserID, due note.Due) []string {
	w.t.Helper()
	s, err := w.Rules.ListByDeadline(ctx, owner, due, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	titles := []string{}
	for _, n := range s.Items {
		titles = append(titles, n.Title)
	}
	return titles
}

// walk reads a list page by page in one direction and returns the positions in list order. It checks that every page but
// the last is full, and what is said about both sides of it.
func walk[T any](t require.TestingT, limit int, backward bool, list func(page.Window) (page.Slice[T], error)) []string {
	all := []string{}
	w := page.Window{Limit: limit, Backward: backward, Probe: true}
	for {
		s, err := list(w)
		require.NoError(t, err)
		require.Len(t, s.Positions, len(s.Items))
		require.Equal(t, len(all) > 0, s.Other, "on the near side is what was read before")
		require.True(t, !s.More || len(s.Items) == limit, "a page that is not the last is full")
		if backward {
			all = append(append([]string{}, s.Positions...), all...)
		} else {
			all = append(all, s.Positions...)
		}
		if !s.More {
			return all
		}
		require.NotEmpty(t, s.Positions)
		if w.From = s.Positions[len(s.Positions)-1]; backward {
			w.From = s.Positions[0]
		}
	}
}

// pages checks that a list read in pages, forward and backward, is the list read whole, and returns its positions.
func pages[T any](t require.TestingT, limit int, list func(page.Window) (page.Slice[T], error)) []string {
	whole := walk(t, page.Max, false, list)
	for _, backward := range []bool{false, true} {
		require.Equal(t, whole, walk(t, limit, backward, list), "pages of %d, backward %t", limit, backward)
	}
	seen := map[string]bool{}
	for _, p := range whole {
		require.False(t, seen[p], "%q is in the list twice", p)
		seen[p] = true
	}
	return whole
}

func isFault(t require.TestingT, err error, kind fault.Kind) {
	require.Error(t, err)
	require.True(t, fault.Is(err, kind), "want %s, got %v", kind, err)
}

func ptr[T any](v T) *T { return &v }

// together does n things, eight at a time.
func together(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}

// numbered returns "prefix 0", "prefix 1" and so on.
func numbered(prefix string, n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return s
}

// day returns midnight of a day in 2027.
func day(month time.Month, d int) time.Time { return time.Date(2027, month, d, 0, 0, 0, 0, time.UTC) }

// ctx is what a viewer asks with.
type ctx = context.Context
