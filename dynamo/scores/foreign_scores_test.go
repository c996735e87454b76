package scores_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// The rows of the document, letter by letter; the item is used as it says.
const documentScores = `[
	{"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "summary", "score_count": 1, "socres": ["a62Xnv7FbkqPJQsmW1kBeg=="]},
	{"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "main:a62Xnv7FbkqPJQsmW1kBeg==", "d_hash": "", "create_at": "", "update_at": "",
		"access": "private", "s_count": 0, "data": {"title": "", "des_h": "s2hRmHZaGkOC7PDFrXzypw==", "v": "1", "p_count": 3, "page": [
			{"i": 0, "it": "JO1kjyJx1kKuucbt3JOziQ==", "o": "image.jpg", "p": "1"},
			{"i": 1, "it": "JO1kjyJx1kKuucbt3JOziQ==", "o": "image.jpg", "p": "2"},
			{"i": 2, "it": "JO1kjyJx1kKuucbt3JOziQ==", "o": "image.jpg", "p": "3"}],
		"a_count": 2, "anno": [{"i": 0, "h": "ouWfeVUe4keu21CyOIZ0jg=="}, {"i": 1, "h": "ouWfeVUe4keu21CyOIZ0jg=="}]}},
	{"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "snap:a62Xnv7FbkqPJQsmW1kBeg==G83UGGM9UUS4Ky8gsKmxRg==", "create_at": "", "update_at": "", "snapname": "スナップショット1"},
	{"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "snap:a62Xnv7FbkqPJQsmW1kBeg==HdVwA45SOUacxgvNTADESA==", "create_at": "", "update_at": "", "snapname": "スナップショット2"},
	{"o": "ld:68yjpWHe5EOEnN6vv3UL1w==", "s": "anno:a62Xnv7FbkqPJQsmW1kBeg==ouWfeVUe4keu21CyOIZ0jg==", "c": "アノテーションの内容"},
	{"o": "ld:68yjpWHe5EOEnN6vv3UL1w==", "s": "desc:a62Xnv7FbkqPJQsmW1kBeg==s2hRmHZaGkOC7PDFrXzypw==", "c": "説明内容"},
	{"o": "it:68yjpWHe5EOEnN6vv3UL1w==", "s": "summary", "size": 123456789},
	{"o": "it:68yjpWHe5EOEnN6vv3UL1w==", "s": "a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ==", "obj_name": "", "size": 12345, "t_size": 24690,
		"at": "", "type": "image", "org_name": "", "thumbnail": {"obj_name": "", "size": 12345}},
	{"o": "si:68yjpWHe5EOEnN6vv3UL1w==", "s": "JO1kjyJx1kKuucbt3JOziQ==a62Xnv7FbkqPJQsmW1kBeg=="},
	{"o": "si:68yjpWHe5EOEnN6vv3UL1w==", "s": "JO1kjyJx1kKuucbt3JOziQ==G83UGGM9UUS4Ky8gsKmxRg=="}
]`

// openDocumentScores returns a world in which the document's rows are Ada's.
func openDocumentScores(t *testing.T) (*scoretest.World, *dynamo.DB, score.Ref, score.ItemRef) {
	w, db, _ := openWorldOfScores(t)
	w.Ada = dynamotest.DocumentOwner
	dynamotest.PutByHand(t, db, dynamo.ScoresTable, documentScores)
	ref := score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}
	return w, db, ref, score.ItemRef{Owner: dynamotest.DocumentOwner, Score: dynamotest.DocumentScore, ID: dynamotest.DocumentItem}
}

