package dynamo

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// index names the key attributes of one of a table's indexes. The zero index stands for the table itself.
type index struct {
	name     string // "" for the table
	prefixed bool   // the name has the prefix of the tables
	pk, sk   string
	number   bool // the sort key is a number
	local    bool // shares its partition key with the table, hence can be read consistently
}

var (
	gsi1 = index{name: "GSI1", pk: "GSI1PK", sk: "GSI1SK"}
	gsi2 = index{name: "GSI2", pk: "GSI2PK", sk: "GSI2SK"}
	lsi1 = index{name: "LSI1", pk: "PK", sk: "LSI1SK", local: true}

	entitiesByType       = index{name: "entities_by_type", prefixed: true, pk: "_scope_type_key", sk: "_updated"}
	reverseRelationships = index{name: "reverse_relationships", prefixed: true, pk: "_object_key", sk: "_index", number: true}
	indexLookup          = index{name: "index_lookup", prefixed: true, pk: "_scope_index_name", sk: "_index_key"}

	tagsByValue  = index{name: "tags_by_value", prefixed: true, pk: "queryId", sk: "valueOrder"}
	tagsByLetter = index{name: "tags_by_letter", prefixed: true, pk: "letterId", sk: "valueOrder"}
	tagsByFile   = index{name: "tags_by_file", prefixed: true, pk: "fileId", sk: "valueOrder"}
)

// indexName returns the full name of an index.
func (db *DB) indexName(i index) *string {
	if i.prefixed {
		return aws.String(db.prefix + i.name)
	}
	return aws.String(i.name)
}

// bound returns one end of a range of the sort key.
func (i index) bound(of string) types.AttributeValue {
	if i.number {
		return &types.AttributeValueMemberN{Value: of}
	}
	return str(of)
}

// span is a closed range of sort keys in one partition of an index: the whole partition when it has neither end.
type span struct {
	table    table
	index    index // zero for the table itself
	pk       string
	low      string // inclusive; "" for the beginning of the partition
	high     string // inclusive; "" for the end of the partition
	backward bool
	limit    int                             // rows wanted; 0 for all
	single   bool                            // one Query, also when its megabyte holds fewer rows
	keys     bool                            // the primary keys of the rows are enough
	start    map[string]types.AttributeValue // exclusive start key, nil for the beginning
}

// prefixed returns the range of all sort keys that begin with prefix, and nothing else.
func prefixed(prefix string) (low, high string) { return prefix, prefix + "\U0010FFFF" }

// empty reports whether no sort key can be in the span. A caller that has numbers knows it better than their spelling.
func (s span) empty() bool { return s.high != "" && !s.index.number && s.low > s.high }

// condition writes the range of the span. DynamoDB takes one condition on a sort key, and refuses names and values that
// none mentions.
func (s span) condition(in *dynamodb.QueryInput) {
	names, values := map[string]string{"#pk": s.index.pk}, attrs{":pk": str(s.pk)}
	text := "#pk = :pk"
	switch {
	case s.low != "" && s.high != "":
		text += " AND #sk BETWEEN :low AND :high"
	case s.low != "":
		text += " AND #sk >= :low"
	case s.high != "":
		text += " AND #sk <= :high"
	}
	if s.low != "" {
		names["#sk"], values[":low"] = s.index.sk, s.index.bound(s.low)
	}
	if s.high != "" {
		names["#sk"], values[":high"] = s.index.sk, s.index.bound(s.high)
	}
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String(text), names, values
}

// query reads the rows of a span in order and hands each to decode, until it returns false, the limit is reached, or the
// span is read. It returns the key to go on with, nil at the end of the span. Everything in Taggie that reads a range of
// rows comes here. Reads of the table and its local indexes are strongly consistent, those of others eventually.
//
// Cost: one Query per started megabyte of rows.
func (db *DB) query(ctx context.Context, s span, decode func(item []byte) (more bool, err error)) (map[string]types.AttributeValue, error) {
	if s.index.name == "" {
		s.index = s.table.primary()
	}
	if s.empty() || !(rowKey{s.pk, s.low}).possible() || !(rowKey{s.pk, s.high}).possible() {
		return nil, nil // DynamoDB refuses an empty range, and keys that no row can have
	}
	ctx, cancel := within(ctx)
	defer cancel()
	in := dynamodb.QueryInput{
		TableName:              db.table(s.table),
		ScanIndexForward:       aws.Bool(!s.backward),
		ConsistentRead:         aws.Bool(s.index.local),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ExclusiveStartKey:      s.start,
	}
	s.condition(&in)
	wanted := db.project[*in.TableName]
	if s.index.name != "" {
		in.IndexName = db.indexName(s.index)
		wanted = db.project[*in.IndexName]
	}
	if s.keys {
		wanted = projectionOf(s.table.pk, s.table.sk)
	}
	if in.ProjectionExpression = wanted.expression; wanted.expression != nil {
		maps.Copy(in.ExpressionAttributeNames, wanted.names)
	}
	for left, most := s.limit, s.limit; ; {
		if s.limit > 0 {
			in.Limit = aws.Int32(int32(min(left, most)))
		}
		n, last, more, err := db.queryPage(ctx, &in, decode)
		if err != nil {
			return nil, err
		}
		// Where a megabyte held n rows, the next one holds about as many. An engine that looks at as many rows as it is asked for,
		// as the embedded one does, takes long over the others.
		left, most = left-n, 2*max(n, 1)
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
// Index: primary. Key: the table's own, strongly consistent. Cost: 1 GetItem.
func (db *DB) get(ctx context.Context, table table, key rowKey, decode func(item []byte) error) (bool, error) {
	if !key.possible() {
		return false, nil
	}
	ctx, cancel := within(ctx)
	defer cancel()
	var a answer
	defer a.release()
	in := dynamodb.GetItemInput{
		TableName: db.table(table), Key: table.key(key), ConsistentRead: aws.Bool(true),
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
