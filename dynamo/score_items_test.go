package dynamo

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/storetest"
)

// itemStores returns stores of items over the DB and a bucket of its own.
func itemStores(t testing.TB, db *DB) storetest.ItemStores {
	t.Helper()
	e := embeddedtest.S3(t)
	client, err := awsclient.S3(t.Context(), awsclient.Options{
		Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey},
	})
	require.NoError(t, err)
	name := "b" + strings.ReplaceAll(uuid.NewString(), "-", "")
	bucket := blob.NewBucket(client, name, e.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))
	return storetest.ItemStores{Items: ScoreItems{db}, Scores: Scores{db}, Tasks: Tasks{db}, Files: bucket, Kept: func() (sizes map[string]int64, parts int) {
		sizes = map[string]int64{}
		objects, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &name})
		require.NoError(t, err)
		for _, o := range objects.Contents {
			sizes[aws.ToString(o.Key)] = aws.ToInt64(o.Size)
		}
		uploads, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &name})
		require.NoError(t, err)
		return sizes, len(uploads.Uploads)
	}}
}

func openItems(t *testing.T, now func() time.Time) storetest.ItemStores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return itemStores(t, db)
}

func openFaultyItems(t *testing.T, now func() time.Time) storetest.ItemStores {
	return itemStores(t, openFaultyDB(t, now))
}

func TestScoreItems(t *testing.T) { storetest.ItemsSuite(t, openItems) }

func TestScoreItemsWithFaults(t *testing.T) { storetest.ItemsSuite(t, openFaultyItems) }

func TestScoreItemsKilled(t *testing.T) { storetest.KilledItems(t, openItems) }

func TestScoreItemsRowByRow(t *testing.T) {
	storetest.ItemsSuite(t, func(t *testing.T, now func() time.Time) storetest.ItemStores {
		db, inj := openDB(t, now)
		inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return itemStores(t, db)
	})
}
