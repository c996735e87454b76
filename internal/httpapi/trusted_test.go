package httpapi

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/document"
)

// What generate-persisted-query-manifest writes, and what relay-compiler writes.
const (
	apolloManifest = `{
  "format": "apollo-persisted-query-manifest",
  "version": 1,
  "operations": [
    {"id": "name-of-viewer", "name": "A", "type": "query", "body": "query A { viewer { name } }"},
    {"id": "old", "name": "B", "type": "query", "body": "query B { viewer { nickname } }"}
  ]
}`
	relayManifest = `{
  "a2b6a6b0a5d6a7b3f1a3b6f7e2d1c0ff": "query A { viewer { name } }"
}`
	trustedText = `query A { viewer { name } }`
)

func trusting(t *testing.T, manifest string, mode document.TrustMode) func(*Options) {
	t.Helper()
	trusted, err := document.ReadTrusted(mode, []byte(manifest))
	require.NoError(t, err)
	return func(o *Options) { o.Trusted = trusted }
}

func TestTrustedDocumentsAreAskedForByTheirID(t *testing.T) {
	for manifest, id := range map[string]string{apolloManifest: "name-of-viewer", relayManifest: "a2b6a6b0a5d6a7b3f1a3b6f7e2d1c0ff"} {
		for _, mode := range []document.TrustMode{document.TrustOff, document.TrustLog, document.TrustEnforce} {
			s := newServer(t, trusting(t, manifest, mode))
			for _, body := range []string{
				`{"documentId":"` + id + `"}`,
				registering(id, ""),
				registering(id, trustedText),
				`{"documentId":"sha256:` + document.HashOf(trustedText) + `"}`,
				registering(document.HashOf(trustedText), ""),
				`{"query":"` + trustedText + `"}`,
			} {
				a := s.post(body, ada...)
				assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String(), "%s: %s", mode, body)
			}
			assert.Empty(t, s.logged("document is not trusted"))
			s.post(`{"documentId":"unheard-of"}`, ada...).only(t, http.StatusOK, "PERSISTED_QUERY_NOT_FOUND")
		}
	}
}

// The files were written by generate-persisted-query-manifest 1.4.0 and relay-compiler 21.0.1, for operations on this schema.
func TestManifestsOfTheTools(t *testing.T) {
	for file, count := range map[string]int{"testdata/apollo-manifest.json": 2, "testdata/relay-manifest.json": 1} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s := newServer(t, trusting(t, string(text), document.TrustEnforce))
		assert.Empty(t, s.logged("trusted documents do not fit the schema"), file)
		trusted := s.options.Trusted
		require.Equal(t, count, trusted.Len(), file)
		for id, text := range trusted.ByID {
			if strings.HasPrefix(text, "query") {
				a := s.post(registering(id, ""), ada...)
				assert.Equal(t, "Ada", a.Data["viewer"].(map[string]any)["name"], file)
			}
		}
	}
}

func TestDocumentsThatAreNotTrusted(t *testing.T) {
	for mode, carriedOut := range map[document.TrustMode]bool{document.TrustOff: true, document.TrustLog: true, document.TrustEnforce: false} {
		store := &shelf{kept: map[string]string{document.HashOf(nameOfViewer): nameOfViewer}}
		s := newServer(t, trusting(t, apolloManifest, mode), func(o *Options) { o.Documents = store })
		a := s.ask(nameOfViewer, nil)
		registered := s.post(registering(document.HashOf(nameOfViewer), ""), ada...)
		if carriedOut {
			assert.Equal(t, http.StatusOK, a.Code)
			assert.Empty(t, a.Errors)
			assert.Empty(t, registered.Errors)
		} else {
			assert.Contains(t, a.only(t, http.StatusOK, "FORBIDDEN").Message, "clients' builds")
			s.ask(nameOfViewer, nil, "Accept", mediaResponse).only(t, http.StatusForbidden, "FORBIDDEN")
			s.ask(`{ __schema { types { name } } }`, nil).only(t, http.StatusOK, "FORBIDDEN")
			registered.only(t, http.StatusOK, "PERSISTED_QUERY_NOT_FOUND")
		}
		entries := s.logged("document is not trusted")
		if mode != document.TrustLog {
			assert.Empty(t, entries)
			continue
		}
		require.Len(t, entries, 2)
		assert.Equal(t, document.HashOf(nameOfViewer), entries[0]["sha256"])
		assert.NotContains(t, s.log.String(), nameOfViewer, "a text may hold secrets")
	}
}

func TestTrustedDocumentsThatDoNotFit(t *testing.T) {
	s := newServer(t, trusting(t, apolloManifest, document.TrustEnforce))
	entries := s.logged("trusted documents do not fit the schema")
	require.Len(t, entries, 1)
	assert.InDelta(t, 1, entries[0]["count"], 0)
	assert.Equal(t, "old", entries[0]["first"])
	s.post(`{"documentId":"old"}`, ada...).only(t, http.StatusOK, "GRAPHQL_VALIDATION_FAILED")
}

func TestManifestsThatAreNone(t *testing.T) {
	for manifest, says := range map[string]string{
		``:                   "JSON object",
		`[]`:                 "JSON object",
		`{}`:                 "at least one",
		`{"a": 1}`:           `under "a"`,
		`{"a": ""}`:          "no text",
		`{"": "{ a }"}`:      "no id",
		`{"operations": []}`: document.ApolloFormat,
		`{"format": "apollo-persisted-query-manifest", "version": 2, "operations": []}`:                                                    "version 1",
		`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": []}`:                                                    "at least one",
		`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id":"a","body":"{ a }"},{"id":"a","body":"{ b }"}]}`: "two documents",
	} {
		_, err := document.ReadTrusted(document.TrustLog, []byte(manifest))
		assert.ErrorContains(t, err, says, manifest)
	}
	trusted, err := document.ReadTrusted(document.TrustLog, []byte(apolloManifest), []byte(`{"b": "{ viewer { id } }"}`))
	require.NoError(t, err)
	assert.Equal(t, 3, trusted.Len())
}
