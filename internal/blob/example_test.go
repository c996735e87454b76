package blob_test

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/taggie/taggie/internal/blob"
)

// Nothing is contacted until the bucket is made, checked or used.
func ExampleNewBucket() {
	client := s3.New(s3.Options{Region: "eu-central-1"})
	b := blob.NewBucket(client, "notes-of-ada", "eu-central-1", []string{"https://app.example.com"})
	fmt.Println(b.Name())
	// Output: notes-of-ada
}
