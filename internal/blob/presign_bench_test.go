package blob_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/taggie/taggie/internal/blob"
)

// A page of a list of items has a URL for each thumbnail and each file.
func BenchmarkPresignInline(b *testing.B) {
	bucket := blob.NewBucket(s3.New(s3.Options{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}), "bucket", "eu-central-1", nil)
	for b.Loop() {
		if _, err := bucket.PresignInline(b.Context(), "items/a/b", "page 1.png", "image/png", time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}
