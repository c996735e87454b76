package scores_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

func TestLimitsOfScoresHoldAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	owner := score.UserID(uuid.NewString())
	dynamotest.SetCount(t, db, dynamo.ScoresTable, scores.ScoreCountKey(owner), "score_count", nil, score.MaxScores-dynamotest.Left)
	of := make([]score.Ref, dynamotest.AtOnce)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(n int) error {
		s := score.Score{Ref: score.Ref{Owner: owner, ID: score.ID(uuid.NewString())}, Title: "t", Access: score.Private, Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}
		err := scores.Store{DB: db}.CreateScore(dynamotest.Patient(t), s, nil, idempotency.Key{})
		if err == nil {
			of[n] = s.Ref
		}
		return err
	})
	upload := func(int) error {
		u := score.Upload{ItemRef: score.ItemRef{Owner: owner, Score: score.Library, ID: score.ItemID(uuid.NewString())}, Size: 1, State: score.UploadOpen, CreatedAt: clock.Now(), ExpiresAt: clock.Now()}
		return scores.Items{DB: db}.OpenUpload(dynamotest.Patient(t), u, 1<<40, nil, idempotency.Key{})
	}
	key, names := scores.UsageKey(owner), map[string]string{"#of": "kept"}
	dynamotest.SetCount(t, db, dynamo.ScoresTable, key, "#of", names, score.MaxUploads-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, upload)
	dynamotest.SetCount(t, db, dynamo.ScoresTable, key, "#of", names, 0)
	names["#of"] = "items"
	dynamotest.SetCount(t, db, dynamo.ScoresTable, key, "#of", names, score.MaxItems-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, upload)
}
