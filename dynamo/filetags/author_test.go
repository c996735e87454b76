package filetags_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/score"
)

// forgetPlaces takes the places of all sets out of the index of authors, as an earlier version put them.
func forgetPlaces(t *testing.T, db *dynamo.DB) {
	t.Helper()
	for key, row := range dynamotest.RowsOf(t, db, dynamo.TagsTable) {
		if _, has := row[dynamo.TagsByAuthor.PK]; !has {
			continue
		}
		assert.Equal(t, keys.FileIDPrefix, key.PK[:1], "only sets have a place")
		delete(row, dynamo.TagsByAuthor.PK)
		_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(dynamo.TagsTable), Item: row})
		require.NoError(t, err)
	}
}

func TestSetsWithoutAPlaceAreIndexed(t *testing.T) {
	t.Parallel()
	w, db, inj := openTagWorld(t)
	const n = 120
	items := w.NewItems(w.Ada, "", n)
	w.Show(score.Public, items[0])
	for _, item := range items {
		w.Put(w.Ada, item, "one")
	}
	w.Put(w.Bob, items[0], "his", "!own")
	forgetPlaces(t, db)
	assert.Empty(t, w.PutBy(w.Ada))
	for _, want := range []int{n + 1, 0} {
		inj.Recorder().Reset()
		done, err := filetags.Store{DB: db}.IndexSets(t.Context())
		require.NoError(t, err)
		assert.Equal(t, filetags.Indexing{Sets: n + 1, Indexed: want}, done)
		assert.Equal(t, want, inj.Recorder().Count(faultinject.Operation("TransactWriteItems")))
	}
	assert.Len(t, w.PutBy(w.Ada), n)
	assert.Equal(t, map[score.ItemID][]string{items[0].ID: {"his", "own"}}, w.PutBy(w.Bob))

	forgetPlaces(t, db)
	w.Put(w.Bob, items[0], "his")
	assert.Len(t, w.PutBy(w.Bob), 1, "a change gives it back, too")
}

// A Query finds some thousand keys, and a hundred sets are read at once, with the items that they are on.
func TestReadingWhatAnAuthorHasPutCostsFewCalls(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	for _, item := range w.NewItems(w.Ada, "", 120) {
		w.Put(w.Ada, item, "one")
	}
	inj.Recorder().Reset()
	assert.Len(t, w.PutBy(w.Ada), 120)
	assert.Equal(t, 1, inj.Recorder().Count(faultinject.Operation("Query")))
	assert.Equal(t, 4, inj.Recorder().Count(faultinject.Operation("BatchGetItem")))
}
