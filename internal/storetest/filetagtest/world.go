package filetagtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Stores is one empty implementation of each store that tags on items need.
type Stores struct {
	Tags   filetag.Store
	Items  score.ItemStore
	Scores score.Store
	Tasks  task.Store
	// PutItem makes an item exist, in a set.
	PutItem func(ctx context.Context, ref score.ItemRef, setName string) error
	// Check looks at every row: those by which tags are searched and counted follow from the sets. Nil where rows cannot be looked at.
	Check func(t testing.TB)
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// World is a set of stores with the rules of tags on items above them, and two users.
type World struct {
	Stores
	Clock    *storetest.Clock
	Rules    *filetag.Service
	Music    *score.Service
	Files    *score.Items
	Ada, Bob viewer.UserID

	t testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock.
func NewWorld(t testing.TB, s Stores, clock *storetest.Clock) *World {
	w := &World{Stores: s, Clock: clock, Ada: viewer.UserID(uuid.NewString()), Bob: viewer.UserID(uuid.NewString()), t: t}
	w.Rules = w.Server()
	w.Music = score.NewService(score.Options{Store: s.Scores, Contents: &scoretest.Contents{Kept: map[string][]byte{}}, Now: clock.Now, NewID: uuid.NewString}).Telling(w.Rules)
	w.Files = w.files().Telling(w.Rules)
	return w
}

// files returns the rules of items. Their bytes are of no interest here.
func (w *World) files() *score.Items {
	return score.NewItems(score.ItemsOptions{Store: w.Items, Scores: w.Scores, Quota: scoretest.Quota, Now: w.Clock.Now, NewID: uuid.NewString})
}

// Server returns the rules as another server has them, which remembers nothing.
func (w *World) Server() *filetag.Service {
	return filetag.NewService(filetag.Options{
		Store: w.Tags, Items: w.files(), Scores: score.NewService(score.Options{Store: w.Scores, Now: w.Clock.Now, NewID: uuid.NewString}),
		Kept: filetag.Kept{Items: w.Items, Scores: w.Scores}, Now: w.Clock.Now, NewID: uuid.NewString,
	})
}

// As returns a context in which the user asks.
func (w *World) As(id viewer.UserID) context.Context {
	return viewer.With(storetest.Patient(w.t), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// NewItems makes items of an owner's library, in a set.
func (w *World) NewItems(owner viewer.UserID, setName string, n int) []score.ItemRef {
	w.t.Helper()
	items := make([]score.ItemRef, n)
	for _, err := range storetest.Attempts(n, func(i int) error {
		items[i] = score.ItemRef{Owner: owner, Score: score.Library, ID: score.ItemID(uuid.NewString())}
		return w.PutItem(w.t.Context(), items[i], setName)
	}) {
		require.NoError(w.t, err)
	}
	return items
}

// Show makes the items the pages of a score of Ada's that whoever has the access may read.
func (w *World) Show(access score.Access, items ...score.ItemRef) score.Score {
	w.t.Helper()
	s, err := w.Music.Create(w.As(w.Ada), score.Create{Title: "t", Access: access, Pages: scoretest.Pages(items...)})
	require.NoError(w.t, err)
	return s
}

// Access changes who may read a score of Ada's.
func (w *World) Access(s score.Score, access score.Access) {
	w.t.Helper()
	_, err := w.Music.Update(w.As(w.Ada), score.Update{Score: s.Ref, Access: &access})
	require.NoError(w.t, err)
}

// typed makes tags of values; those that begin with "!" are private.
func typed(values ...string) []filetag.NewTag {
	tags := make([]filetag.NewTag, len(values))
	for i, v := range values {
		private := strings.HasPrefix(v, "!")
		tags[i] = filetag.NewTag{Value: strings.TrimPrefix(v, "!"), Public: !private}
	}
	return tags
}

// Put makes these the tags of the author on the item; those that begin with "!" are private.
func (w *World) Put(author viewer.UserID, item score.ItemRef, values ...string) {
	w.t.Helper()
	_, err := w.Rules.PutTags(w.As(author), filetag.PutTags{Item: item, Tags: typed(values...)})
	require.NoError(w.t, err)
}

// On returns the tags that the user sees on the item, as its owner or through the score, of all authors.
func (w *World) On(user viewer.UserID, item score.ItemRef, through ...score.Score) []string {
	w.t.Helper()
	request := score.AnItem(item)
	if len(through) > 0 {
		scores, errs := w.Music.ListByID(w.As(user), []score.Ref{through[0].Ref})
		if errs != nil {
			require.NoError(w.t, errs[0])
		}
		request = scores[0].Item(scores[0].Pages[slices.IndexFunc(scores[0].Pages, func(p score.Page) bool { return p.Item == item.ID })])
	}
	lists, errs := w.Rules.ListTags(w.As(user), []filetag.TagsRequest{{Item: request, Window: page.Window{Limit: page.Max}}})
	require.NoError(w.t, errs[0])
	return values(lists[0].Items)
}

func values(tags []filetag.ItemTag) []string {
	all := []string{}
	for _, t := range tags {
		all = append(all, t.Value)
	}
	return all
}

// Search returns what the user finds, of everybody or of an author.
func (w *World) Search(user viewer.UserID, begin string, author viewer.UserID) []filetag.ItemTag {
	w.t.Helper()
	begin, err := filetag.Begin("begin", begin)
	require.NoError(w.t, err)
	found, err := w.Rules.Search(w.As(user), filetag.Search{Begin: begin, Author: author}, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	return found.Items
}

// Found returns the values that the user finds.
func (w *World) Found(user viewer.UserID, begin string, author viewer.UserID) []string {
	w.t.Helper()
	return values(w.Search(user, begin, author))
}

// Counted returns the values that the user is offered, with their counts.
func (w *World) Counted(user viewer.UserID, begin string, author viewer.UserID) map[string]int {
	w.t.Helper()
	begin, err := filetag.Begin("begin", begin)
	require.NoError(w.t, err)
	found, err := w.Rules.Values(w.As(user), filetag.Search{Begin: begin, Author: author}, filetag.MaxValues)
	require.NoError(w.t, err)
	counts := map[string]int{}
	for _, c := range found {
		counts[c.Value] = c.Count
	}
	return counts
}

// Tagged reports whether the user sees a tag on the items of Ada's set, of anyone or of an author.
func (w *World) Tagged(user viewer.UserID, set string, author viewer.UserID) bool {
	w.t.Helper()
	tagged, errs := w.Rules.Tagged(w.As(user), []filetag.TallyKey{{Set: filetag.SetRef{Owner: w.Ada, Name: set}, Author: author}})
	if errs != nil {
		require.NoError(w.t, errs[0])
	}
	return tagged[0]
}

// Work carries out all tasks that are due.
func (w *World) Work() {
	w.t.Helper()
	for {
		due, err := w.Tasks.ListDueTasks(w.t.Context(), w.Clock.Now(), 1000)
		require.NoError(w.t, err)
		if len(due) == 0 {
			return
		}
		for _, t := range due {
			t, mine, err := w.Tasks.ClaimTask(w.t.Context(), t, uuid.NewString(), w.Clock.Now().Add(task.Lease))
			require.NoError(w.t, err)
			require.True(w.t, mine)
			var again time.Time
			switch t.Kind {
			case score.SettleIntent:
				again, err = w.Music.Settle(w.t.Context(), t)
			case score.FollowItem:
				again, err = w.Files.Follow(w.t.Context(), t)
			case filetag.Reshard:
				again, err = w.Rules.Spread(w.t.Context(), t)
			case score.SweepItem: // there are no bytes
			}
			require.NoError(w.t, err)
			require.NoError(w.t, w.Tasks.FinishTask(w.t.Context(), t, again))
		}
	}
}

// Settled does all tasks that there are and checks that all rows are right.
func (w *World) Settled() {
	w.t.Helper()
	for range 4 {
		w.Clock.Advance(time.Hour)
		w.Work()
	}
	if w.Check != nil {
		w.Check(w.t)
	}
}
