// Package storetest is what the suites in the folders below have in common: they hold the stores of the domain to their contracts, on whatever
// implementation they are handed.
//
// It knows users and notes, which all others need. It must not know any implementation. Start reading at [World].
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

// Patient returns a context of the test in which a call has as much time as a busy machine may need: what is bounded by a part of
// what the caller has left is then done, not left to a task.
func Patient(t testing.TB) context.Context {
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
	T        testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock.
func NewWorld(t testing.TB, s Stores, clock *Clock) *World {
	return &World{
		Stores: s, Clock: clock, Rules: note.NewService(note.Options{Store: s.Notes, Now: clock.Now, NewID: uuid.NewString}),
		cleaning: note.NewCleaning(s.Notes, clock.Now), T: t,
	}
}

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// Run runs the tests of a suite side by side, each in a world of its own. A world that can be settled is, when its test is over.
func Run[W any](t *testing.T, world func(*testing.T, *Clock) W, tests map[string]func(*testing.T, W)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(t, NewClock())
			test(t, w)
			if w, can := any(w).(interface{ Settled() }); can {
				w.Settled()
			}
		})
	}
}

// SignUp creates a user and returns its id with a context in which it asks.
func (w *World) SignUp(name string) (viewer.UserID, context.Context) {
	w.T.Helper()
	u := user.User{
		ID: user.ID(uuid.NewString()), Name: name, Email: name + "@example.com", Version: 1,
		CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(),
	}
	assert.NoError(w.T, w.Users.CreateUser(w.T.Context(), u, "issuer", name, idempotency.Key{}))
	return u.ID, w.As(u.ID)
}

// SignUpMany creates n users and returns their ids.
func (w *World) SignUpMany(name string, n int) []viewer.UserID {
	w.T.Helper()
	ids := make([]viewer.UserID, n)
	Together(n, func(i int) { ids[i], _ = w.SignUp(fmt.Sprint(name, " ", i)) })
	return ids
}

