package scoretest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Stores is one empty implementation of each store that scores need.
type Stores struct {
	Scores score.Store
	Tasks  task.Store
	// PutItem makes an item exist, DeleteItem removes it; false when it is used.
	PutItem    func(context.Context, score.ItemRef) error
	DeleteItem func(context.Context, score.ItemRef) (bool, error)
	// Check looks at every row and at the keys of what is kept in S3: nothing may be left that nobody uses, and all counts are
	// right. Nil where rows cannot be looked at.
	Check func(t testing.TB, kept []string)
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// Contents keeps the contents of snapshots in memory.
type Contents struct {
	// Fail, if set, is asked before each call: "upload", "open" or "delete".
	Fail func(verb string) error

	mu   sync.Mutex
	Kept map[string][]byte
}

func (c *Contents) fails(verb string) error {
	if c.Fail == nil {
		return nil
	}
	return c.Fail(verb)
}

// Upload puts what write writes under the key.
func (c *Contents) Upload(_ context.Context, key, _ string, write func(io.Writer) error) (int64, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return 0, err
	}
	if err := c.fails("upload"); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Kept[key] = b.Bytes()
	return int64(b.Len()), nil
}

// Open reads what is under the key, or NotFound.
func (c *Contents) Open(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	if err := c.fails("open"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, there := c.Kept[key]
	if !there {
		return nil, fault.New(fault.NotFound, "the file does not exist")
	}
	return io.NopCloser(bytes.NewReader(kept[offset:])), nil
}

// Delete removes what is under the key.
func (c *Contents) Delete(_ context.Context, key string) error {
	if err := c.fails("delete"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.Kept, key)
	return nil
}

// Keys returns the keys of what is kept.
func (c *Contents) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := []string{}
	for key := range c.Kept {
		keys = append(keys, key)
	}
	return keys
}

// Put keeps a content as another server wrote it.
func (c *Contents) Put(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Kept[key] = []byte(text)
}

