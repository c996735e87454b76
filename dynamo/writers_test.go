package dynamo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// writers change the same thing together, each as often as it says, without saying what they expect it to be. None is refused.
func writers(t *testing.T, n, times int, change func(ctx context.Context, writer, time int) error) {
	t.Helper()
	var group sync.WaitGroup
	for writer := range n {
		group.Go(func() {
			for i := range times {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := change(ctx, writer, i)
				cancel()
				if !assert.NoError(t, err, "writer %d, change %d", writer, i) {
					return
				}
			}
		})
	}
	group.Wait()
}

func TestTwentyWritersOfANote(t *testing.T) {
	t.Parallel()
	w, _, _ := openWorld(t)
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		title := fmt.Sprint(writer, ".", i)
		_, err := w.Rules.Update(viewer.With(ctx, viewer.From(asAda)), note.Update{ID: n.ID, Title: &title})
		return err
	})
	n, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, 381, n.Version)
	assert.Equal(t, ada, n.Owner)
}

func TestTwentyWritersOfTheTagsOfAnItem(t *testing.T) {
	t.Parallel()
	w, _, _ := openTagWorld(t)
	item := w.NewItems(w.Ada, "", 1)[0]
	ada := viewer.From(w.As(w.Ada))
	writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		_, err := w.Rules.PutTags(viewer.With(ctx, ada), filetag.PutTags{Item: item, Tags: []filetag.NewTag{{Value: fmt.Sprint(writer, ".", i)}}})
		return err
	})
	assert.Len(t, w.On(w.Ada, item), 1)
}

func TestTwentyWritersOfAnEntity(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := openDB(t, clock.Now)
	rules := entity.NewService(entity.Options{Store: Entities{db}, Now: clock.Now, NewID: func() string { return "s" }})
	ada := viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}, UserID: "ada"}
	asAda := viewer.With(t.Context(), ada)
	putByHand(t, db, notesTable, `[{"PK": "USER#ada", "SK": "PROFILE"}]`)
	_, err := rules.CreateScope(asAda, entity.CreateScope{Name: "s"})
	require.NoError(t, err)
	e, err := rules.Set(asAda, entity.Set{Scope: "s", Type: "t", ID: ptr("e")})
	require.NoError(t, err)
	writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		_, err := rules.Update(viewer.With(ctx, ada), entity.Update{Entity: e.ID, Attributes: map[string]any{fmt.Sprint("w", writer): i}})
		return err
	})
	found, errs := rules.ListByID(asAda, []entity.ID{e.ID})
	require.Empty(t, errs)
	assert.Equal(t, 381, found[0].Version)
	assert.Len(t, found[0].Attributes, 20)
}
