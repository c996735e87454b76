package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/memory"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

// play is a schema with subscriptions, without gqlgen's generator: the first root field decides.
type play struct {
	schema *ast.Schema
	gate   chan struct{} // Query.slow and Mutation.slow wait for it

	mu      sync.Mutex
	sources map[string]chan int
	built   int                // answers and messages with the content of notes
	large   int                // answers of Query.big
	fresh   []*loaders.Loaders // of each event
	ended   int                // subscriptions whose context has ended
}

func newPlay() *play {
	return &play{
		gate: make(chan struct{}), sources: make(map[string]chan int),
		schema: gqlparser.MustLoadSchema(&ast.Source{Input: `
			type Query { hello: String! slow: String! fails: String big(size: Int!): String! viewer: String! panics: String!
				notes(first: Int!, size: Int!): [Note!]! }
			type Note { content: String! }
			type Mutation { slow: String! signUp: String! }
			type Subscription {
				ticks(source: String!): Int!
				refused: Int!
				stuck: Int!
				panics: Int!
				half(source: String!): Int
				note(source: String!): Note!
			}`}),
	}
}

// source returns the channel of a subscription's events.
func (p *play) source(name string) chan int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sources[name] == nil {
		p.sources[name] = make(chan int)
	}
	return p.sources[name]
}

// contents is how many answers and messages with the content of notes were built.
func (p *play) contents() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.built
}

// bigs is how many answers of Query.big were built.
func (p *play) bigs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.large
}

// over is how many subscriptions have ended.
func (p *play) over() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// events returns the loaders of each event so far.
func (p *play) events() []*loaders.Loaders {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

func (p *play) Schema() *ast.Schema { return p.schema }

func (p *play) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

// Exec carries out the operation that ctx carries.
func (p *play) Exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	field := graphql.CollectFields(op, op.Operation.SelectionSet, nil)[0]
	args := field.ArgumentMap(op.Variables)
	if op.Operation.Operation == ast.Subscription {
		return p.subscribe(ctx, field.Name, args)
	}
	done := false
	return func(ctx context.Context) *graphql.Response {
		if done {
			return nil
		}
		done = true
		var value any = "world"
		switch field.Name {
		case "slow":
			_ = memory.Take(ctx, 2<<20)
			select {
			case <-p.gate:
				value = "done"
			case <-ctx.Done():
				graphql.AddError(ctx, ctx.Err())
				return &graphql.Response{Data: json.RawMessage("null")}
			}
		case "fails":
			graphql.AddError(ctx, fault.New(fault.Conflict, "somebody was faster"))
			value = nil
		case "big":
			p.mu.Lock()
			p.large++
			p.mu.Unlock()
			value = strings.Repeat("x", int(args["size"].(int64)))
		case "notes":
			if memory.Take(ctx, int(args["size"].(int64))) != nil {
				return &graphql.Response{Data: json.RawMessage("null")}
			}
			p.mu.Lock()
			p.built++
			p.mu.Unlock()
			value = []any{map[string]any{"content": strings.Repeat("x", int(args["size"].(int64)))}}
		case "viewer":
			value = string(viewer.From(ctx).UserID)
		case "signUp":
			viewer.SignedUp(ctx, "new")
		case "panics":
			panic("a secret")
		}
		return &graphql.Response{Data: response.Encode(map[string]any{field.Name: value})}
	}
}

