package dynamo

import (
	"context"
	"flag"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
)

// TestMain is as dynamotest.Main, which this package cannot import.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "8", "test.parallel": "8"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// openDB returns a DB with empty tables on the embedded engine, behind an injector that has recorded nothing yet.
func openDB(t testing.TB, now func() time.Time) (*DB, *faultinject.Injector) {
	t.Helper()
	return openDBOn(t, now, func(engine http.RoundTripper) http.RoundTripper { return engine })
}

// openDBOn is openDB with something between injector and engine.
func openDBOn(t testing.TB, now func() time.Time, between func(http.RoundTripper) http.RoundTripper) (*DB, *faultinject.Injector) {
	t.Helper()
	inj := faultinject.New()
	client, prefix := embeddedtest.Tables(t, func(engine http.RoundTripper) http.RoundTripper { return inj.Wrap(between(engine)) })
	db := New(Options{Client: client, TablePrefix: prefix, Now: now})
	require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
	inj.Recorder().Reset()
	return db, inj
}

// soon bounds what a test waits for.
func soon(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}
