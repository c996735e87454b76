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
// which takes minutes for each million rows, and returns the table as it is then. If it is ended, DynamoDB goes on to build, and the next run waits.
func (db *DB) addIndexes(ctx context.Context, want *dynamodb.CreateTableInput, have *types.TableDescription, report func(Step)) (*types.TableDescription, error) {
	for _, index := range want.GlobalSecondaryIndexes {
		asked := false
		for idle := 1; ; idle++ {
			at := slices.IndexFunc(have.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool { return *i.IndexName == *index.IndexName })
			if at >= 0 && have.GlobalSecondaryIndexes[at].IndexStatus != types.IndexStatusCreating {
				break
			}
			if !asked {
				asked = true
				report(Step{*want.TableName, "adding index " + *index.IndexName, true})
				if at < 0 {
					if err := db.addIndex(ctx, want, index); err != nil {
						return nil, err
					}
				}
			}
			if !db.Pause(ctx, idle) {
				return nil, fmt.Errorf("index %s of table %s is still being built: %w", *index.IndexName, *want.TableName, context.Cause(ctx))
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

func (db *DB) addIndex(ctx context.Context, want *dynamodb.CreateTableInput, index types.GlobalSecondaryIndex) error {
	in := dynamodb.UpdateTableInput{
		TableName: want.TableName,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		}}},
	}
	for _, of := range want.AttributeDefinitions {
		if slices.ContainsFunc(index.KeySchema, func(e types.KeySchemaElement) bool { return *e.AttributeName == *of.AttributeName }) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, of)
		}
	}
	_, err := db.Client.UpdateTable(ctx, &in)
	if _, inUse := errors.AsType[*types.ResourceInUseException](err); err != nil && !inUse { // somebody else was faster
		return fmt.Errorf("add index %s to table %s: %w", *index.IndexName, *want.TableName, err)
	}
	return nil
}
