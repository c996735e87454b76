package embeddedtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded"
)

const dropTimeout = time.Minute // of a busy machine

var prefixes atomic.Int64 // tests share one engine, each with tables of its own

// Tables returns a client of [DynamoDB] whose calls go through wrap, and a prefix for tables that only this test has; they are deleted
// when it is over.
func Tables(t testing.TB, wrap func(engine http.RoundTripper) http.RoundTripper) (client *dynamodb.Client, prefix string) {
	t.Helper()
	prefix = fmt.Sprintf("test%d-", prefixes.Add(1))
	DropTables(t, prefix)
	client, err := awsclient.DynamoDB(t.Context(), options(DynamoDB(t), wrap))
	if err != nil {
		t.Fatal(err)
	}
	return client, prefix
}

// MakeTables makes tables in [DynamoDB] with one call each: the engine needs no waiting for them, and what removes rows when their time is
// over is of no interest to tests.
func MakeTables(t testing.TB, tables []dynamodb.CreateTableInput) {
	t.Helper()
	client, err := sharedClient()
	for i := 0; i < len(tables) && err == nil; i++ {
		_, err = client.CreateTable(t.Context(), &tables[i])
		if _, there := errors.AsType[*types.ResourceInUseException](err); there { // servers of one test share them
			err = nil
		}
	}
	if err != nil {
		t.Fatalf("make the tables of the test: %v", err)
	}
}

func options(e embedded.Endpoint, wrap func(http.RoundTripper) http.RoundTripper) awsclient.Options {
	return awsclient.Options{
		Endpoint: e.URL, Region: e.Region, Wrap: wrap, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey},
	}
}

// DropTables deletes the tables of [DynamoDB] whose names begin with prefix when the test is over, after the clean-ups that
// are registered later. Where a thousand tests have left their tables, making six more takes the engine half a second, and
// all others wait for it.
func DropTables(t testing.TB, prefix string) {
	t.Helper()
	DynamoDB(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), dropTimeout)
		defer cancel()
		if err := dropTables(ctx, prefix); err != nil {
			t.Errorf("drop the tables of the test: %v", err)
		}
	})
}

// sharedClient is of the test binary's DynamoDB, with nothing in between.
var sharedClient = sync.OnceValues(func() (*dynamodb.Client, error) {
	e, err := sharedDynamoDB()
	if err != nil {
		return nil, err
	}
	return awsclient.DynamoDB(context.Background(), options(e.DynamoDB, nil))
})

func dropTables(ctx context.Context, prefix string) error {
	client, err := sharedClient()
	if err != nil {
		return err
	}
	// Names are listed in order, and none is the prefix alone.
	for pages := dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{ExclusiveStartTableName: &prefix}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, name := range page.TableNames {
			if !strings.HasPrefix(name, prefix) {
				return nil
			}
			if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				return err
			}
		}
	}
	return nil
}