func TestScoreRowsOfTheDocumentAreLikeOurs(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		w, db, ref, item := openDocumentScores(t)
		if steps {
			db.Prepared = 7
		}
		s, err := w.Get(w.Hers(), ref)
		require.NoError(t, err)
		assert.Equal(t, 1, s.Version)
		require.Len(t, s.Pages, 3)
		all, err := w.Rules.List(w.Hers(), w.Ada, page.Window{Limit: 10})
		require.NoError(t, err)
		require.Len(t, all.Items, 1)
		snapshots, errs := w.Rules.ListSnapshots(w.Hers(), []score.SnapshotsRequest{s.ListSnapshots()})
		require.NoError(t, errors.Join(errs...))
		byName := map[string]score.SnapshotID{}
		for _, one := range snapshots[0] {
			byName[one.Name] = one.SnapshotID
		}
		require.Len(t, byName, 2)

		// It is changed, made public, and changed again.
		title, description, public, expected := "Suite", "new", score.Public, 1
		s, err = w.Rules.Update(w.Hers(), score.Update{Score: ref, Title: &title, Description: &description, ExpectedVersion: &expected,
			Pages: []score.PagesChange{{Remove: &score.Range{At: 1, Count: 2}}}, Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{"one more"}}}}})
		require.NoError(t, err)
		assert.Equal(t, 2, s.Version)
		s, err = w.Rules.Update(w.Hers(), score.Update{Score: ref, Access: &public})
		require.NoError(t, err)
		assert.Len(t, s.Annotations, 3)
		listed, err := w.Rules.ListPublic(w.As("somebody"), w.Ada, page.Window{Limit: 10})
		require.NoError(t, err)
		assert.Len(t, listed.Items, 1)

		// Its snapshots are renamed and deleted, and one more is taken and restored.
		first, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: byName["スナップショット1"], Name: "first"})
		require.NoError(t, err)
		taken, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: ref, Name: "mine"})
		require.NoError(t, err)
		for _, one := range []score.SnapshotID{first.SnapshotID, byName["スナップショット2"]} {
			require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one}))
		}
		_, err = w.Rules.Restore(w.Hers(), score.Restore{Snapshot: taken.SnapshotID})
		require.NoError(t, err)

		// The item stays while it is used, and goes with the bytes that it counts for.
		items := scores.Items{DB: db}
		found, errs := items.ItemsByID(t.Context(), []score.ItemRef{item})
		require.NoError(t, errors.Join(errs...))
		var used *score.ItemInUse
		require.ErrorAs(t, removeItem(t, items, found[0]), &used)
		require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: ref}))
		w.Settled()
		require.NoError(t, removeItem(t, items, found[0]))
		usages, errs := items.Usages(t.Context(), []score.UserID{w.Ada})
		require.NoError(t, errors.Join(errs...))
		assert.Equal(t, int64(123456789-24690), usages[0].Size)
		assert.Equal(t, usages[0].Size, usages[0].Claimed)
		counts, errs := w.Scores.CountScores(t.Context(), []score.UserID{w.Ada})
		require.NoError(t, errs[0])
		assert.Zero(t, counts[0])
		for _, like := range []string{"snap:", "main:", "anno:", "desc:", `"si:`, "todo:"} {
			assert.Empty(t, dynamotest.RowsLike(t, db, dynamo.ScoresTable, like), like)
		}
	}
}

// A score that is deleted takes the snapshots along that another program put.
func TestDeletingAScoreOfTheDocument(t *testing.T) {
	t.Parallel()
	w, db, ref, item := openDocumentScores(t)
	items := scores.Items{DB: db}
	found, errs := items.ItemsByID(t.Context(), []score.ItemRef{item})
	require.NoError(t, errors.Join(errs...))
	var used *score.ItemInUse
	require.ErrorAs(t, removeItem(t, items, found[0]), &used)
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: ref}))
	w.Settled()
	for _, like := range []string{"snap:", "main:", "anno:", "desc:", `"si:`, "todo:"} {
		assert.Empty(t, dynamotest.RowsLike(t, db, dynamo.ScoresTable, like), like)
	}
	require.NoError(t, removeItem(t, items, found[0]))
}

// What is claimed of a quota begins with what the items of another program have.
func TestQuotaCountsItemsOfTheDocument(t *testing.T) {
	t.Parallel()
	_, db, _, _ := openDocumentScores(t)
	items := scores.Items{DB: db}
	u := score.Upload{ItemRef: score.ItemRef{Owner: dynamotest.DocumentOwner, Score: dynamotest.DocumentScore, ID: score.ItemID(uuid.NewString())}, Name: "n", Type: "text/plain", Size: 100,
		State: score.UploadOpen, CreatedAt: db.Now(), ExpiresAt: db.Now()}
	var reached *score.QuotaReached
	require.ErrorAs(t, items.OpenUpload(t.Context(), u, 123456789+99, nil, idempotency.Key{}), &reached)
	require.NoError(t, items.OpenUpload(t.Context(), u, 123456789+100, nil, idempotency.Key{}))
	usages, errs := items.Usages(t.Context(), []score.UserID{dynamotest.DocumentOwner})
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, int64(123456789+100), usages[0].Claimed)
}
