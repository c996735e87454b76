package filetags

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
)

// FindLayout reads over how many shards the tags of everybody are spread.
//
// Index: primary. Key: tagId = ~layout AND valueHash = ~. Cost: 1 GetItem.
func (db Store) FindLayout(ctx context.Context) (filetag.Layout, error) {
	l := filetag.Layout{Shards: 1}
	_, err := db.Get(ctx, dynamo.TagsTable, layoutKey, func(item dynamo.Item) error { return decodeLayout(item, &l) })
	return l, err
}

// PutLayout replaces the layout, with its task while tags are being spread.
//
// Index: primary. Key: tagId = ~layout AND valueHash = ~ on condition of its version; a task. Cost: 1 TransactWriteItems of 1 or 2 rows.
func (db Store) PutLayout(ctx context.Context, before, after filetag.Layout) error {
	a := dynamo.Action{Table: dynamo.TagsTable, Item: layoutRow(after), Condition: "#version = :before", Names: dynamo.Reserved("version"),
		Values: dynamo.Attrs{":before": dynamo.Str(before.Version)}, Failed: tagsMoved}
	if before.Version == "" {
		a.Condition, a.Names, a.Values = "attribute_not_exists(#id)", map[string]string{"#id": dynamo.TagsTable.PK}, nil
	}
	actions := []dynamo.Action{a}
	if before.Settled() && !after.Settled() { // later on it is the task that goes on
		actions = append(actions, dynamo.TaskAction(after.Task(after.Since.Add(filetag.Settle))))
	}
	return db.Transact(ctx, actions, idempotency.Key{})
}

// ScanSets shows all sets, in no order that means anything. One that is put meanwhile may be missing; one of another program that cannot be read is
// left out.
//
// Index: primary. Key: a Scan, for what begins_with(tagId, #). Cost: 1 Scan per megabyte of the table.
func (db Store) ScanSets(ctx context.Context, from string, page func(ctx context.Context, sets []filetag.Set, next string) error) error {
	in := dynamodb.ScanInput{TableName: db.Table(dynamo.TagsTable), FilterExpression: aws.String("begins_with(#id, :file)"),
		ExpressionAttributeNames: map[string]string{"#id": dynamo.TagsTable.PK}, ExpressionAttributeValues: dynamo.Attrs{":file": dynamo.Str(keys.FileIDPrefix)},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for {
		if from != "" {
			in.ExclusiveStartKey = dynamo.TagsTable.Key(scanStart(from))
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
func (db Store) scanSets(ctx context.Context, in *dynamodb.ScanInput) (sets []filetag.Set, next string, err error) {
	last, err := db.ScanPage(ctx, dynamo.TagsTable, in, func(item dynamo.Item) error {
		var one filetag.Set
		if decodeTagSet(item, &one) == nil {
			sets = append(sets, one)
		}
		return nil
	})
	if err != nil || last == nil {
		return sets, "", err
	}
	return sets, dynamo.Text(last[dynamo.TagsTable.PK]) + "\t" + dynamo.Text(last[dynamo.TagsTable.SK]), nil
}
