package awsclient_test

import (
	"context"
	"fmt"

	"github.com/taggie/taggie/internal/awsclient"
)

func ExampleDynamoDB() {
	db, err := awsclient.DynamoDB(context.Background(), awsclient.Options{
		Endpoint:    "http://127.0.0.1:8000",
		Region:      "local",
		Credentials: awsclient.Credentials{AccessKeyID: "local", SecretAccessKey: "local"},
	})
	fmt.Println(*db.Options().BaseEndpoint, err)
	// Output: http://127.0.0.1:8000 <nil>
}
