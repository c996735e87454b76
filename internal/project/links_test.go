package project

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// signs is a presigner that says what it was asked for.
type signs struct{ err error }

func (s signs) PresignPut(_ context.Context, key string, size int64, contentType string, ttl time.Duration) (string, map[string]string, error) {
	return fmt.Sprintf("put %s %d %s", key, size, ttl), map[string]string{"Content-Type": contentType}, s.err
}

func (s signs) PresignGet(_ context.Context, key, filename, contentType string, ttl time.Duration) (string, error) {
	return fmt.Sprintf("get %s %s %s %s", key, filename, contentType, ttl), s.err
}

func TestUploadLinks(t *testing.T) {
	now := time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC)
	service := NewService(Options{Now: func() time.Time { return now }})
	i := Import{TransferID: TransferID{Project: "p", ID: "i"}, Format: CSV, Bytes: 7, State: Awaiting, CreatedAt: now}

	link, ok, err := service.UploadLink(t.Context(), signs{}, i)
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, UploadLink{
		URL: "put imports/p/i 7 1h0m0s", Headers: map[string]string{"Content-Type": "text/csv; charset=utf-8"},
		ExpiresAt: time.Date(2027, 1, 2, 4, 4, 5, 0, time.UTC),
	}, link)

	now = i.CreatedAt.Add(UploadTime - 10*time.Minute)
	link, ok, err = service.UploadLink(t.Context(), signs{}, i)
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, "put imports/p/i 7 10m0s", link.URL, "it does not outlive the import")
	now = i.CreatedAt.Add(UploadTime)
	_, ok, err = service.UploadLink(t.Context(), signs{}, i)
	require.NoError(t, err)
	assert.False(t, ok)
	now = i.CreatedAt

	for _, state := range []TransferState{Queued, Running, Done, Failed, Cancelled} {
		i.State = state
		_, ok, err := service.UploadLink(t.Context(), signs{}, i)
		require.NoError(t, err)
		assert.False(t, ok, state)
	}

	i.State = Awaiting
	_, ok, err = service.UploadLink(t.Context(), signs{errors.New("no credentials")}, i)
	assert.True(t, fault.Is(err, fault.Unavailable), err)
	assert.False(t, ok)
}

func TestDownloadLinks(t *testing.T) {
	ended := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	now := ended
	service := NewService(Options{Now: func() time.Time { return now }})
	e := Export{TransferID: TransferID{Project: "p", ID: "e"}, Format: JSONLines, State: Done, EndedAt: ended}

	url, ok, err := service.DownloadLink(t.Context(), signs{}, e, "Birds")
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, "get exports/p/e Birds-results.jsonl application/jsonl; charset=utf-8 1h0m0s", url)

	now = ended.Add(ExportKept)
	_, ok, err = service.DownloadLink(t.Context(), signs{}, e, "Birds")
	require.NoError(t, err)
	assert.False(t, ok, "the file is not kept any longer")

	now = ended
	for _, state := range []TransferState{Queued, Running, Failed} {
		e.State = state
		_, ok, err := service.DownloadLink(t.Context(), signs{}, e, "Birds")
		require.NoError(t, err)
		assert.False(t, ok, state)
	}

	e.State = Done
	_, ok, err = service.DownloadLink(t.Context(), signs{errors.New("no credentials")}, e, "Birds")
	assert.True(t, fault.Is(err, fault.Unavailable), err)
	assert.False(t, ok)
}

func TestFileNamesAreSafe(t *testing.T) {
	for name, want := range map[string]string{
		"Birds of 2027":              "Birds-of-2027-results.csv",
		"../../etc/passwd":           "etc-passwd-results.csv",
		`C:\x.exe "; filename=y`:     "C-x-exe-filename-y-results.csv",
		"CON":                        "CON-results.csv",
		"Vögel/鳥":                    "Vögel-鳥-results.csv",
		"\u202efdp.exe\r\nX: y\x00z": "fdp-exe-X-y-z-results.csv",
		"...":                        "results.csv",
		"-rf":                        "rf-results.csv",
		"results":                    "results-results.csv",
	} {
		assert.Equal(t, want, Export{Format: CSV}.FileName(name), "%q", name)
	}
	long := Export{Format: JSONLines}.FileName("x" + strings.Repeat("鳥", MaxNameRunes))
	assert.LessOrEqual(t, len(long), 255)
	assert.True(t, utf8.ValidString(long))
	assert.True(t, strings.HasSuffix(long, "鳥-results.jsonl"), long)
}
