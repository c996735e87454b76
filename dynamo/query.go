package dynamo

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// index names the key attributes of the table or of one of its indexes.
type index struct {
	name   string // "" for the table
	pk, sk string
	local  bool // shares its partition key with the table, hence can be read consistently
}

var (
	primary = index{pk: "PK", sk: "SK", local: true}
	gsi1    = index{name: "GSI1", pk: "GSI1PK", sk: "GSI1SK"}
	gsi2    = index{name: "GSI2", pk: "GSI2PK", sk: "GSI2SK"}
	lsi1    = index{name: "LSI1", pk: "PK", sk: "LSI1SK", local: true}
)

// span is a closed range of sort keys in one partition of an index.
type span struct {
	table    string
	index    index
	pk       string
	low      string // inclusive
	high     string // inclusive
	backward bool
	limit    int                             // rows wanted; 0 for all
	single   bool                            // one Query, also when its megabyte holds fewer rows
	keys     bool                            // PK and SK of the rows are enough
	start    map[string]types.AttributeValue // exclusive start key, nil for the beginning
}

// prefixed returns the range of all sort keys that begin with prefix, and nothing else.
func prefixed(prefix string) (low, high string) { return prefix, prefix + "\U0010FFFF" }

// query reads the rows of a span in order and hands each to decode, until it returns false, the limit is reached, or the
// span is read. It returns the key to go on with, nil at the end of the span. Everything in Taggie that reads a range of
// rows comes here. Reads of the table and its local indexes are strongly consistent, those of others eventually.
//
// Cost: one Query per started megabyte of rows.
func (db *DB) query(ctx context.Context, s span, decode func(item []byte) (more bool, err error)) (map[string]types.AttributeValue, error) {
	if s.low > s.high || !(rowKey{s.pk, s.low}).possible() || !(rowKey{s.pk, s.high}).possible() {
		return nil, nil // DynamoDB refuses an empty range, and keys that no row can have
	}
	ctx, cancel := within(ctx)
	defer cancel()
	in := dynamodb.QueryInput{
		TableName:                 db.table(s.table),
		KeyConditionExpression:    aws.String("#pk = :pk AND #sk BETWEEN :low AND :high"),
		ExpressionAttributeNames:  map[string]string{"#pk": s.index.pk, "#sk": s.index.sk},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": str(s.pk), ":low": str(s.low), ":high": str(s.high)},
		ScanIndexForward:          aws.Bool(!s.backward),
		ConsistentRead:            aws.Bool(s.index.local),
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		ExclusiveStartKey:         s.start,
	}
	var wanted projection
	if s.index.name != "" {
		in.IndexName = aws.String(s.index.name) // an index has its own projection
	} else {
		wanted = db.project
	}
	if s.keys {
		wanted = keysOnly
	}
	if in.ProjectionExpression = wanted.expression; wanted.expression != nil {
		maps.Copy(in.ExpressionAttributeNames, wanted.names)
	}
	for left := s.limit; ; {
		if s.limit > 0 {
			in.Limit = aws.Int32(int32(left))
		}
		n, last, more, err := db.queryPage(ctx, &in, decode)
		if err != nil {
			return nil, err
		}
		left -= n
		if last == nil || !more || s.single || (s.limit > 0 && left <= 0) {
			return last, nil
		}
		in.ExclusiveStartKey = last
	}
}

func (db *DB) queryPage(ctx context.Context, in *dynamodb.QueryInput, decode func([]byte) (bool, error)) (n int, last map[string]types.AttributeValue, more bool, err error) {
	var a answer
	defer a.release()
	for idle := 1; ; idle++ {
		if _, err = db.client.Query(ctx, in, a.into); err == nil {
			break
		}
		if !repeatable(err) || !db.pause(ctx, idle) {
			return 0, nil, false, failed(errors.Join(err, ctx.Err()), "the list could not be read%s", inTime(ctx))
		}
	}
	for _, item := range a.items {
		if more, err = decode(item.json); err != nil || !more {
			return len(a.items), a.last, false, err
		}
	}
	return len(a.items), a.last, true, nil
}

// get reads one row by key and reports whether it exists.
//
// Index: primary. Key: PK and SK, strongly consistent. Cost: 1 GetItem.
func (db *DB) get(ctx context.Context, table string, key rowKey, decode func(item []byte) error) (bool, error) {
	if !key.possible() {
		return false, nil
	}
	ctx, cancel := within(ctx)
	defer cancel()
	var a answer
	defer a.release()
	in := dynamodb.GetItemInput{
		TableName: db.table(table), Key: key.attributes(), ConsistentRead: aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for idle := 1; ; idle++ {
		_, err := db.client.GetItem(ctx, &in, a.into)
		switch {
		case err == nil && len(a.items) == 0:
			return false, nil
		case err == nil:
			return true, decode(a.items[0].json)
		case !repeatable(err) || !db.pause(ctx, idle):
			return false, failed(errors.Join(err, ctx.Err()), "the object could not be read%s", inTime(ctx))
		}
	}
}
