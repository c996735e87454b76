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

// An operator who allows what docs/operating.md lists has allowed all that the server calls.
func TestOperatorsAreToldEachAction(t *testing.T) {
	docs, err := os.ReadFile("docs/operating.md")
	require.NoError(t, err)
	call := regexp.MustCompile(`\.[cC]lient\.([A-Z]\w+)\(ctx|s3\.New(\w+)Paginator`)
	calls := map[string]bool{}
	for _, dir := range []string{"dynamo", "dynamo/*", "internal/blob"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "dynamotest") {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range call.FindAllStringSubmatch(string(source), -1) {
				calls[found[1]+found[2]] = true
			}
		}
	}
	require.Contains(t, calls, "TransactWriteItems")
	require.Contains(t, calls, "ListParts")
	for name := range calls {
		actions, other := otherActions[name]
		if !other {
			actions = []string{name}
		}
		for _, action := range actions {
			assert.Contains(t, string(docs), "`"+action+"`", "%s needs it", name)
		}
	}
}
