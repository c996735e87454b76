package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// addIndexes adds the global indexes that a table lacks, one after the other, since DynamoDB builds one at a time. It waits until each can be read,
// which takes minutes for each million rows, and returns the table as it is then. While the table is being changed otherwise, or too many indexes are
// built, it asks again at each look. If it is ended, DynamoDB goes on to build, and the next run waits.
func (db *DB) addIndexes(ctx context.Context, want *dynamodb.CreateTableInput, have *types.TableDescription, report func(Step)) (*types.TableDescription, error) {
	for _, index := range want.GlobalSecondaryIndexes {
		told, accepted := false, false
		var refused error
		for idle := 1; ; idle++ {
			at := slices.IndexFunc(have.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool { return *i.IndexName == *index.IndexName })
			if at >= 0 && !unfinished(have.GlobalSecondaryIndexes[at].IndexStatus) {
				break
			}
			if !told {
				told = true
				report(Step{*want.TableName, "adding index " + *index.IndexName, true})
			}
			if at >= 0 {
				accepted = false // one that is deleted has to be asked for again
			} else if !accepted { // else the table is told as it was before
				before := refused
				var err error
				if refused, err = db.addIndex(ctx, want, have, index); err != nil {
					return nil, err
				}
				if accepted = refused == nil; !accepted && before == nil {
					report(Step{*want.TableName, "waiting to add index " + *index.IndexName + ": " + refused.Error(), true})
				}
			}
			if !db.Pause(ctx, idle) {
				return nil, fmt.Errorf("index %s of table %s is still being built: %w", *index.IndexName, *want.TableName, errors.Join(context.Cause(ctx), refused))
			}
			var err error
			if have, err = db.describe(ctx, want.TableName); err != nil {
				return nil, err
			}
			if have == nil {
				return nil, fmt.Errorf("table %s was deleted meanwhile", *want.TableName)
			}
		}
	}
	return have, nil
}

// unfinished reports whether an index is not there yet, or not any more soon.
func unfinished(s types.IndexStatus) bool {
	return s == types.IndexStatusCreating || s == types.IndexStatusDeleting
}

// addIndex asks for an index. Refused says why it has to be asked for again later: the table is being changed, maybe by another server that adds the
// same index, or as many indexes are being built as may be.
func (db *DB) addIndex(ctx context.Context, want *dynamodb.CreateTableInput, have *types.TableDescription, index types.GlobalSecondaryIndex) (refused, err error) {
	in := dynamodb.UpdateTableInput{
		TableName: want.TableName,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection, ProvisionedThroughput: provisioned(have),
		}}},
	}
	for _, of := range want.AttributeDefinitions {
		if slices.ContainsFunc(index.KeySchema, func(e types.KeySchemaElement) bool { return *e.AttributeName == *of.AttributeName }) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, of)
		}
	}
	_, err = db.Client.UpdateTable(ctx, &in)
	_, inUse := errors.AsType[*types.ResourceInUseException](err)
	if _, limited := errors.AsType[*types.LimitExceededException](err); inUse || limited {
		return err, nil
	}
	if err != nil {
		return nil, fmt.Errorf("add index %s to table %s: %w", *index.IndexName, *want.TableName, err)
	}
	return nil, nil
}

// provisioned is the capacity that a new index of the table gets, which is that of the table; nil where it is paid by request.
func provisioned(have *types.TableDescription) *types.ProvisionedThroughput {
	of, billing := have.ProvisionedThroughput, have.BillingModeSummary
	if billing != nil && billing.BillingMode != types.BillingModeProvisioned || of == nil || of.ReadCapacityUnits == nil || *of.ReadCapacityUnits == 0 {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: of.ReadCapacityUnits, WriteCapacityUnits: of.WriteCapacityUnits}
}
