package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/bench/floor"
)

// The rows as the hand-written handler reads and writes them: one struct for both, as one does.

type person struct {
	ID   string `dynamodbav:"user_id" json:"id"`
	Name string `dynamodbav:"name" json:"name"`
}

type profile struct {
	person
	Email string `dynamodbav:"email" json:"email"`
}

type flatNote struct {
	ID        string    `dynamodbav:"note_id" json:"id"`
	Owner     string    `dynamodbav:"user_id" json:"-"`
	Title     string    `dynamodbav:"title" json:"title"`
	Content   string    `dynamodbav:"content" json:"content"`
	Deadline  time.Time `dynamodbav:"deadline" json:"deadline"`
	CreatedAt time.Time `dynamodbav:"created_at" json:"createdAt"`
	UpdatedAt time.Time `dynamodbav:"updated_at" json:"updatedAt"`
	Version   int       `dynamodbav:"version" json:"version"`
}

type taggedNote struct {
	flatNote
	Tags []string `dynamodbav:"tags,stringset" json:"-"`
}

type locator struct {
	PK       string `dynamodbav:"PK"`
	Owner    string `dynamodbav:"user_id"`
	Deadline string `dynamodbav:"deadline"`
}

type share struct {
	Note       string `dynamodbav:"note_id"`
	User       string `dynamodbav:"user_id"`
	Permission string `dynamodbav:"permission"`
}

type rowKey struct{ pk, sk string }

func (k rowKey) attributes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: k.pk}, "SK": &types.AttributeValueMemberS{Value: k.sk},
	}
}

// store is the plain way to read with the SDK.
type store struct {
	client *dynamodb.Client
	table  string
}

// span is a range of rows; index is "" for the table.
type span struct{ index, pk, low, high string }

func queryRows[T any](ctx context.Context, s store, of span, parts floor.Parts, limit int32) ([]T, error) {
	in := dynamodb.QueryInput{
		TableName:                &s.table,
		KeyConditionExpression:   aws.String("#pk = :pk AND #sk BETWEEN :low AND :high"),
		ExpressionAttributeNames: map[string]string{"#pk": of.index + "PK", "#sk": of.index + "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":  &types.AttributeValueMemberS{Value: of.pk},
			":low": &types.AttributeValueMemberS{Value: of.low}, ":high": &types.AttributeValueMemberS{Value: of.high},
		},
		Limit: &limit,
	}
	if parts.Names != nil {
		in.ProjectionExpression = &parts.Expression
		maps.Copy(in.ExpressionAttributeNames, parts.Names)
	}
	if of.index == "" {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = &of.index
	}
	out, err := s.client.Query(ctx, &in)
	if err != nil {
		return nil, err
	}
	rows := make([]T, len(out.Items))
	for i, item := range out.Items {
		if err := attributevalue.UnmarshalMap(item, &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// batch reads rows by key, 100 per call, the calls at the same time. The order is DynamoDB's.
func batch[T any](ctx context.Context, s store, keys []rowKey, parts floor.Parts) ([]T, error) {
	chunks := make([][]T, (len(keys)+99)/100)
	group, ctx := errgroup.WithContext(ctx)
	i := 0
	for chunk := range slices.Chunk(keys, 100) {
		into := &chunks[i]
		i++
		group.Go(func() error {
			asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
			if parts.Names != nil {
				asked.ProjectionExpression, asked.ExpressionAttributeNames = &parts.Expression, parts.Names
			}
			for _, k := range chunk {
				asked.Keys = append(asked.Keys, k.attributes())
			}
			for len(asked.Keys) > 0 {
				out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{s.table: asked}})
				if err != nil {
					return err
				}
				for _, item := range out.Responses[s.table] {
					var row T
					if err := attributevalue.UnmarshalMap(item, &row); err != nil {
						return err
					}
					*into = append(*into, row)
				}
				asked.Keys = out.UnprocessedKeys[s.table].Keys
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(chunks...), nil
}
