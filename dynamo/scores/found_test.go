package scores_test

import (
	"context"
	"fmt"
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

func foundIn(t *testing.T, db *dynamo.DB, begin string) []string {
	t.Helper()
	s, err := scores.Store{DB: db}.FindPublicScores(t.Context(), begin, dynamotest.WholeList)
	require.NoError(t, err)
	titles := []string{}
	for _, one := range s.Items {
		titles = append(titles, one.Title)
	}
	return titles
}

// moveAside gives the row of a score what an index that is late, or a server of an earlier version, leaves there.
func moveAside(t *testing.T, db *dynamo.DB, ref score.Ref, update string, values dynamo.Attrs) {
	t.Helper()
	names := map[string]string{}
	if update != "REMOVE public_letter, title_order" {
		names["#access"], names["#data"], names["#title"] = "access", "data", "title"
	}
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Key: scores.ScoreKey(ref), Update: update, Names: names, Values: values}}, idempotency.Key{}))
}

// Places that are outdated show nothing, and are made right by indexing.
func TestOutdatedPlacesOfPublicScores(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	made := map[string]score.Ref{}
	for _, title := range []string{"Sonata", "Suite", "Scherzo", "Song"} {
		made[title] = w.Make(score.Create{Title: title, Access: score.Public}).Ref
	}
	assert.Equal(t, []string{"Scherzo", "Sonata", "Song", "Suite"}, foundIn(t, db, "s"))
	const other = "SET #data.#title = :title, #access = :access"
	moveAside(t, db, made["Sonata"], other, dynamo.Attrs{":title": dynamo.Str("Sonata"), ":access": dynamo.Str("private")})
	moveAside(t, db, made["Suite"], other, dynamo.Attrs{":title": dynamo.Str("Serenade"), ":access": dynamo.Str("public")})
	moveAside(t, db, made["Scherzo"], "REMOVE public_letter, title_order", nil)
	assert.Equal(t, []string{"Song"}, foundIn(t, db, "s"))
	assert.Empty(t, foundIn(t, db, "suite"))

	for _, want := range []scores.Indexing{{Public: 3, Indexed: 3}, {Public: 3}} {
		done, err := scores.Store{DB: db}.IndexScores(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, done)
		assert.Equal(t, []string{"Scherzo", "Serenade", "Song"}, foundIn(t, db, "s"))
	}
	row := dynamotest.RowsOf(t, db, dynamo.ScoresTable)[scores.ScoreKey(made["Sonata"])]
	assert.NotContains(t, row, "title_order", "a private score has no place")
	assert.Equal(t, 1, w.Seen(made["Suite"]).Version, "it is no change of the score")
	assert.Empty(t, inj.Recorder().Violations())
}

// The scores of the document, and those of an earlier version, get their places from indexing, or from their next change.
func TestPlacesOfScoresFromBefore(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	first, second := w.Make(score.Create{Title: "Prelude", Access: score.Public}), w.Make(score.Create{Title: "Postlude", Access: score.Public})
	for _, s := range []score.Score{first, second} {
		moveAside(t, db, s.Ref, "REMOVE public_letter, title_order", nil)
	}
	assert.Empty(t, foundIn(t, db, "p"))
	description := "changed"
	w.Update(score.Update{Score: first.Ref, Description: &description})
	assert.Equal(t, []string{"Prelude"}, foundIn(t, db, "p"))
	dynamotest.PutByHand(t, db, dynamo.ScoresTable, documentScores)
	done, err := scores.Store{DB: db}.IndexScores(t.Context())
	require.NoError(t, err)
	assert.Equal(t, scores.Indexing{Public: 2, Indexed: 1}, done)
	assert.Equal(t, []string{"Postlude", "Prelude"}, foundIn(t, db, "p"))
}

// A score that cannot be read keeps no other one from its place.
func TestIndexingGoesOnBehindAScoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	var refs []score.Ref
	for _, title := range []string{"Prelude", "Postlude", "Partita"} {
		refs = append(refs, w.Make(score.Create{Title: title, Access: score.Public}).Ref)
		moveAside(t, db, refs[len(refs)-1], "REMOVE public_letter, title_order", nil)
	}
	row := dynamotest.RowsOf(t, db, dynamo.ScoresTable)[scores.ScoreKey(refs[1])]
	row["data"] = dynamo.Str("of another program")
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Item: row}}, idempotency.Key{}))
	done, err := scores.Store{DB: db}.IndexScores(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2, 1}, []int{done.Public, done.Indexed, done.Unread.Count})
	assert.Equal(t, scores.ScoreKey(refs[1]), done.Unread.Rows[0].Key)
	assert.Equal(t, []string{"Partita", "Prelude"}, foundIn(t, db, "p"))
}

// A check tells of a public score that is not where it is found.
func TestACheckLooksAtThePlacesOfPublicScores(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	w.Make(score.Create{Title: "Prelude", Access: score.Public})
	ref := w.Make(score.Create{Title: "Postlude", Access: score.Public}).Ref
	check := dynamo.Checking{DB: db, Kinds: scores.Kinds(), Size: func(context.Context, string) (int64, bool, error) { return 0, true, nil }}
	found, _, err := check.Walk(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	moveAside(t, db, ref, "REMOVE public_letter, title_order", nil)
	found, _, err = check.Walk(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, []string{"the place of its title in scores_by_title"}, found[0].Lacks)
	assert.Equal(t, []dynamo.Mend{"run `taggie rebuild --scores`"}, found[0].ToMend())
	_, err = scores.Store{DB: db}.IndexScores(t.Context())
	require.NoError(t, err)
	found, _, err = check.Walk(t.Context())
	require.NoError(t, err)
	assert.Empty(t, found)
}

// A page is one Query and one batch per hundred. Publishing and renaming write as many rows as before.
func TestCallsOfPublicScores(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	for i := range 3 {
		w.Make(score.Create{Title: fmt.Sprint("Sonata ", i), Access: score.Public})
	}
	inj.Recorder().Reset()
	s, err := scores.Store{DB: db}.FindPublicScores(t.Context(), "sonata", page.Window{Limit: 2})
	require.NoError(t, err)
	assert.True(t, s.More)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, inj.Recorder().Operations())

	bare := scoretest.Pages()
	before := len(dynamotest.RowsOf(t, db, dynamo.ScoresTable))
	id := uuid.NewString()
	w.Make(score.Create{Title: "Suite " + id, Access: score.Public, Pages: bare})
	assert.Len(t, dynamotest.RowsOf(t, db, dynamo.ScoresTable), before+2, "the score, and that it is public")
}
