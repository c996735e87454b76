package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
)

// FindLayout reads over how many shards the tags of everybody are spread.
//
// Index: primary. Key: tagId = ~layout AND valueHash = ~. Cost: 1 GetItem.
func (db FileTags) FindLayout(ctx context.Context) (filetag.Layout, error) {
	l := filetag.Layout{Shards: 1}
	_, err := db.get(ctx, tagsTable, layoutKey, func(item []byte) error { return decodeLayout(item, &l) })
	return l, err
}

// PutLayout replaces the layout, with its task while tags are being spread.
//
// Index: primary. Key: tagId = ~layout AND valueHash = ~ on condition of its version; a task. Cost: 1 TransactWriteItems of 1 or 2 rows.
func (db FileTags) PutLayout(ctx context.Context, before, after filetag.Layout) error {
	a := action{table: tagsTable, item: layoutRow(after), condition: "#version = :before", names: reserved("version"),
		values: attrs{":before": str(before.Version)}, failed: tagsMoved}
	if before.Version == "" {
		a.condition, a.names, a.values = "attribute_not_exists(#id)", map[string]string{"#id": tagsTable.pk}, nil
	}
	actions := []action{a}
	if before.Settled() && !after.Settled() { // later on it is the task that goes on
		actions = append(actions, taskAction(after.Task(after.Since.Add(filetag.Settle))))
	}
	return db.transact(ctx, actions, idempotency.Key{})
}

// ScanSets shows all sets, in no order that means anything. One that is put meanwhile may be missing; one of another program that cannot be read is
// left out.
//
// Index: primary. Key: a Scan, for what begins_with(tagId, #). Cost: 1 Scan per megabyte of the table.
func (db FileTags) ScanSets(ctx context.Context, from string, page func(ctx context.Context, sets []filetag.Set, next string) error) error {
	in := dynamodb.ScanInput{TableName: db.table(tagsTable), FilterExpression: aws.String("begins_with(#id, :file)"),
		ExpressionAttributeNames: map[string]string{"#id": tagsTable.pk}, ExpressionAttributeValues: attrs{":file": str(keys.FileIDPrefix)},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for {
		if from != "" {
			in.ExclusiveStartKey = tagsTable.key(scanStart(from))
		}
		sets, next, err := db.scanSets(ctx, &in)
		if err != nil {
			return err
		}
		if err := page(ctx, sets, next); err != nil || next == "" {
			return err
		}
		from = next
	}
}

// scanSets reads one page.
func (db FileTags) scanSets(ctx context.Context, in *dynamodb.ScanInput) (sets []filetag.Set, next string, err error) {
	last, err := db.scanPage(ctx, in, func(item []byte) error {
		var one filetag.Set
		if decodeTagSet(item, &one) == nil {
			sets = append(sets, one)
		}
		return nil
	})
	if err != nil || last == nil {
		return sets, "", err
	}
	return sets, text(last[tagsTable.pk]) + "\t" + text(last[tagsTable.sk]), nil
}
