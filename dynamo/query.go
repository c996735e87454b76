package dynamo

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/idempotency"
)

// index names the key attributes of one of a table's indexes. The zero index stands for the table itself.
type index struct {
	name     string // "" for the table
	prefixed bool   // the name has the prefix of the tables
	PK, SK   string
	number   bool // the sort key is a number
	local    bool // shares its partition key with the table, hence can be read consistently
	partial  bool // has some attributes of its rows only
}

// The indexes of the tables.
var (
	// GSI1 and GSI2 are global, LSI1 is local; all are of the notes table.
	GSI1 = index{name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}
	GSI2 = index{name: "GSI2", PK: "GSI2PK", SK: "GSI2SK", partial: true}
	LSI1 = index{name: "LSI1", PK: "PK", SK: "LSI1SK", local: true, partial: true}

	// EntitiesByType lists the entities of a type, the last changed first or last.
	EntitiesByType = index{name: "entities_by_type", prefixed: true, PK: "_scope_type_key", SK: "_updated"}
	// EntitiesByScope lists the entities of a scope, whatever their types. The rows of projects are not in it, although projects are scopes, too.
	EntitiesByScope = index{name: "entities_by_scope", prefixed: true, PK: "_entity_scope", SK: "_scope_type_key", partial: true}
	// ItemsByName finds the items of a project by their names. Nothing else is in it, and no item that is removed.
	ItemsByName = index{name: "items_by_name", prefixed: true, PK: "_name_letter", SK: "_name_order", partial: true}
	// ReverseRelationships lists what points to an object.
	ReverseRelationships = index{name: "reverse_relationships", prefixed: true, PK: "_object_key", SK: "_index", number: true}
	// IndexLookup finds entities by what they have in an index.
	IndexLookup = index{name: "index_lookup", prefixed: true, PK: "_scope_index_name", SK: "_index_key"}

	// ScoresByTitle finds the public scores of everybody by their titles. Other scores are not in it.
	ScoresByTitle = index{name: "scores_by_title", prefixed: true, PK: "public_letter", SK: "title_order", partial: true}

	// TagsByValue, TagsByLetter and TagsByFile are what tags on items are searched by.
	TagsByValue  = index{name: "tags_by_value", prefixed: true, PK: "queryId", SK: "valueOrder", partial: true}
	TagsByLetter = index{name: "tags_by_letter", prefixed: true, PK: "letterId", SK: "valueOrder", partial: true}
	TagsByFile   = index{name: "tags_by_file", prefixed: true, PK: "fileId", SK: "valueOrder", partial: true}
	// TagsByAuthor lists the items on which an author has put tags.
	TagsByAuthor = index{name: "tags_by_author", prefixed: true, PK: "setAuthor", SK: "tagId", partial: true}
)

// IndexName returns the full name of an index.
func (db *DB) IndexName(i index) *string {
	if i.prefixed {
		return aws.String(db.prefix + i.name)
	}
	return aws.String(i.name)
}

// Bound returns one end of a range of the sort key.
func (i index) Bound(of string) types.AttributeValue {
	if i.number {
		return &types.AttributeValueMemberN{Value: of}
	}
	return Str(of)
}

// Span is a closed range of sort keys in one partition of an index: the whole partition when it has neither end.
type Span struct {
	Table    Table
	Index    index // zero for the table itself
	PK       string
	Low      string // inclusive; "" for the beginning of the partition
	High     string // inclusive; "" for the end of the partition
	Backward bool
	Limit    int                             // rows wanted; 0 for all
	Single   bool                            // one Query, also when its megabyte holds fewer rows
	Keys     bool                            // the primary keys of the rows are enough
	Start    map[string]types.AttributeValue // exclusive start key, nil for the beginning
}

// Prefixed returns the range of all sort keys that begin with prefix, and nothing else.
func Prefixed(prefix string) (low, high string) { return prefix, prefix + "\U0010FFFF" }

// empty reports whether no sort key can be in the span. A caller that has numbers knows it better than their spelling.
func (s Span) empty() bool { return s.High != "" && !s.Index.number && s.Low > s.High }

// condition writes the range of the span. DynamoDB takes one condition on a sort key, and refuses names and values that
// none mentions.
func (s Span) condition(in *dynamodb.QueryInput) {
	names, values := map[string]string{"#pk": s.Index.PK}, Attrs{":pk": Str(s.PK)}
	text := "#pk = :pk"
	switch {
	case s.Low != "" && s.High != "":
		text += " AND #sk BETWEEN :low AND :high"
	case s.Low != "":
		text += " AND #sk >= :low"
	case s.High != "":
		text += " AND #sk <= :high"
	}
	if s.Low != "" {
		names["#sk"], values[":low"] = s.Index.SK, s.Index.Bound(s.Low)
	}
	if s.High != "" {
		names["#sk"], values[":high"] = s.Index.SK, s.Index.Bound(s.High)
	}
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String(text), names, values
}