// World is a set of stores with the rules of scores above them.
type World struct {
	Stores
	Clock    *storetest.Clock
	Rules    *score.Service
	Contents *Contents
	Ada      score.UserID

	t testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock.
func NewWorld(t testing.TB, s Stores, clock *storetest.Clock) *World {
	contents := &Contents{Kept: map[string][]byte{}}
	return &World{Stores: s, Clock: clock, Contents: contents, Ada: score.UserID(uuid.NewString()), t: t,
		Rules: score.NewService(score.Options{Store: s.Scores, Contents: contents, Now: clock.Now, NewID: uuid.NewString})}
}

// As returns a context in which the user asks.
func (w *World) As(id score.UserID) context.Context {
	return viewer.With(storetest.Patient(w.t), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// Hers returns a context in which Ada asks.
func (w *World) Hers() context.Context { return w.As(w.Ada) }

// NewItems makes n items of an owner's library.
func (w *World) NewItems(owner score.UserID, n int) []score.ItemRef {
	w.t.Helper()
	ctx, items := storetest.Patient(w.t), make([]score.ItemRef, n)
	errs := storetest.Attempts(n, func(i int) error {
		items[i] = score.ItemRef{Owner: owner, Score: score.Library, ID: score.ItemID(uuid.NewString())}
		return w.PutItem(ctx, items[i])
	})
	for _, err := range errs {
		require.NoError(w.t, err)
	}
	return items
}

// Pages returns pages of items, with their number as their label.
func Pages(items ...score.ItemRef) []score.NewPage {
	pages := make([]score.NewPage, len(items))
	for i, item := range items {
		pages[i] = score.NewPage{Item: item, Object: "image.jpg", Label: fmt.Sprint(i + 1)}
	}
	return pages
}

// Make creates a score of Ada.
func (w *World) Make(in score.Create) score.Score {
	w.t.Helper()
	if in.Title == "" {
		in.Title = "Sonata"
	}
	s, err := w.Rules.Create(w.Hers(), in)
	require.NoError(w.t, err)
	return s
}

// Update changes a score of Ada.
func (w *World) Update(in score.Update) score.Score {
	w.t.Helper()
	s, err := w.Rules.Update(w.Hers(), in)
	require.NoError(w.t, err)
	return s
}

// Get returns the score as the asking user sees it.
func (w *World) Get(ctx context.Context, ref score.Ref) (score.Score, error) {
	scores, errs := w.Rules.ListByID(ctx, []score.Ref{ref})
	if errs != nil {
		return scores[0], errs[0]
	}
	return scores[0], nil
}

// ScoreAt returns what a snapshot keeps, as the asking user sees it.
func ScoreAt(ctx context.Context, rules *score.Service, id score.SnapshotID) (score.Snapshot, score.Content, error) {
	at, err := shownSnapshot(ctx, rules, id)
	if err != nil {
		return at, score.Content{}, err
	}
	contents, errs := rules.History().ScoresAt(ctx, []score.ContentRequest{at.Content()})
	return at, contents[0], errs[0]
}

// Changes says what has changed since a snapshot.
func Changes(ctx context.Context, rules *score.Service, id score.SnapshotID) (score.Comparison, error) {
	at, err := shownSnapshot(ctx, rules, id)
	if err != nil {
		return score.Comparison{}, err
	}
	all, errs := rules.History().Comparisons(ctx, []score.ContentRequest{at.Content()})
	return all[0], errs[0]
}

func shownSnapshot(ctx context.Context, rules *score.Service, id score.SnapshotID) (score.Snapshot, error) {
	scores, errs := rules.ListByID(ctx, []score.Ref{id.Score})
	if errs != nil && errs[0] != nil {
		return score.Snapshot{}, errs[0]
	}
	snapshots, errs := rules.SnapshotsByID(ctx, []score.SnapshotRequest{scores[0].Snapshot(id.ID)})
	return snapshots[0], errs[0]
}

// Seen returns the score of Ada.
func (w *World) Seen(ref score.Ref) score.Score {
	w.t.Helper()
	s, err := w.Get(w.Hers(), ref)
	require.NoError(w.t, err)
	return s
}

// Texts returns description and annotations of a score of Ada.
func (w *World) Texts(s score.Score) (description string, annotations []string) {
	w.t.Helper()
	var requests []score.TextRequest
	of, there := s.Description()
	if there {
		requests = append(requests, of)
	}
	for i := range s.Annotations {
		requests = append(requests, s.Annotation(i))
	}
	texts, errs := w.Rules.Texts(w.Hers(), requests)
	for i := range texts {
		require.True(w.t, errs == nil || errs[i] == nil, "%v", errs)
	}
	if there {
		return texts[0], texts[1:]
	}
	return "", texts
}

// Snap takes a snapshot of a score of Ada.
func (w *World) Snap(ref score.Ref, name string) score.Snapshot {
	w.t.Helper()
	s, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: ref, Name: name})
	require.NoError(w.t, err)
	return s
}

// Snapshots returns the names of the snapshots of a score of Ada, the newest first.
func (w *World) Snapshots(ref score.Ref) []string {
	w.t.Helper()
	s := w.Seen(ref)
	lists, errs := w.Rules.ListSnapshots(w.Hers(), []score.SnapshotsRequest{s.ListSnapshots()})
	require.NoError(w.t, errs[0])
	require.Len(w.t, lists[0], s.Snapshots)
	names := []string{}
	for _, one := range lists[0] {
		names = append(names, one.Name)
	}
	return names
}

// Work does all tasks that are due.
func (w *World) Work() {
	w.t.Helper()
	due, err := w.Tasks.ListDueTasks(w.t.Context(), w.Clock.Now(), 1000)
	require.NoError(w.t, err)
	for _, t := range due {
		t, mine, err := w.Tasks.ClaimTask(w.t.Context(), t, uuid.NewString(), w.Clock.Now().Add(task.Lease))
		require.NoError(w.t, err)
		require.True(w.t, mine)
		again, err := w.Rules.Settle(w.t.Context(), t)
		require.NoError(w.t, err)
		require.NoError(w.t, w.Tasks.FinishTask(w.t.Context(), t, again))
	}
}

// Settled does all tasks that there are and checks that nothing is left.
func (w *World) Settled() {
	w.t.Helper()
	w.Clock.Advance(time.Hour)
	w.Work()
	if w.Check != nil {
		w.Check(w.t, w.Contents.Keys())
	}
}
