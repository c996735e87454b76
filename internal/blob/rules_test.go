package blob_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
)

// fakeS3 is S3 in us-east-1 as far as one bucket and its rules go: the embedded engine has no lifecycle rules.
type fakeS3 struct {
	mu     sync.Mutex
	exists bool
	docs   map[string]string // by "lifecycle" and "cors"
	puts   []string
	asked  int // how often
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	kind := ""
	for _, k := range []string{"lifecycle", "cors"} {
		if r.URL.Query().Has(k) {
			kind = k
		}
	}
	switch {
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		f.puts = append(f.puts, r.Method+" "+kind)
		if kind == "" {
			f.exists = true // succeeds also when it was there
			return
		}
		f.docs[kind] = string(body)
	case !f.exists:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodHead:
	case f.docs[kind] == "":
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", map[string]string{"lifecycle": "NoSuchLifecycleConfiguration", "cors": "NoSuchCORSConfiguration"}[kind])
	default:
		_, _ = io.WriteString(w, f.docs[kind])
	}
}

func fakeBucket(t *testing.T, f *fakeS3) *blob.Bucket {
	t.Helper()
	f.docs = map[string]string{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client, err := awsclient.S3(t.Context(), awsclient.Options{Endpoint: server.URL, Region: "us-east-1",
		Credentials: awsclient.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}})
	require.NoError(t, err)
	return blob.NewBucket(client, "bucket", "us-east-1", []string{"https://app.example.com"})
}

func said(t *testing.T, b *blob.Bucket) (applied, checked []string) {
	t.Helper()
	require.NoError(t, b.Apply(t.Context(), steps(&applied)))
	require.NoError(t, b.Check(t.Context(), steps(&checked)))
	return applied, checked
}

func TestRulesOfOthersStay(t *testing.T) {
	f := &fakeS3{exists: true}
	b := fakeBucket(t, f)
	f.docs["lifecycle"] = `<LifecycleConfiguration><Rule><ID>theirs</ID><Status>Enabled</Status><Filter><Prefix>logs/</Prefix></Filter><Expiration><Days>90</Days></Expiration></Rule></LifecycleConfiguration>`
	f.docs["cors"] = `<CORSConfiguration><CORSRule><ID>theirs</ID><AllowedOrigin>https://other.example.com</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>`

	var before []string
	require.NoError(t, b.Check(t.Context(), steps(&before)))
	assert.Equal(t, []string{"ok: exists", "PROBLEM: lacks the CORS rule taggie; run `taggie tables apply`",
		"PROBLEM: lacks the lifecycle rule taggie-abort-incomplete-uploads; run `taggie tables apply`",
		"PROBLEM: lacks the lifecycle rule taggie-expire-uploads; run `taggie tables apply`",
		"PROBLEM: lacks the lifecycle rule taggie-expire-imports; run `taggie tables apply`",
		"PROBLEM: lacks the lifecycle rule taggie-expire-exports; run `taggie tables apply`",
		"PROBLEM: lacks the lifecycle rule taggie-expire-archives; run `taggie tables apply`"}, before, "that there are rules is not enough")

	applied, checked := said(t, b)
	assert.Equal(t, []string{"ok: exists", "ok: CORS rules set", "ok: lifecycle rules set"}, applied)
	assert.Equal(t, []string{"ok: exists", "ok: CORS rules are right", "ok: lifecycle rules are right"}, checked)
	for kind, parts := range map[string][]string{
		"lifecycle": {"<ID>theirs</ID>", "<Prefix>logs/</Prefix>", "<Days>90</Days>", "<ID>taggie-abort-incomplete-uploads</ID>", "<DaysAfterInitiation>7</DaysAfterInitiation>",
			"<ID>taggie-expire-uploads</ID>", "<Prefix>uploads/</Prefix>", "<ID>taggie-expire-imports</ID>", "<Prefix>imports/</Prefix>", "<ID>taggie-expire-exports</ID>", "<Prefix>exports/</Prefix>"},
		"cors": {"<ID>theirs</ID>", "https://other.example.com", "<ID>taggie</ID>", "https://app.example.com"},
	} {
		for _, part := range parts {
			assert.Equal(t, 1, strings.Count(f.docs[kind], part), "%s in %s", part, f.docs[kind])
		}
	}

	f.puts = nil
	applied, _ = said(t, b)
	assert.Equal(t, []string{"ok: exists", "ok: CORS rules are right", "ok: lifecycle rules are right"}, applied)
	assert.Empty(t, f.puts, "what is right is not written again")
}

func TestOurRulesAreCorrected(t *testing.T) {
	f := &fakeS3{}
	b := fakeBucket(t, f)
	applied, _ := said(t, b)
	assert.Equal(t, []string{"ok: created", "ok: CORS rules set", "ok: lifecycle rules set"}, applied)
	f.docs["lifecycle"] = strings.Replace(f.docs["lifecycle"], "DaysAfterInitiation>7<", "DaysAfterInitiation>365<", 1)
	f.docs["lifecycle"] = strings.Replace(f.docs["lifecycle"], "exports/", "exported/", 1)
	f.docs["cors"] = strings.Replace(f.docs["cors"], "app.example.com", "old.example.com", 1)
	var found []string
	require.NoError(t, b.Check(t.Context(), steps(&found)))
	assert.Len(t, found, 4)
	assert.Contains(t, found, "PROBLEM: has another CORS rule taggie; run `taggie tables apply`")
	assert.Contains(t, found, "PROBLEM: has another lifecycle rule taggie-abort-incomplete-uploads; run `taggie tables apply`")
	assert.Contains(t, found, "PROBLEM: has another lifecycle rule taggie-expire-exports; run `taggie tables apply`")
	applied, checked := said(t, b)
	assert.Equal(t, []string{"ok: exists", "ok: CORS rules set", "ok: lifecycle rules set"}, applied, "also where creating it again succeeds")
	assert.NotContains(t, strings.Join(checked, "\n"), "PROBLEM")
	assert.NotContains(t, f.docs["lifecycle"], ">365<")
	assert.NotContains(t, f.docs["cors"], "old.example.com")
}
