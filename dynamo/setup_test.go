package dynamo

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
)

var prefixes atomic.Int64 // tests share one engine, each with tables of its own

// openDB returns a DB with empty tables on the embedded engine, behind an injector that has recorded nothing yet.
func openDB(t testing.TB, now func() time.Time) (*DB, *faultinject.Injector) {
	t.Helper()
	return openDBOn(t, now, func(engine http.RoundTripper) http.RoundTripper { return engine })
}

// openDBOn is openDB with something between injector and engine.
func openDBOn(t testing.TB, now func() time.Time, between func(http.RoundTripper) http.RoundTripper) (*DB, *faultinject.Injector) {
	t.Helper()
	e, prefix := embeddedtest.DynamoDB(t), fmt.Sprintf("test%d-", prefixes.Add(1))
	embeddedtest.DropTables(t, prefix)
	inj := faultinject.New()
	client, err := awsclient.DynamoDB(t.Context(), awsclient.Options{
		Endpoint: e.URL, Region: e.Region, Wrap: func(engine http.RoundTripper) http.RoundTripper { return inj.Wrap(between(engine)) },
		Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey},
	})
	require.NoError(t, err)
	db := New(Options{Client: client, TablePrefix: prefix, Now: now})
	require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
	inj.Recorder().Reset()
	return db, inj
}

var tokens = regexp.MustCompile(`"ClientRequestToken":"([^"]+)"`)

// forgetful is an engine that has forgotten the token of each transaction when it comes again, as DynamoDB has after ten
// minutes and the embedded engine after it was started again.
type forgetful struct{ http.RoundTripper }

func forget(engine http.RoundTripper) http.RoundTripper { return forgetful{engine} }

func (f forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return f.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = tokens.ReplaceAll(body, []byte(`"ClientRequestToken":"`+uuid.NewString()+`"`))
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return f.RoundTripper.RoundTrip(r)
}

func stores(db *DB) storetest.Stores {
	return storetest.Stores{Users: Users{db}, Notes: Notes{db}.Store()}
}

// openWorld returns a world on a DB of its own.
func openWorld(t testing.TB) (*storetest.World, *DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	return storetest.NewWorld(t, stores(db), clock), db, inj
}

// openForgetfulWorld is openWorld on an engine that knows no tokens.
func openForgetfulWorld(t testing.TB) (*storetest.World, *DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDBOn(t, clock.Now, forget)
	return storetest.NewWorld(t, stores(db), clock), db, inj
}

// soon bounds what a test waits for.
func soon(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// The property tests of this room call an engine: a hundred checks each, as rapid would make, take half a minute.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "8"); err != nil {
		panic(err)
	}
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for the engine, not for a processor
		panic(err)
	}
	os.Exit(m.Run()) // parses the flags, so the command line has the last word
}