func (p *play) subscribe(ctx context.Context, field string, args map[string]any) graphql.ResponseHandler {
	switch field {
	case "refused":
		graphql.AddError(ctx, fault.New(fault.Forbidden, "not yours"))
	case "stuck":
		<-ctx.Done()
		graphql.AddError(ctx, ctx.Err())
	case "panics":
		panic("a secret")
	}
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended++
	})
	if field != "ticks" && field != "half" && field != "note" {
		return nil
	}
	source := p.source(args["source"].(string))
	op := graphql.GetOperationContext(ctx)
	at, _ := op.Stats.GetExtension("positions").(resolvers.Positions)
	if at != nil && at.After() != "" {
		source = p.source("after " + at.After())
	}
	var buf bytes.Buffer // gqlgen uses the memory again too
	return func(ctx context.Context) *graphql.Response {
		select {
		case n, ok := <-source:
			if ok && resolvers.Admit(ctx, op) != nil {
				return nil
			}
			if !ok {
				if !strings.HasPrefix(args["source"].(string), "breaks") {
					resolvers.Finisher(op)()
				}
				return nil
			}
			p.mu.Lock()
			p.fresh = append(p.fresh, loaders.From(ctx))
			p.mu.Unlock()
			buf.Reset()
			if at != nil {
				at.Reached(map[bool]string{true: "at" + strconv.Itoa(n)}[field == "ticks"])
			}
			if field == "note" {
				p.mu.Lock()
				p.built++
				p.mu.Unlock()
				buf.WriteString(`{"note":{"content":"` + strings.Repeat("x", n) + `"}}`)
			} else if field == "half" {
				kind := fault.Conflict
				if strings.HasPrefix(args["source"].(string), "away") {
					kind = fault.Unavailable
				}
				graphql.AddError(ctx, fault.New(kind, "not read"))
				buf.WriteString(`{"half":null}`)
			} else {
				buf.WriteString("{\"ticks\":\n" + strconv.Itoa(n) + "}") // JSON may have blanks
			}
			return &graphql.Response{Data: buf.Bytes()}
		case <-ctx.Done():
			return nil
		}
	}
}

// bearers knows, besides what tokens knows, "brief" that expires after a minute, and "slow" whose issuer takes three seconds.
type bearers struct{ tokens }

func (b bearers) Authenticate(ctx context.Context, authorization []string) (viewer.Identity, error) {
	if len(authorization) == 1 {
		switch authorization[0] {
		case "Bearer brief":
			return viewer.Identity{Issuer: "test", Subject: "ada", IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute)}, nil
		case "Bearer slow":
			select {
			case <-time.After(3 * time.Second):
				return viewer.Identity{Issuer: "test", Subject: "slow"}, nil
			case <-ctx.Done():
				return viewer.Identity{}, ctx.Err()
			}
		case "Bearer broken":
			return viewer.Identity{}, errors.New("a secret")
		case "Bearer ada2":
			return viewer.Identity{Issuer: "test", Subject: "ada2"}, nil
		}
	}
	return b.tokens.Authenticate(ctx, authorization)
}

// theatre is a server of sockets on connections within the process, so that a test may run on a clock of its own.
type theatre struct {
	*server
	play    *play
	sockets *connection.Registry
	http    *http.Server
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

func newTheatre(t *testing.T, change ...func(*Options)) *theatre {
	t.Helper()
	th := &theatre{play: newPlay(), sockets: connection.NewRegistry(connection.Bounds{})}
	th.server = newServer(t, append([]func(*Options){func(o *Options) {
		o.Schema, o.Auth, o.Sockets, o.OperationTimeout = th.play, bearers{}, th.sockets, 5*time.Second
		o.AllowedOrigins = []string{"https://spa.example"}
	}}, change...)...)
	th.sockets = th.options.Sockets
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	th.dial = l.dial
	th.http = Server(th.handler, "", th.options.OperationTimeout)
	served := make(chan error, 1)
	go func() { served <- th.http.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = th.sockets.Shutdown(ctx)
		_ = th.http.Close()
		assert.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return th
}

// isVacant asserts that nobody takes up a place any more: everybody who comes in these tests may have as many as there are.
func (th *theatre) isVacant() {
	th.t.Helper()
	for _, test := range []struct {
		who    viewer.Viewer
		places int
	}{
		{viewer.Viewer{Network: "127.0.0.0/24"}, 20_000 / 16},
		{viewer.Viewer{Identity: viewer.Identity{Issuer: "test", Subject: "ada"}}, 20},
		{viewer.Viewer{Identity: viewer.Identity{Issuer: "test", Subject: "ada2"}}, 20},
	} {
		owner, n := connection.OwnerOf(test.who), 0
		for th.sockets.Admit(owner) {
			n++
		}
		assert.Equal(th.t, test.places, n, owner)
		for range n {
			th.sockets.Dismiss(owner)
		}
	}
}

// counted returns what /metrics tells of operations.
func (th *theatre) counted() string {
	var b strings.Builder
	for line := range strings.Lines(th.get("/metrics").Body.String()) {
		if strings.HasPrefix(line, "taggie_operations_total{") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// pipes is a listener whose connections are within the process, without any buffer: who does not read blocks who writes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- local{theirs}:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// local is a connection from this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
