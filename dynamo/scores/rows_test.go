package scores_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// plainly turns a row into what JSON of the document shows.
func plainly(t *testing.T, row dynamo.Attrs) string {
	t.Helper()
	var plain func(v types.AttributeValue) any
	plain = func(v types.AttributeValue) any {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			return v.Value
		case *types.AttributeValueMemberN:
			return json.Number(v.Value)
		case *types.AttributeValueMemberM:
			m := map[string]any{}
			for name, of := range v.Value {
				m[name] = plain(of)
			}
			return m
		case *types.AttributeValueMemberL:
			l := []any{}
			for _, of := range v.Value {
				l = append(l, plain(of))
			}
			return l
		}
		require.Fail(t, "another type")
		return nil
	}
	text, err := json.Marshal(plain(&types.AttributeValueMemberM{Value: row}))
	require.NoError(t, err)
	return string(text)
}

// The rows of the document, with its attribute names; version is what the rules need besides, as are s, g, by and sc below.
func TestRowsOfScoresAreTheDocuments(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	ref := score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}
	page := score.Page{Item: dynamotest.DocumentItem, ItemScore: dynamotest.DocumentScore, Object: "image.jpg", Label: "1"}
	library := page
	library.ItemScore = score.Library
	s := score.Score{Ref: ref, Title: "t", DescriptionHash: "s2hRmHZaGkOC7PDFrXzypw==", Pages: []score.Page{page, library}, PageCount: 2,
		Annotations: []string{"ouWfeVUe4keu21CyOIZ0jg==", "ouWfeVUe4keu21CyOIZ0jg=="}, AnnotationCount: 2, Hash: "x", Version: 3, Snapshots: 2, CreatedAt: at, UpdatedAt: at}
	row := scores.ScoreRow(s)
	assert.JSONEq(t, `{
		"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "main:a62Xnv7FbkqPJQsmW1kBeg==", "d_hash": "x", "create_at": "2026-11-20T08:00:00.000Z",
		"update_at": "2026-11-20T08:00:00.000Z", "access": "private", "s_count": 2, "version": 3,
		"data": {"title": "t", "des_h": "s2hRmHZaGkOC7PDFrXzypw==", "v": "1", "p_count": 2, "page": [
			{"i": 0, "it": "JO1kjyJx1kKuucbt3JOziQ==", "o": "image.jpg", "p": "1"},
			{"i": 1, "it": "JO1kjyJx1kKuucbt3JOziQ==", "o": "image.jpg", "p": "1", "s": "AAAAAAAAAAAAAAAAAAAAAA=="}
		], "a_count": 2, "anno": [{"i": 0, "h": "ouWfeVUe4keu21CyOIZ0jg=="}, {"i": 1, "h": "ouWfeVUe4keu21CyOIZ0jg=="}]}}`, plainly(t, row))
	var back score.Score
	require.NoError(t, scores.DecodeScore(dynamo.ItemOf(row), &back))
	assert.Equal(t, s, back)

	snapshot, err := keys.DecodeUUID("G83UGGM9UUS4Ky8gsKmxRg==")
	require.NoError(t, err)
	of := score.Snapshot{SnapshotID: score.SnapshotID{Score: ref, ID: snapshot}, Name: "スナップショット1", CreatedAt: at, UpdatedAt: at}
	assert.JSONEq(t, `{"o": "sc:68yjpWHe5EOEnN6vv3UL1w==", "s": "snap:a62Xnv7FbkqPJQsmW1kBeg==G83UGGM9UUS4Ky8gsKmxRg==",
		"create_at": "2026-11-20T08:00:00.000Z", "update_at": "2026-11-20T08:00:00.000Z", "snapname": "スナップショット1"}`, plainly(t, scores.SnapshotRow(of)))
	var snap score.Snapshot
	require.NoError(t, scores.DecodeSnapshot(dynamo.ItemOf(scores.SnapshotRow(of)), &snap))
	assert.Equal(t, of, snap)

	c := scores.ScoreChange{Ref: ref, Version: 3}
	assert.JSONEq(t, `{"o": "ld:68yjpWHe5EOEnN6vv3UL1w==", "s": "anno:a62Xnv7FbkqPJQsmW1kBeg==ouWfeVUe4keu21CyOIZ0jg==", "c": "text", "g": 3}`,
		plainly(t, c.TextRow(score.Text{Kind: score.AnnotationText, Hash: "ouWfeVUe4keu21CyOIZ0jg==", Text: "text"})))
	assert.JSONEq(t, `{"o": "ld:68yjpWHe5EOEnN6vv3UL1w==", "s": "desc:a62Xnv7FbkqPJQsmW1kBeg==s2hRmHZaGkOC7PDFrXzypw==", "c": "text", "g": 3}`,
		plainly(t, c.TextRow(score.Text{Kind: score.DescriptionText, Hash: "s2hRmHZaGkOC7PDFrXzypw==", Text: "text"})))

	item := page.ItemOf(dynamotest.DocumentOwner)
	assert.JSONEq(t, `{"o": "si:68yjpWHe5EOEnN6vv3UL1w==", "s": "JO1kjyJx1kKuucbt3JOziQ==a62Xnv7FbkqPJQsmW1kBeg==", "by": "score", "g": 3}`,
		plainly(t, c.By().Take(item, false)[0].Item))
	assert.JSONEq(t, `{"o": "si:68yjpWHe5EOEnN6vv3UL1w==", "s": "JO1kjyJx1kKuucbt3JOziQ==G83UGGM9UUS4Ky8gsKmxRg==", "by": "snapshot", "sc": "a62Xnv7FbkqPJQsmW1kBeg==", "g": 0}`,
		plainly(t, uses.By{Score: ref, Snapshot: snapshot}.Take(item, false)[0].Item))
}