// As returns a context in which the user asks.
func (w *World) As(id viewer.UserID) context.Context {
	return viewer.With(w.T.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// Create creates a note of the asking user; its content is its title unless it has one.
func (w *World) Create(ctx context.Context, in note.Create) note.Note {
	w.T.Helper()
	if in.Content == "" {
		in.Content = in.Title
	}
	n, err := w.Rules.Create(ctx, in)
	assert.NoError(w.T, err)
	return n
}

// Share shares a note of the asking user.
func (w *World) Share(ctx context.Context, id note.ID, with viewer.UserID, p note.Permission) {
	w.T.Helper()
	_, err := w.Rules.Share(ctx, note.PutShare{Note: id, User: with, Permission: p})
	assert.NoError(w.T, err)
}

// Open opens a note that is shared with the asking user.
func (w *World) Open(ctx context.Context, id note.ID) {
	w.T.Helper()
	_, err := w.Rules.Open(ctx, note.OpenShare{Note: id})
	assert.NoError(w.T, err)
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
	w.T.Helper()
	s, err := w.ListVersions(ctx, n, page.Window{Limit: page.Max})
	require.NoError(w.T, err)
	var numbers []int
	for _, v := range s.Items {
		numbers = append(numbers, v.Number)
	}
	return numbers
}

// Access returns the users with whom a note is shared, read alone and so through the index of the note.
func (w *World) Access(n note.Note) []viewer.UserID {
	w.T.Helper()
	lists, errs := w.Notes.AccessLists(w.T.Context(), []note.AccessRequest{{Note: n.ID, Owner: n.Owner, Window: page.Window{Limit: page.Max}}})
	require.Nil(w.T, errs)
	var users []viewer.UserID
	for _, s := range lists[0].Items {
		users = append(users, s.User)
	}
	return users
}

// Tagged returns the titles of the notes that carry a tag.
func (w *World) Tagged(ctx context.Context, author viewer.UserID, value string) []string {
	w.T.Helper()
	s, err := w.ListByTag(ctx, tag.ID{Author: author, Key: tag.Fold(value)}, page.Window{Limit: page.Max})
	require.NoError(w.T, err)
	titles := []string{}
	for _, f := range s.Items {
		require.NoError(w.T, f.Err)
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
	lists, errs := w.Notes.ListVersionsOf(ctx, []note.VersionsRequest{n.Versions(win)})
	if errs != nil {
		return lists[0], errs[0]
	}
	return lists[0], nil
}

// Titles returns the titles of all notes due in a range, in order.
func (w *World) Titles(ctx context.Context, owner viewer.UserID, due note.Due) []string {
	w.T.Helper()
	s, err := w.Rules.ListByDeadline(ctx, owner, due, page.Window{Limit: page.Max})
	require.NoError(w.T, err)
	titles := []string{}
	for _, n := range s.Items {
		titles = append(titles, n.Title)
	}
	return titles
}

// Walk reads a list page by page in one direction and returns the positions in list order. It checks that every page but
// the last is full, and what is said about both sides of it.
func Walk[T any](t require.TestingT, limit int, backward bool, list func(page.Window) (page.Slice[T], error)) []string {
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

// Pages checks that a list read in pages, forward and backward, is the list read whole, and returns its positions.
func Pages[T any](t require.TestingT, limit int, list func(page.Window) (page.Slice[T], error)) []string {
	whole := Walk(t, page.Max, false, list)
	for _, backward := range []bool{false, true} {
		require.Equal(t, whole, Walk(t, limit, backward, list), "pages of %d, backward %t", limit, backward)
	}
	seen := map[string]bool{}
	for _, p := range whole {
		require.False(t, seen[p], "%q is in the list twice", p)
		seen[p] = true
	}
	return whole
}

// IsFault requires an error of the kind.
func IsFault(t require.TestingT, err error, kind fault.Kind) {
	require.Error(t, err)
	require.True(t, fault.Is(err, kind), "want %s, got %v", kind, err)
}

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

// Together does n things, eight at a time.
func Together(n int, do func(i int)) {
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

// Numbered returns "prefix 0", "prefix 1" and so on.
func Numbered(prefix string, n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return s
}

// Day returns midnight of a day in 2027.
func Day(month time.Month, d int) time.Time { return time.Date(2027, month, d, 0, 0, 0, 0, time.UTC) }

// Delete deletes a note, by the rules.
func (w *World) Delete(ctx context.Context, id note.ID) {
	w.T.Helper()
	_, err := w.Rules.Delete(ctx, note.Delete{ID: id})
	assert.NoError(w.T, err)
}

// Clean runs the clean-up of everything that is due.
func (w *World) Clean() error {
	return w.cleaning.Run(w.T.Context())
}

// Remains returns what is left of a deleted note: shares, versions, and whether there is a tombstone.
func (w *World) Remains(n note.Note) (shares, versions int, tombstone bool) {
	w.T.Helper()
	s, err := w.ListVersions(w.T.Context(), n, page.Window{Limit: page.Max})
	require.NoError(w.T, err)
	// Looked at before the time of undoing is over, a tombstone that is there is found.
	now := w.Clock.Now()
	w.Clock.Advance(n.UpdatedAt.Sub(now))
	defer w.Clock.Advance(now.Sub(n.UpdatedAt))
	_, _, err = w.Notes.FindDeleted(w.T.Context(), n.Owner, n.ID)
	if err != nil {
		IsFault(w.T, err, fault.NotFound)
	}
	return len(w.Access(n)), len(s.Items), err == nil
}

// Attempts does things together and returns the error of each.
func Attempts(n int, do func(i int) error) []error {
	errs := make([]error, n)
	Together(n, func(i int) { errs[i] = do(i) })
	return errs
}

// User returns a user as stored.
func (w *World) User(t require.TestingT, id user.ID) user.User {
	users, errs := w.Users.UsersByID(w.T.Context(), []user.ID{id})
	require.Nil(t, errs)
	return users[0]
}
