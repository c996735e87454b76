package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinesCarryTheRequestID(t *testing.T) {
	var b bytes.Buffer
	log, err := NewLogger(&b, "json", "info")
	require.NoError(t, err)
	ctx := WithRequestID(t.Context(), "r-1")

	log.With("room", "httpapi").InfoContext(ctx, "served", "status", 200)
	line := map[string]any{}
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	assert.Equal(t, "r-1", line["request_id"])
	assert.Equal(t, "httpapi", line["room"])
	assert.Equal(t, "r-1", RequestID(ctx))

	b.Reset()
	log.Info("outside a request")
	assert.NotContains(t, b.String(), "request_id")
}

func TestLevel(t *testing.T) {
	var b bytes.Buffer
	log, err := NewLogger(&b, "text", "warn")
	require.NoError(t, err)
	log.Info("quiet")
	assert.Empty(t, b.String())
	log.Warn("loud")
	assert.Contains(t, b.String(), "loud")
}

func TestPersonalAttributesAreBlanked(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log, err := NewLogger(&b, format, "debug")
		require.NoError(t, err)
		for _, key := range append(slices.Clone(personal), "Email", "TITLE") {
			log.Info("m", key, "secret")
			log.Info("m", slog.Group("input", key, "secret"))
			log.With(key, "secret").Info("m")
		}
		assert.NotContains(t, b.String(), "secret")
	}
	assert.True(t, slices.IsSorted(personal))
	assert.True(t, slices.IsSorted(throttleCodes))
}

func TestBadLogSettings(t *testing.T) {
	_, err := NewLogger(nil, "xml", "info")
	require.ErrorContains(t, err, `"xml"`)
	_, err = NewLogger(nil, "json", "loud")
	require.ErrorContains(t, err, `"loud"`)
}
