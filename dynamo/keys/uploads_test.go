package keys

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUploadKeys(t *testing.T) {
	const score, item = "9e97ad6b-c5fe-4a6e-8f25-0b265b59017a", "8f64ed24-7122-42d6-aeb9-c6eddc93b389"
	assert.Equal(t, "upload:a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ==", UploadSK(score, item))
	ids, err := SplitIDs(UploadSK(score, item), UploadPrefix, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{score, item}, ids)
	for range 1000 { // items, their count and uploads are in one partition
		of := uuid.NewString()
		assert.False(t, strings.HasPrefix(ItemSK(of, item), UploadPrefix))
		assert.False(t, strings.HasPrefix(ItemSK(of, item), CountsSK))
		assert.False(t, strings.HasPrefix(UploadSK(of, item), ItemsPrefix(of)))
	}
}
