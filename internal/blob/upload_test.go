package blob_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

func TestAFailedUploadLeavesNoParts(t *testing.T) {
	b := made(t)
	engine := embeddedtest.S3(t)
	client, err := awsclient.S3(t.Context(), awsclient.Options{Endpoint: engine.URL, Region: engine.Region,
		Credentials: awsclient.Credentials{AccessKeyID: engine.AccessKey, SecretAccessKey: engine.SecretKey}})
	require.NoError(t, err)
	name := b.Name()
	parts := func() int {
		out, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &name})
		require.NoError(t, err)
		return len(out.Uploads)
	}
	text := strings.Repeat("x", 9<<20)
	during := 0
	broken := errors.New("broken")
	_, err = b.Upload(t.Context(), "k", "text/plain", func(w io.Writer) error {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		during = parts()
		return broken
	})
	require.ErrorIs(t, err, broken)
	assert.Equal(t, 1, during)
	assert.Zero(t, parts())

	assert.Panics(t, func() {
		_, _ = b.Upload(t.Context(), "k", "text/plain", func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			panic("ouch")
		})
	})
	assert.Zero(t, parts())
}
