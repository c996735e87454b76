package scores

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// What only the tests use.
const (
	Existing = existing
)

type (
	IntentRow   = intentRow
	ItemCounts  = itemCounts
	ScoreChange = scoreChange
)

var (
	CountScores     = countScores
	CountedItems    = countedItems
	DecodeIntent    = decodeIntent
	DecodeKept      = decodeKept
	DecodeScore     = decodeScore
	DecodeScoreItem = decodeScoreItem
	DecodeSnapshot  = decodeSnapshot
	DecodeUpload    = decodeUpload
	IntentKey       = intentKey
	PublicScoreKey  = publicScoreKey
	ScoreCountKey   = scoreCountKey
	ScoreRow        = scoreRow
	SnapshotKey     = snapshotKey
	SnapshotNameKey = snapshotNameKey
	SnapshotRow     = snapshotRow
	TextKey         = textKey
	UploadRow       = uploadRow
	UsageKey        = usageKey
)

func (db Store) Taking(ctx context.Context, by uses.By, items []score.ItemRef, others []dynamo.Action, once idempotency.Key) error {
	return db.taking(ctx, by, items, others, once)
}

func (db Store) Dropping(ctx context.Context, by uses.By, items []score.ItemRef) error {
	return db.dropping(ctx, by, items)
}
