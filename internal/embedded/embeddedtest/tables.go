package embeddedtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/taggie/taggie/internal/awsclient"
)

const dropTimeout = time.Minute // of a busy machine

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
	return awsclient.DynamoDB(context.Background(), awsclient.Options{
		Endpoint: e.DynamoDB.URL, Region: e.DynamoDB.Region,
		Credentials: awsclient.Credentials{AccessKeyID: e.DynamoDB.AccessKey, SecretAccessKey: e.DynamoDB.SecretKey},
	})
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
