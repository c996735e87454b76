package labelling

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// markKey is that of the row in which the mark of a project is kept. No other write touches it.
func markKey(p project.ID) dynamo.Key {
	return dynamo.Key{PK: keys.MarkSubjectKey(string(p)), SK: keys.MarkKey}
}

// Marks returns where the events of projects were when that was written down last.
//
// Index: primary. Key: _subject_key = taggie:QueueMark:<project> AND _predicate_key = mark:. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) Marks(ctx context.Context, ids []project.ID) ([]labelling.Mark, error) {
	marks, wants := make([]labelling.Mark, len(ids)), make([]dynamo.Want, len(ids))
	for i, p := range ids {
		wants[i] = dynamo.Want{Table: dynamo.RelationshipEntries, Key: markKey(p), Decode: func(raw dynamo.Item) error { return decodeMark(raw, &marks[i]) }}
	}
	for _, err := range db.BatchGet(ctx, wants) {
		if err != nil && !errors.Is(err, dynamo.ErrMissing) {
			return nil, err
		}
	}
	return marks, nil
}

func decodeMark(raw dynamo.Item, m *labelling.Mark) error {
	return dynamo.Attributes(raw, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "epoch":
			m.Epoch, err = v.Str()
		case "entry":
			m.ID, err = v.Str()
		case "redis":
			m.Redis, err = v.Str()
		case "at":
			m.At, err = v.Instant()
		}
		return err
	})
}

// PutMark replaces the mark of a project. *labelling.MarkMoved with the current one when it is not before any more.
//
// Index: primary. Key: _subject_key = taggie:QueueMark:<project> AND _predicate_key = mark:, on condition of epoch and entry.
// Cost: 1 TransactWriteItems of 1 row.
func (db Store) PutMark(ctx context.Context, p project.ID, before, after labelling.Mark) error {
	row := dynamo.RelationshipEntries.Key(markKey(p))
	row["epoch"], row["entry"], row["redis"], row["at"] = dynamo.Str(after.Epoch), dynamo.Str(after.ID), dynamo.Str(after.Redis), dynamo.Str(keys.Instant(after.At))
	a := dynamo.Action{Table: dynamo.RelationshipEntries, Item: row, Condition: "#epoch = :epoch AND #entry = :entry",
		Names:  map[string]string{"#epoch": "epoch", "#entry": "entry"},
		Values: dynamo.Attrs{":epoch": dynamo.Str(before.Epoch), ":entry": dynamo.Str(before.ID)},
		Failed: func(row dynamo.Attrs) error { return &labelling.MarkMoved{Current: markOf(row)} }}
	if before.Epoch == "" {
		a.Condition, a.Names, a.Values = "attribute_not_exists(#epoch)", map[string]string{"#epoch": "epoch"}, nil
	}
	return db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
}

func markOf(row map[string]types.AttributeValue) labelling.Mark {
	at, _ := keys.ParseInstant(dynamo.Text(row["at"])) // as it was written
	return labelling.Mark{Cursor: labelling.Cursor{Epoch: dynamo.Text(row["epoch"]), ID: dynamo.Text(row["entry"])}, Redis: dynamo.Text(row["redis"]), At: at}
}