// Query reads the rows of a span in order and hands each to decode, until it returns false, the limit is reached, or the
// span is read. It returns the key to go on with, nil at the end of the span. A row of a later format than [NewestFormat] is a fault of kind
// Outdated, and so is the page that it is on. Everything in Taggie that reads a range of
// rows comes here. Reads of the table and its local indexes are strongly consistent, those of others eventually.
//
// Cost: one Query per started megabyte of rows.
func (db *DB) Query(ctx context.Context, s Span, decode func(item Item) (more bool, err error)) (map[string]types.AttributeValue, error) {
	return db.query(ctx, s, func(items []found) (bool, error) {
		for _, item := range items {
			if more, err := decode(item.Item); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
}

// query is [DB.Query] by the rows of an answer.
func (db *DB) query(ctx context.Context, s Span, decode func(items []found) (more bool, err error)) (map[string]types.AttributeValue, error) {
	if s.Index.name == "" {
		s.Index = s.Table.primary()
	}
	if s.empty() || !(Key{s.PK, s.Low}).Possible() || !(Key{s.PK, s.High}).Possible() {
		return nil, nil // DynamoDB refuses an empty range, and keys that no row can have
	}
	ctx, cancel := Within(ctx)
	defer cancel()
	in := dynamodb.QueryInput{
		TableName:              db.Table(s.Table),
		ScanIndexForward:       aws.Bool(!s.Backward),
		ConsistentRead:         aws.Bool(s.Index.local),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ExclusiveStartKey:      s.Start,
	}
	s.condition(&in)
	wanted := db.project[*in.TableName]
	if s.Index.name != "" {
		in.IndexName = db.IndexName(s.Index)
		wanted = db.project[*in.IndexName]
	}
	if s.Keys {
		wanted = keysOnly(s)
	}
	if in.ProjectionExpression = wanted.Expression; wanted.Expression != nil {
		maps.Copy(in.ExpressionAttributeNames, wanted.Names)
	}
	for left, most := s.Limit, s.Limit; ; {
		if s.Limit > 0 {
			in.Limit = aws.Int32(int32(min(left, most)))
		}
		n, last, more, err := db.queryPage(ctx, s.Table, &in, decode)
		if err != nil {
			return nil, err
		}
		// Where a megabyte held n rows, the next one holds about as many. An engine that looks at as many rows as it is asked for,
		// as the embedded one does, takes long over the others.
		left, most = left-n, 2*max(n, 1)
		if last == nil || !more || s.Single || (s.Limit > 0 && left <= 0) {
			return last, nil
		}
		in.ExclusiveStartKey = last
	}
}

// keysOnly are the keys of rows, and their formats where the index has them: a local one would look for them in the table, a global one refuse.
func keysOnly(s Span) Projection {
	p := ProjectionOf(s.Table.PK, s.Table.SK)
	if s.Index.partial {
		p = projectionOf(s.Table.PK, s.Table.SK)
	}
	return p
}

func (db *DB) queryPage(ctx context.Context, t Table, in *dynamodb.QueryInput, decode func([]found) (bool, error)) (n int, last map[string]types.AttributeValue, more bool, err error) {
	var a answer
	defer a.release()
	for idle := 1; ; idle++ {
		if err = read(ctx, db.narrow, call[*dynamodb.QueryInput, *dynamodb.QueryOutput]{name: "Query", in: in, out: &dynamodb.QueryOutput{}, sdk: db.Client.Query}, &a); err == nil {
			break
		}
		if !Repeatable(err) || !db.Pause(ctx, idle) {
			return 0, nil, false, Failed(errors.Join(err, ctx.Err()), "the list could not be read%s", InTime(ctx))
		}
	}
	for _, item := range a.items {
		if err = db.readable(t, item.Item); err != nil {
			return 0, nil, false, err
		}
	}
	more, err = decode(a.items)
	return len(a.items), a.last, more, err
}

// Get reads one row by key and reports whether it exists. One of a later format than [NewestFormat] is a fault of kind Outdated.
//
// Index: primary. Key: the table's own, strongly consistent. Cost: 1 GetItem; 1 TransactGetItems where [idempotency.Serializable] asks
// for it.
func (db *DB) Get(ctx context.Context, table Table, key Key, decode func(item Item) error) (bool, error) {
	if !key.Possible() {
		return false, nil
	}
	if idempotency.IsSerializable(ctx) {
		err := db.TransactGet(ctx, []Want{{Table: table, Key: key, Decode: decode}})[0]
		if errors.Is(err, ErrMissing) {
			return false, nil
		}
		return err == nil, err
	}
	ctx, cancel := Within(ctx)
	defer cancel()
	var a answer
	defer a.release()
	in := dynamodb.GetItemInput{
		TableName: db.Table(table), Key: table.Key(key), ConsistentRead: aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for idle := 1; ; idle++ {
		err := read(ctx, db.narrow, call[*dynamodb.GetItemInput, *dynamodb.GetItemOutput]{name: "GetItem", in: &in, out: &dynamodb.GetItemOutput{}, sdk: db.Client.GetItem}, &a)
		switch {
		case err == nil && len(a.items) == 0:
			return false, nil
		case err == nil:
			if err := db.readable(table, a.items[0].Item); err != nil {
				return false, err
			}
			return true, decode(a.items[0].Item)
		case !Repeatable(err) || !db.Pause(ctx, idle):
			return false, Failed(errors.Join(err, ctx.Err()), "the object could not be read%s", InTime(ctx))
		}
	}
}
