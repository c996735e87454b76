package permissions

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/score"
)

// archive makes an archive of the owner that is done. The file of one item was lost before, and the item is deleted after.
func (w *world) archive() {
	w.T.Helper()
	lost := w.owner.Uploads(w.pixel(), apitest.Vars{"name": "secret.png"})
	key := apitest.GlobalKey(w.T, lost)
	items, errs := scores.Items{DB: w.DB}.ItemsByID(w.T.Context(), []score.ItemRef{{Owner: score.UserID(key[1]), Score: score.ID(key[2]), ID: score.ItemID(key[3])}})
	require.Nil(w.T, errs)
	require.NoError(w.T, w.Bucket.Delete(w.T.Context(), items[0].Object))
	w.ids["archive"] = w.owner.Must(`mutation { createArchive(input: {}) { archive { id } } }`, nil).Str("createArchive.archive.id")
	w.run(archive.RunArchive, "archive")
	w.owner.Mutate("deleteItem", "deletedItemId", apitest.Vars{"itemId": lost})
}

// writeArchives writes the archives that the role has asked for: while one is being written, there is no other. It counts them as removed then, so that
// there is room for the next one.
func (w *world) writeArchives() {
	w.T.Helper()
	for _, one := range w.asker.Must(`{ viewer { archives(first: 500) { nodes { id state } } } }`, nil).List("viewer.archives.nodes") {
		if of := one.(map[string]any); of["state"] == "QUEUED" {
			w.ids["queued"] = fmt.Sprint(of["id"])
			w.run(archive.RunArchive, "queued")
			key := apitest.GlobalKey(w.T, w.ids["queued"])
			store := archives.Store{DB: w.DB}
			all, errs := store.ArchivesByID(w.T.Context(), []archive.ID{{User: archive.UserID(key[1]), ID: key[2]}})
			require.Nil(w.T, errs)
			removed, ok := all[0].Remove()
			require.True(w.T, ok)
			require.NoError(w.T, store.ChangeArchive(w.T.Context(), all[0], removed))
		}
	}
}
