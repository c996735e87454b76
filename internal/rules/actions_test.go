package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// otherActions are the IAM actions of calls that have other names than these (Service Authorization Reference, DynamoDB and S3).
var otherActions = map[string][]string{
	"TransactGetItems":                {"GetItem"},
	"TransactWriteItems":              {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"},
	"HeadBucket":                      {"ListBucket"},
	"HeadObject":                      {"GetObject"},
	"CopyObject":                      {"GetObject", "PutObject"},
	"CreateMultipartUpload":           {"PutObject"},
	"CompleteMultipartUpload":         {"PutObject"},
	"ListObjectsV2":                   {"ListBucket"},
	"ListParts":                       {"ListMultipartUploadParts"},
	"ListMultipartUploads":            {"ListBucketMultipartUploads"},
	"GetBucketCors":                   {"GetBucketCORS"},
	"PutBucketCors":                   {"PutBucketCORS"},
	"GetBucketLifecycleConfiguration": {"GetLifecycleConfiguration"},
	"PutBucketLifecycleConfiguration": {"PutLifecycleConfiguration"},
}

// actions are those that the program needs, by the calls that it makes.
func actions(t *testing.T) map[string]bool {
	t.Helper()
	call := regexp.MustCompile(`\.[cC]lient\.([A-Z]\w+)\(ctx|s3\.New(\w+)Paginator`)
	found := map[string]bool{}
	for dir, service := range map[string]string{"dynamo": "dynamodb", "dynamo/*": "dynamodb", "internal/blob": "s3"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "dynamotest") {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range call.FindAllStringSubmatch(string(source), -1) {
				actions, other := otherActions[name[1]+name[2]]
				if !other {
					actions = []string{name[1] + name[2]}
				}
				for _, action := range actions {
					found[service+":"+action] = true
				}
			}
		}
	}
	require.Contains(t, found, "dynamodb:ConditionCheckItem")
	require.Contains(t, found, "s3:ListMultipartUploadParts")
	return found
}

// An operator who allows what docs/operating.md lists has allowed all that the server calls.
func TestOperatorsAreToldEachAction(t *testing.T) {
	docs, err := os.ReadFile("docs/operating.md")
	require.NoError(t, err)
	for action := range actions(t) {
		_, name, _ := strings.Cut(action, ":")
		assert.Contains(t, string(docs), "`"+name+"`", action)
	}
}