// The row of the document itself, which has none of our attributes, can be read; one of a newer server is refused, whatever else
// is in it.
func TestRowsOfOtherVersions(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	put := func(id string, change func(row, data dynamo.Attrs)) score.Ref {
		ref := score.Ref{Owner: w.Ada, ID: score.ID(id)}
		row := scores.ScoreRow(score.Score{Ref: ref, Title: "t", Pages: []score.Page{{Item: dynamotest.DocumentItem, ItemScore: ref.ID}, {Item: dynamotest.DocumentScore, ItemScore: ref.ID}}})
		change(row, row["data"].(*types.AttributeValueMemberM).Value)
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Item: row}}, idempotency.Key{}))
		return ref
	}
	old := put(dynamotest.DocumentScore, func(row, data dynamo.Attrs) {
		delete(row, "version")
		data["v"] = dynamo.Str("0")
		data["more"] = &types.AttributeValueMemberSS{Value: []string{"x"}}
		row["more"] = &types.AttributeValueMemberBOOL{Value: true}
		slices.Reverse(data["page"].(*types.AttributeValueMemberL).Value)
	})
	newer := put(dynamotest.DocumentItem, func(_, data dynamo.Attrs) { data["v"] = dynamo.Str("2") })
	wrong := put(dynamotest.DocumentOwner, func(row, _ dynamo.Attrs) { row["access"] = dynamo.Str("everybody") })
	scores, errs := w.Scores.ScoresByID(t.Context(), []score.Ref{old, newer, wrong})
	require.NoError(t, errs[0])
	assert.EqualValues(t, dynamotest.DocumentItem, scores[0].Pages[0].Item, "in the order of their index")
	assert.True(t, fault.Is(errs[1], fault.Unavailable), "%v", errs[1])
	assert.ErrorContains(t, errs[1], "newer version of Taggie")
	assert.Error(t, errs[2])
}

// What is no UUID is no key: it reaches nothing, and never another row.
func TestForgedIDsOfScores(t *testing.T) {
	t.Parallel()
	w, _, _ := openWorldOfScores(t)
	s := w.Make(score.Create{Annotations: []string{"a"}})
	one := w.Snap(s.Ref, "one")
	var refs []score.Ref
	var texts []score.TextID
	for _, id := range []string{"", "summary", "main:", strings.ToUpper(string(s.ID)), string(s.ID) + "x", "\x00", strings.Repeat("x", 2_000)} {
		refs = append(refs, score.Ref{Owner: w.Ada, ID: score.ID(id)}, score.Ref{Owner: score.UserID(id), ID: s.ID})
		_, _, err := scoretest.ScoreAt(w.Hers(), w.Rules, score.SnapshotID{Score: s.Ref, ID: id})
		assert.True(t, fault.Is(err, fault.NotFound), "%q: %v", id, err)
		for _, kind := range []score.TextKind{score.AnnotationText, score.DescriptionText, "", "x"} {
			texts = append(texts, score.TextID{Score: s.Ref, Kind: kind, Hash: id})
		}
	}
	lists, listErrs := w.Scores.ListSnapshotsOf(t.Context(), refs)
	for i, ref := range refs {
		_, err := w.Get(w.Hers(), ref)
		assert.True(t, fault.Is(err, fault.NotFound), "%q: %v", ref, err)
		assert.NoError(t, listErrs[i])
		assert.Empty(t, lists[i])
		_, _, err = scoretest.ScoreAt(w.Hers(), w.Rules, score.SnapshotID{Score: ref, ID: one.ID})
		assert.True(t, fault.Is(err, fault.NotFound), "%q: %v", ref, err)
	}
	_, errs := w.Scores.TextsByID(t.Context(), texts)
	for i, text := range texts {
		assert.True(t, fault.Is(errs[i], fault.NotFound), "%q: %v", text, errs[i])
	}
}

// Every kind of row of the table is told from the others by its keys.
func TestRowsOfScoresDoNotMeet(t *testing.T) {
	s := score.Score{Ref: score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}}
	id := score.SnapshotID{Score: s.Ref, ID: dynamotest.DocumentItem}
	all := map[dynamo.Key]bool{}
	for _, key := range []dynamo.Key{scores.ScoreKey(s.Ref), scores.PublicScoreKey(s.Ref), scores.ScoreCountKey(dynamotest.DocumentOwner), scores.SnapshotKey(id), scores.SnapshotNameKey(s.Ref, "x"), scores.IntentKey(s.Ref, dynamotest.DocumentItem),
		scores.TextKey(score.TextID{Score: s.Ref, Kind: score.AnnotationText, Hash: "h"}), scores.TextKey(score.TextID{Score: s.Ref, Kind: score.DescriptionText, Hash: "h"}),
		uses.ItemKey(score.ItemRef{Owner: dynamotest.DocumentOwner, Score: dynamotest.DocumentScore, ID: dynamotest.DocumentItem}), uses.Key(score.ItemRef{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}, dynamotest.DocumentItem)} {
		all[key] = true
		assert.True(t, key.Possible())
	}
	assert.Len(t, slices.Collect(maps.Keys(all)), 10)
	assert.LessOrEqual(t, len(scores.SnapshotNameKey(s.Ref, strings.Repeat("🎼", score.MaxName)).SK), dynamo.MaxSK)
}
