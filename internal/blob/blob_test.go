package blob_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

func bucket(t *testing.T, origins ...string) *blob.Bucket {
	t.Helper()
	engine := embeddedtest.S3(t)
	client, err := awsclient.S3(t.Context(), awsclient.Options{Endpoint: engine.URL, Region: engine.Region,
		Credentials: awsclient.Credentials{AccessKeyID: engine.AccessKey, SecretAccessKey: engine.SecretKey}})
	require.NoError(t, err)
	return blob.NewBucket(client, "b"+strings.ReplaceAll(uuid.NewString(), "-", ""), engine.Region, origins)
}

// steps collects reports as "ok: text" and "PROBLEM: text".
func steps(into *[]string) func(blob.Step) {
	return func(s blob.Step) {
		mark := "ok: "
		if !s.OK {
			mark = "PROBLEM: "
		}
		*into = append(*into, mark+s.Text)
	}
}

func TestApplyMakesWhatCheckMisses(t *testing.T) {
	b := bucket(t, "https://app.example.com")
	require.Error(t, b.Ready(t.Context()))

	var before []string
	require.NoError(t, b.Check(t.Context(), steps(&before)))
	assert.Equal(t, []string{"PROBLEM: does not exist; run `taggie tables apply`"}, before)

	var made []string
	require.NoError(t, b.Apply(t.Context(), steps(&made)))
	assert.Contains(t, made, "ok: created")
	assert.Contains(t, made, "ok: CORS rules set")

	var after, again []string
	require.NoError(t, b.Check(t.Context(), steps(&after)))
	assert.NotContains(t, strings.Join(after, "\n"), "PROBLEM")
	require.NoError(t, b.Apply(t.Context(), steps(&again)), "apply can be run again")
	assert.Contains(t, again, "ok: exists")
	require.NoError(t, b.Ready(t.Context()))
}

func TestABucketWithoutOriginsNeedsNoCORSRules(t *testing.T) {
	b := bucket(t)
	var said []string
	require.NoError(t, b.Apply(t.Context(), steps(&said)))
	require.NoError(t, b.Check(t.Context(), steps(&said)))
	assert.NotContains(t, strings.Join(said, "\n"), "CORS")
}
