package dynamotest

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// ItemStores returns stores of items over the DB and a bucket of its own.
func ItemStores(t testing.TB, db *dynamo.DB) scoretest.ItemStores {
	t.Helper()
	e := embeddedtest.S3(t)
	client, err := awsclient.S3(t.Context(), awsclient.Options{
		Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey},
	})
	require.NoError(t, err)
	name := "b" + strings.ReplaceAll(uuid.NewString(), "-", "")
	bucket := blob.NewBucket(client, name, e.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))
	return scoretest.ItemStores{Items: scores.Items{DB: db}, Scores: scores.Store{DB: db}, Tasks: dynamo.Tasks{DB: db}, Files: bucket, Kept: func() (sizes map[string]int64, parts int) {
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

// The ids of the source document's examples.
const (
	DocumentOwner = "a5a3cceb-de61-43e4-849c-deafbf750bd7"
	DocumentScore = "9e97ad6b-c5fe-4a6e-8f25-0b265b59017a"
	DocumentItem  = "8f64ed24-7122-42d6-aeb9-c6eddc93b389"
)

// FullScoreItem is an item of a score of which every attribute is there.
var FullScoreItem = score.Item{
	ItemRef: score.ItemRef{Owner: AUUID, Score: DocumentScore, ID: DocumentItem}, Name: "a.png", SetName: "Suite", Type: "image/png", Size: 10, Total: 15, SHA256: "h", Object: "o",
	Width: 600, Height: 800, Thumbnail: score.Thumbnail{Object: "t", Type: "image/jpeg", Size: 5, Width: 60, Height: 80}, Refs: 2, Withdrawn: FullTime.Add(time.Minute), Imported: true, CreatedAt: FullTime, Signed: FullTime.Add(time.Hour),
}
