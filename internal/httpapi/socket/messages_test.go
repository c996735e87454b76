package socket

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/document"
)

func TestDocumentsAreNamedOverSockets(t *testing.T) {
	hash := document.HashOf("{ viewer { name } }")
	raw, wrong, err := readOperation([]byte(`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}}`))
	require.NoError(t, err)
	require.Empty(t, wrong)
	assert.Empty(t, raw.Query)
	id, refused := document.Named(raw.Extensions)
	require.Nil(t, refused)
	assert.Equal(t, hash, id)
	_, wrong, err = readOperation([]byte(`{"operationName":"A"}`))
	require.NoError(t, err)
	assert.NotEmpty(t, wrong)
}
