package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Traced says in which rows of a table a user is named.
type Traced struct {
	Table      Table
	Attributes []string // one of which is the id of the user
	// Or is another condition that such rows may fulfil, about :id and Values; "" for none.
	Or     string
	Names  map[string]string
	Values Attrs
	// Unless is an attribute of rows that are not looked at; "" for none.
	Unless string
}

// Trace is a row that names a user.
type Trace struct {
	Key        Key
	Attributes []string // of those of [Traced], which name the user
}

// Traces looks at the rows of one page of a table, from a position on, and returns those that name a user, and where to go on; "" at the end. The first
// position is "". It sees every acknowledged write.
//
// Index: primary, by Scan. Key: all rows of the table. Cost: 1 consistent Scan of up to 1 MB.
func (db *DB) Traces(ctx context.Context, of Traced, id, from string) (found []Trace, next string, err error) {
	names, values := map[string]string{}, Attrs{":id": Str(id)}
	conditions := make([]string, len(of.Attributes), len(of.Attributes)+1)
	for i, name := range of.Attributes {
		alias := fmt.Sprint("#of", i)
		names[alias], conditions[i] = name, alias+" = :id"
	}
	if of.Or != "" {
		conditions = append(conditions, of.Or)
		for name, value := range of.Values {
			values[name] = value
		}
		for alias, name := range of.Names {
			names[alias] = name
		}
	}
	filter := strings.Join(conditions, " OR ")
	if !strings.Contains(filter, ":id") { // a value that is not used is refused
		delete(values, ":id")
	}
	if of.Unless != "" {
		names["#unless"], filter = of.Unless, "attribute_not_exists(#unless) AND ("+filter+")"
	}
	p := ProjectionOf(append([]string{of.Table.PK, of.Table.SK}, of.Attributes...)...)
	for alias, name := range p.Names {
		names[alias] = name
	}
	in := dynamodb.ScanInput{
		TableName: db.Table(of.Table), ConsistentRead: aws.Bool(true), ProjectionExpression: p.Expression, FilterExpression: &filter,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if from != "" {
		var key [2]string
		if err := json.Unmarshal([]byte(from), &key); err != nil {
			return nil, "", fmt.Errorf("read a position in a table: %w", err)
		}
		in.ExclusiveStartKey = of.Table.Key(Key{PK: key[0], SK: key[1]})
	}
	last, err := db.ScanPage(ctx, of.Table, &in, func(item Item) error {
		var one Trace
		err := Attributes(item, func(name []byte, v Value) error {
			switch string(name) {
			case of.Table.PK:
				one.Key.PK, _ = v.Str()
			case of.Table.SK:
				one.Key.SK, _ = v.Str()
			}
			if text, err := v.Str(); err == nil && text == id && slices.Contains(of.Attributes, string(name)) { // others may be of any type
				one.Attributes = append(one.Attributes, string(name))
			}
			return nil
		})
		found = append(found, one)
		return err
	})
	if err != nil || last == nil {
		return found, "", err
	}
	at, err := json.Marshal([2]string{Text(last[of.Table.PK]), Text(last[of.Table.SK])})
	return found, string(at), err
}

// Replacing puts another id in the place of the user's in the attributes that name the user, on condition that they do; [ErrMoved] when they do not any
// more. Nothing else of the row changes.
func (t Trace) Replacing(table Table, id, by string) Action {
	a := Action{Table: table, Key: t.Key, Names: map[string]string{}, Values: Attrs{":id": Str(id), ":by": Str(by)}, Failed: Moved}
	sets, conditions := make([]string, len(t.Attributes)), make([]string, len(t.Attributes))
	for i, name := range t.Attributes {
		alias := fmt.Sprint("#of", i)
		a.Names[alias], sets[i], conditions[i] = name, alias+" = :by", alias+" = :id"
	}
	a.Update, a.Condition = "SET "+strings.Join(sets, ", "), strings.Join(conditions, " AND ")
	return a
}

// EraseEach erases each of some traces, several at a time. A trace that somebody else has changed meanwhile is left to the next look.
func EraseEach(db *DB, found []Trace, erase func(Trace) error) error {
	return errors.Join(db.Each(len(found), func(n int) error { return UnlessMoved(erase(found[n])) })...)
}
