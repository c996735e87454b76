// Package dynamotest opens stores on the embedded engine for the tests of dynamo and its stores, and looks at their rows.
//
// It knows the stores and how calls are held, lost and counted. It must not know rules. Start reading at [OpenDB].
package dynamotest

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
)

// AllAllowances are those of all stores.
var AllAllowances = slices.Concat(notes.Allowances(), dynamo.Allowances(), entities.Allowances(), projects.Allowances(), filetags.Allowances())

// OpenDB returns a DB with empty tables on the embedded engine, behind an injector that has recorded nothing yet.
func OpenDB(t testing.TB, now func() time.Time) (*dynamo.DB, *faultinject.Injector) {
	t.Helper()
	return OpenDBOn(t, now, func(engine http.RoundTripper) http.RoundTripper { return engine })
}

// OpenDBOn is [OpenDB] with something between injector and engine.
func OpenDBOn(t testing.TB, now func() time.Time, between func(http.RoundTripper) http.RoundTripper) (*dynamo.DB, *faultinject.Injector) {
	t.Helper()
	inj := faultinject.New()
	client, prefix := embeddedtest.Tables(t, func(engine http.RoundTripper) http.RoundTripper { return inj.Wrap(between(engine)) })
	db := dynamo.New(dynamo.Options{Client: client, TablePrefix: prefix, Now: now})
	embeddedtest.MakeTables(t, db.Tables())
	return db, inj
}

// Tokens finds the token of a transaction in its request.
var Tokens = regexp.MustCompile(`"ClientRequestToken":"([^"]+)"`)

// forgetful is an engine that has forgotten the token of each transaction when it comes again, as DynamoDB has after ten
// minutes and the embedded engine after it was started again.
type forgetful struct{ http.RoundTripper }

// Forget puts such an engine in place of one.
func Forget(engine http.RoundTripper) http.RoundTripper { return forgetful{engine} }

func (f forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return f.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = Tokens.ReplaceAll(body, []byte(`"ClientRequestToken":"`+uuid.NewString()+`"`))
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return f.RoundTripper.RoundTrip(r)
}

func stores(db *dynamo.DB) storetest.Stores {
	return storetest.Stores{Users: users.Store{DB: db}, Notes: notes.Store{DB: db}.Store()}
}

// OpenWorld returns a world on a DB of its own.
func OpenWorld(t testing.TB) (*storetest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := OpenDB(t, clock.Now)
	return storetest.NewWorld(t, stores(db), clock), db, inj
}

// OpenForgetfulWorld is [OpenWorld] on an engine that knows no tokens.
func OpenForgetfulWorld(t testing.TB) (*storetest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := OpenDBOn(t, clock.Now, Forget)
	return storetest.NewWorld(t, stores(db), clock), db, inj
}

// Soon bounds what a test waits for.
func Soon(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// Main runs the tests of a package, eight at a time: they wait for the engine, not for a processor. Its property tests call an engine: a
// hundred checks each, as rapid would make, take half a minute.
func Main(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "8", "test.parallel": "8"} {
		if flag.Lookup(name) == nil { // no property test is here
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run()) // parses the flags, so the command line has the last word
}

// OpenStores returns stores of users and notes on a DB of their own, whose calls keep to the limits of DynamoDB.
func OpenStores(t *testing.T, now func() time.Time) storetest.Stores {
	db, inj := OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return stores(db)
}

// OpenFaultyDB returns a DB whose every tenth call or so is throttled, refused or broken, before or after the engine
// carried it out, whose batches are cut short, and whose engine knows no tokens, so that every write that is sent again
// has to be safe by itself.
func OpenFaultyDB(t *testing.T, now func() time.Time) *dynamo.DB {
	db, inj := OpenDBOn(t, now, Forget)
	inj.Throttle(faultinject.Every(10))
	inj.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Every(17))
	inj.ResetBefore(faultinject.Every(23))
	inj.ResetAfter(faultinject.Every(13))
	inj.Conflict(faultinject.Every(11))
	inj.LeaveUnprocessed(40, faultinject.Every(3))
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return db
}

// OpenRowByRowDB returns a DB whose transactions are shown row by row, and whose calls keep to the limits of DynamoDB. Only what is done at
// the same time can see that.
func OpenRowByRowDB(t *testing.T, now func() time.Time) *dynamo.DB {
	db, inj := OpenDB(t, now)
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return db
}

// OpenFaulty is [OpenStores] over [OpenFaultyDB].
func OpenFaulty(t *testing.T, now func() time.Time) storetest.Stores {
	return stores(OpenFaultyDB(t, now))
}

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }
