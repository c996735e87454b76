package dynamotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/page"
)

// Scan returns all rows of a table as JSON, in the order of their keys, without the marks of transactions.
func Scan(t *testing.T, db *dynamo.DB, of dynamo.Table) []string {
	t.Helper()
	out, err := db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: db.Table(of)})
	require.NoError(t, err)
	var rows []string
	for _, row := range out.Items {
		delete(row, dynamo.WrittenBy)
		rows = append(rows, dynamo.Text(row[of.PK])+" "+dynamo.Text(row[of.SK])+"\n"+string(dynamo.RowJSON(row)))
	}
	slices.Sort(rows)
	for i, row := range rows {
		_, rows[i], _ = strings.Cut(row, "\n")
	}
	return rows
}

// AssertRows asserts that the rows are those wanted, in the same order.
func AssertRows(t *testing.T, want []string, have []string) {
	t.Helper()
	require.Len(t, have, len(want))
	for i := range want {
		assert.JSONEq(t, want[i], have[i])
	}
}

// WholeList is a page of as many as there may be.
var WholeList = page.Window{Limit: page.Max}

// RowsOf returns all rows of a table by their keys.
func RowsOf(t testing.TB, db *dynamo.DB, table dynamo.Table) map[dynamo.Key]dynamo.Attrs {
	t.Helper()
	rows := map[dynamo.Key]dynamo.Attrs{}
	in := &dynamodb.ScanInput{TableName: db.Table(table)}
	for {
		out, err := db.Client.Scan(t.Context(), in)
		require.NoError(t, err)
		for _, row := range out.Items {
			rows[dynamo.Key{PK: dynamo.Text(row[table.PK]), SK: dynamo.Text(row[table.SK])}] = row
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return rows
		}
	}
}

// These tests put rows as the source documents show them, with another program's hands: without a version, a generation, a
// counter, a locator, or a key of an index of ours. Everything is done with them that is done with rows of Taggie's.

// PutByHand puts rows that are written as JSON, the way the documents write them. A list of texts under "tags" is a set.
func PutByHand(t testing.TB, db *dynamo.DB, of dynamo.Table, rows string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(rows))
	d.UseNumber()
	var all []map[string]any
	require.NoError(t, d.Decode(&all))
	for _, row := range all {
		item := dynamo.Attrs{}
		for name, v := range row {
			if list, is := v.([]any); is && name == "tags" {
				set := &types.AttributeValueMemberSS{}
				for _, one := range list {
					set.Value = append(set.Value, fmt.Sprint(one))
				}
				item[name] = set
				continue
			}
			var err error
			item[name], err = dynamo.Attribute(v)
			require.NoError(t, err)
		}
		_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(of), Item: item})
		require.NoError(t, err)
	}
}

// RowsLike returns the rows of a table that contain a text, as JSON.
func RowsLike(t *testing.T, db *dynamo.DB, of dynamo.Table, like string) (found []string) {
	t.Helper()
	for _, row := range Scan(t, db, of) {
		if bytes.Contains([]byte(row), []byte(like)) {
			found = append(found, row)
		}
	}
	return found
}

// AUUID is the id of anything.
const AUUID = "a5a3cceb-de61-43e4-849c-deafbf750bd7"

// FullTime is the time of what has every attribute.
var FullTime = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// Decoded reads a row with what reads rows of its kind.
func Decoded[T any](t *testing.T, row dynamo.Attrs, decode func(item dynamo.Item, into *T) error) (of T) {
	t.Helper()
	require.NoError(t, decode(dynamo.ItemOf(row), &of))
	return of
}

// SeenThrough returns the row as the projection shows it.
func SeenThrough(p dynamo.Projection, row dynamo.Attrs) dynamo.Item {
	shown := dynamo.Attrs{}
	for path := range strings.SplitSeq(*p.Expression, ", ") {
		alias, element, within := strings.Cut(path, ".")
		attribute := p.Names[alias]
		value, there := row[attribute]
		switch of, isMap := value.(*types.AttributeValueMemberM); {
		case !there, within && !isMap:
		case !within:
			shown[attribute] = value
		default:
			some, _ := shown[attribute].(*types.AttributeValueMemberM)
			if some == nil {
				some = &types.AttributeValueMemberM{Value: dynamo.Attrs{}}
				shown[attribute] = some
			}
			if value, there := of.Value[p.Names[element]]; there {
				some.Value[p.Names[element]] = value
			}
		}
	}
	return dynamo.ItemOf(shown)
}

// SeenDecoded reads of a row what the projection shows of it.
func SeenDecoded[T any](t *testing.T, p dynamo.Projection, row dynamo.Attrs, decode func(item dynamo.Item, into *T) error) (of T) {
	t.Helper()
	require.NoError(t, decode(SeenThrough(p, row), &of))
	return of
}

// Full asserts that no field of a thing is at its zero value, but for the unexported ones.
func Full(t *testing.T, thing any) {
	t.Helper()
	of := reflect.ValueOf(thing)
	for i := range of.NumField() {
		if field := of.Type().Field(i); field.IsExported() {
			assert.False(t, of.Field(i).IsZero(), "%s is not filled", field.Name)
		}
	}
}

// Decoding measures what reads a row.
func Decoding[T any](b *testing.B, name string, row dynamo.Attrs, decode func(item dynamo.Item, into *T) error) {
	b.Run(name, func(b *testing.B) {
		raw, into := dynamo.RowJSON(row), new(T) // as in a page, which is made at once
		b.ReportAllocs()
		for b.Loop() {
			var nothing T
			*into = nothing
			item, err := dynamo.ParseItem(raw)
			if err == nil {
				err = decode(item, into)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
