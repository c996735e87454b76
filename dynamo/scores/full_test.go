package scores_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/score"
)

// Things of which every attribute is there.
var fullScore = score.Score{
	Ref: score.Ref{Owner: dynamotest.AUUID, ID: dynamotest.DocumentScore}, Title: "Suite", Access: score.Limited, DescriptionHash: "h",
	Pages:     []score.Page{{Item: dynamotest.DocumentItem, ItemScore: dynamotest.DocumentScore, Object: "o", Label: "1"}, {Item: dynamotest.DocumentItem, ItemScore: dynamotest.AUUID, Object: "o", Label: "2"}},
	PageCount: 2, Annotations: []string{"a", "b"}, AnnotationCount: 2, Hash: "x", Version: 3, Snapshots: 4, ShownFrom: 2, Hidden: 1, CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime.Add(time.Second),
}

var fullSnapshot = score.Snapshot{SnapshotID: score.SnapshotID{Score: fullScore.Ref, ID: dynamotest.AUUID}, Name: "first", CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime.Add(time.Second), Version: 2}

var fullUpload = score.Upload{
	ItemRef: dynamotest.FullScoreItem.ItemRef, Name: "a.png", SetName: "Suite", Type: "image/png", Size: 10, SHA256: "h", PartSize: 5, Multipart: "m", State: score.UploadOpen,
	CreatedAt: dynamotest.FullTime, ExpiresAt: dynamotest.FullTime.Add(time.Hour), Signed: dynamotest.FullTime.Add(time.Minute), Claim: 10,
}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfScoresAreReadAsTheyWereWritten(t *testing.T) {
	dynamotest.Full(t, fullScore)
	assert.Equal(t, fullScore, dynamotest.Decoded(t, scores.ScoreRow(fullScore), scores.DecodeScore))
	dynamotest.Full(t, fullSnapshot)
	assert.Equal(t, fullSnapshot, dynamotest.Decoded(t, scores.SnapshotRow(fullSnapshot), scores.DecodeSnapshot))
	dynamotest.Full(t, dynamotest.FullScoreItem)
	assert.Equal(t, dynamotest.FullScoreItem, dynamotest.Decoded(t, scores.ScoreItemRow(dynamotest.FullScoreItem), scores.DecodeScoreItem))
	dynamotest.Full(t, fullUpload)
	assert.Equal(t, fullUpload, dynamotest.Decoded(t, scores.UploadRow(fullUpload), scores.DecodeUpload))
}

// BenchmarkDecodeScores reads one row of each kind that is read in large numbers.
func BenchmarkDecodeScores(b *testing.B) {
	dynamotest.Decoding(b, "Score", scores.ScoreRow(fullScore), scores.DecodeScore)
	dynamotest.Decoding(b, "Snapshot", scores.SnapshotRow(fullSnapshot), scores.DecodeSnapshot)
	dynamotest.Decoding(b, "ScoreItem", scores.ScoreItemRow(dynamotest.FullScoreItem), scores.DecodeScoreItem)
}
