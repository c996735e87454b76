package dynamo_test

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/user"
)

// The stores of a server share one DB. Nothing is contacted until they are used.
func ExampleNew() {
	client := dynamodb.New(dynamodb.Options{Region: "eu-central-1"})
	db := dynamo.New(dynamo.Options{Client: client, TablePrefix: "staging-", Concurrency: 16, MaxInFlight: 256})
	var _ user.Store = users.Store{DB: db}
	var _ note.Store = notes.Store{DB: db}.Store()
	fmt.Println(db.TableNames())
	// Output: [staging-notes staging-entities_master staging-relationship_entries staging-index_entries staging-scores staging-tags]
}
