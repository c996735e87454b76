// Package demo loads a believable data set into a running server.
//
// It knows the contract as any client does, and speaks it over HTTP. It must
// not know the domain, the stores or how the server is put together: what it
// loads has passed every rule that a user's own input passes. Start reading at
// [Small] and [Full]; what is loaded is decided in plan.go (notes),
// plan_archive.go and plan_postcards.go (projects), plan_music.go (a scope) and plan_scores.go, from
// the vocabularies in words.go and its like. [Crew] has people label what was loaded.
//
// Loading can be interrupted and repeated. Each mutation carries an idempotency
// key made from its input, and what the server has already is looked up by
// title, name, external id or key, so that a second run adds what is missing
// and nothing twice, also after the 24 hours for which keys are remembered.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Name and Email are those of the user who owns most of the data, and as whom GraphiQL is signed in.
const (
	Name  = "Ada Example"
	Email = "ada@example.com"
)

// defaultConcurrency is how many requests are under way at a time when the options do not say.
const defaultConcurrency = 8

// Options say where to load the data, and as whom.
type Options struct {
	URL         string                                   // the server, such as http://127.0.0.1:8080
	Token       func(email, name string) (string, error) // mints a token of the embedded issuer
	Client      *http.Client                             // nil for one of its own
	Progress    io.Writer                                // where to tell how it goes; nil for nowhere
	Concurrency int                                      // requests under way at a time; 8 when 0
	Now         time.Time                                // the day around which deadlines lie; today when zero
}

// Small loads 40 notes of three users, projects with 100 items and 12 pictures, a scope with 12 entities and three scores, for the
// first start of a server.
func Small(ctx context.Context, o Options) error { return load(ctx, o, small) }

// Full loads 2,000 notes of the demo user, 300 notes that others share with that user, and what belongs to them, projects
// with 2,000 items and 60 pictures, a scope with 60 entities, and nine scores. It completes what [Small] loaded.
func Full(ctx context.Context, o Options) error { return load(ctx, o, full) }

func load(ctx context.Context, o Options, s size) error {
	l, done := open(o, s)
	defer done()
	if err := l.run(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("load demo data: stopped; run it again and it goes on from here: %w", err)
		}
		return fmt.Errorf("load demo data: %w", err)
	}
	return nil
}

// open returns a client of the server; done is to be called at the end.
func open(o Options, s size) (l *loader, done func()) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Concurrency < 1 {
		o.Concurrency = defaultConcurrency
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	done = func() {}
	if o.Client == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: o.Concurrency}
		o.Client, done = &http.Client{Transport: transport, Timeout: time.Minute}, transport.CloseIdleConnections
	}
	return &loader{options: o, size: s, url: strings.TrimSuffix(o.URL, "/") + "/graphql"}, done
}
