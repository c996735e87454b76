package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// markKey is that of the row in which the mark of a project is kept. No other write touches it.
func markKey(p project.ID) rowKey { return rowKey{keys.MarkSubjectKey(string(p)), keys.MarkKey} }

// Marks returns where the events of projects were when that was written down last.
//
// Index: primary. Key: _subject_key = taggie:QueueMark:<project> AND _predicate_key = mark:. Cost: ⌈n/100⌉ BatchGetItem.
func (db Labelling) Marks(ctx context.Context, ids []project.ID) ([]labelling.Mark, error) {
	marks, wants := make([]labelling.Mark, len(ids)), make([]want, len(ids))
	for i, p := range ids {
		wants[i] = want{relationshipEntries, markKey(p), func(raw []byte) error { return decodeMark(raw, &marks[i]) }}
	}
	for _, err := range db.batchGet(ctx, wants) {
		if err != nil && !errors.Is(err, errMissing) {
			return nil, err
		}
	}
	return marks, nil
}

func decodeMark(raw []byte, m *labelling.Mark) error {
	return attributes(raw, func(name []byte, v value) (err error) {
		switch string(name) {
		case "epoch":
			m.Epoch, err = v.str()
		case "entry":
			m.ID, err = v.str()
		case "redis":
			m.Redis, err = v.str()
		case "at":
			m.At, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
}

// PutMark replaces the mark of a project. *labelling.MarkMoved with the current one when it is not before any more.
//
// Index: primary. Key: _subject_key = taggie:QueueMark:<project> AND _predicate_key = mark:, on condition of epoch and entry.
// Cost: 1 TransactWriteItems of 1 row.
func (db Labelling) PutMark(ctx context.Context, p project.ID, before, after labelling.Mark) error {
	row := relationshipEntries.key(markKey(p))
	row["epoch"], row["entry"], row["redis"], row["at"] = str(after.Epoch), str(after.ID), str(after.Redis), str(keys.Instant(after.At))
	a := action{table: relationshipEntries, item: row, condition: "#epoch = :epoch AND #entry = :entry",
		names:  map[string]string{"#epoch": "epoch", "#entry": "entry"},
		values: attrs{":epoch": str(before.Epoch), ":entry": str(before.ID)},
		failed: func(row attrs) error { return &labelling.MarkMoved{Current: markOf(row)} }}
	if before.Epoch == "" {
		a.condition, a.names, a.values = "attribute_not_exists(#epoch)", map[string]string{"#epoch": "epoch"}, nil
	}
	return db.transact(ctx, []action{a}, idempotency.Key{})
}

func markOf(row map[string]types.AttributeValue) labelling.Mark {
	at, _ := keys.ParseInstant(text(row["at"])) // as it was written
	return labelling.Mark{Cursor: labelling.Cursor{Epoch: text(row["epoch"]), ID: text(row["entry"])}, Redis: text(row["redis"]), At: at}
}
