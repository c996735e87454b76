package labelling_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/capacity"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
)

// An import writes one unit into the index of names, and so do a removal and what brings an item back. Nothing else that happens to an item does.
func TestOnlyRemovalsMoveItemsInTheIndexOfNames(t *testing.T) {
	t.Parallel()
	prefix := "n" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	embeddedtest.DropTables(t, prefix)
	clock, recorder := storetest.NewClock(), capacity.NewRecorder(prefix)
	opened, _ := dynamotest.OpenDBOn(t, clock.Now, func(engine http.RoundTripper) http.RoundTripper { return recorder.Wrap(engine) })
	own := dynamo.New(dynamo.Options{Client: opened.Client, TablePrefix: prefix, Now: clock.Now})
	require.NoError(t, own.ApplyTables(t.Context(), func(dynamo.Step) {})) // the recorder knows the tables that it has seen being made
	w, db := labellingtest.NewWorld(t, labellingStores(own), clock), truth.Store{Store: projects.Store{DB: own}}
	before := recorder.Usage()
	wrote := func() (names, types float64) {
		now := recorder.Usage()
		for key, units := range now.Minus(before).Units {
			switch {
			case key.Index == "items_by_name":
				names += units.Write
			case key.Index == "entities_by_type" && strings.Contains(key.Partition, ":ProjectItem~"):
				types += units.Write
			}
		}
		before = now
		return names, types
	}
	item := w.Fill(1)[0]
	names, _ := wrote()
	assert.InDelta(t, 1, names, 0, "an import")

	claim := w.Claiming(item, w.Ada)
	extension := labelling.Move{Before: claim.After, After: claim.After}
	extension.After.Version++
	extension.After.Claim.Until = w.Clock.Now().Add(time.Hour)
	finish := w.Finishing(extension.After, w.Ada, w.Label("owl").ID, w.Label("asleep").ID)
	review := w.Reviewing(finish.After, *finish.Effort, w.Ada)
	again := w.Finishing(review.After, w.Ada, w.Label("cat").ID, "")
	undo := w.Undoing(again.After, *again.Effort)
	skip := labelling.Move{Before: undo.After, After: undo.After}
	skip.After.Version, skip.After.Status = skip.Before.Version+1, project.Skipped
	removal := labelling.Move{Before: skip.After, After: skip.After}
	removal.After.Version, removal.After.Status, removal.After.Was, removal.After.Removal = removal.Before.Version+1, project.Removed, project.Skipped, "r"
	back := labelling.Move{Before: removal.After, After: skip.After}
	back.After.Version = removal.After.Version + 1
	for _, step := range []struct {
		name string
		move labelling.Move
		want float64
	}{{"claim", claim, 0}, {"extend", extension, 0}, {"finish", finish, 0}, {"review", review, 0}, {"finish again", again, 0}, {"undo", undo, 0}, {"skip", skip, 0}, {"remove", removal, 1}, {"bring back", back, 1}} {
		require.NoError(t, db.MoveItem(t.Context(), step.move, idempotency.Key{}), step.name)
		names, types := wrote()
		assert.InDelta(t, step.want, names, 0, step.name)
		assert.Positive(t, types, "%s: the recorder sees indexes", step.name)
	}
	assert.Empty(t, recorder.Doubts())
}
