package faultinject_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
)

type item = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func text(v types.AttributeValue) string {
	if m, ok := v.(*types.AttributeValueMemberS); ok {
		return m.Value
	}
	return ""
}

func key(sk string) item { return item{"PK": s("p"), "SK": s(sk)} }

// row has a key, a value, and a place in the index GSI1.
func row(sk, value string) item {
	return item{"PK": s("p"), "SK": s(sk), "GSI1PK": s("g"), "GSI1SK": s(sk), "v": s(value)}
}

// soon bounds what a test waits for.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func client(t *testing.T, inj *faultinject.Injector, endpoint, region, id, secret string) *dynamodb.Client {
	t.Helper()
	db, err := awsclient.DynamoDB(t.Context(), awsclient.Options{
		Endpoint: endpoint, Region: region, Wrap: inj.Wrap,
		Credentials: awsclient.Credentials{AccessKeyID: id, SecretAccessKey: secret},
	})
	require.NoError(t, err)
	return db
}

// fake is an engine that says yes to everything and counts.
func fake(t *testing.T) (*faultinject.Injector, *dynamodb.Client, *atomic.Int64) {
	t.Helper()
	served := new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(srv.Close)
	inj := faultinject.New()
	return inj, client(t, inj, srv.URL, "local", "id", "secret"), served
}

var tables atomic.Int64

// engine is the embedded DynamoDB with an empty table.
func engine(t *testing.T) (*faultinject.Injector, *dynamodb.Client, string) {
	t.Helper()
	e := embeddedtest.DynamoDB(t)
	inj := faultinject.New()
	db := client(t, inj, e.URL, e.Region, e.AccessKey, e.SecretKey)
	table := fmt.Sprintf("faultinject-%d", tables.Add(1))
	var defined []types.AttributeDefinition
	for _, name := range []string{"PK", "SK", "GSI1PK", "GSI1SK"} {
		defined = append(defined, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
	}
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: defined, KeySchema: keys("PK", "SK"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("GSI1"), KeySchema: keys("GSI1PK", "GSI1SK"), Projection: all}},
		LocalSecondaryIndexes:  []types.LocalSecondaryIndex{{IndexName: aws.String("LSI1"), KeySchema: keys("PK", "GSI1SK"), Projection: all}},
	})
	require.NoError(t, err)
	inj.Recorder().Reset()
	return inj, db, table
}

func put(t *testing.T, db *dynamodb.Client, table string, rows ...item) {
	t.Helper()
	for _, r := range rows {
		_, err := db.PutItem(soon(t), &dynamodb.PutItemInput{TableName: &table, Item: r})
		require.NoError(t, err)
	}
}

// query lists "SK=v" of the table or of one of its indexes, read in pages of two.
func query(t *testing.T, db *dynamodb.Client, table, index string) string {
	t.Helper()
	in := &dynamodb.QueryInput{
		TableName: &table, Limit: aws.Int32(2), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		KeyConditionExpression: aws.String("PK = :p"), ExpressionAttributeValues: item{":p": s("p")},
	}
	switch index {
	case "":
		in.ConsistentRead = aws.Bool(true)
	case "GSI1":
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("GSI1PK = :p"), item{":p": s("g")}
		fallthrough
	default:
		in.IndexName = &index
	}
	var found []string
	for pages := dynamodb.NewQueryPaginator(db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(soon(t))
		require.NoError(t, err)
		require.Equal(t, table, *page.ConsumedCapacity.TableName)
		for _, i := range page.Items {
			found = append(found, text(i["SK"])+"="+text(i["v"]))
		}
	}
	return strings.Join(found, " ")
}
