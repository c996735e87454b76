// Package httpapi speaks HTTP: it reads requests, bounds the work they can cause, and presents answers and errors.
//
// It knows gqlgen, media types, status codes, limits and which kind of fault becomes which `extensions.code`. It must not
// know engines, settings or rules of the domain. Start reading at [New]: it lists the routes; then endpoint, which is
// the way of one operation, and [execution.Runner], which carries it out. Rooms below this one answer single questions: caller who calls,
// signin who they are, request what is asked for, document what it costs, admission what may be done, operation how it is carried out, response
// what is told of it, present what an error tells.
//
// Sockets speak graphql-transport-ws at the same address: [upgrader] opens them, [socket.Server] reads what the client says and
// has it carried out, [connection.Registry] keeps them so that the server can close them. Their close codes are in internal/httpapi/connection. Who
// prefers text/event-stream gets one operation a connection by graphql-sse: [streamer] carries it out, [eventstream.Stream] is what
// is written; the same registry keeps these.
//
// The status codes of /graphql are those of the GraphQL-over-HTTP specification (docs/decisions/0030). What is no well-formed
// request has one of its own in every media type: 400 not JSON or not UTF-8, 401 a bad token, 405, 406, 408, 413, 414, 415, 422 a parameter
// that is missing or of the wrong type (400 for application/json), 429 the caller's budget or operations; 503 the token's issuer or the user store is away, or the time was up
// before anything was read. An EventSource, which reads no status, gets 200 and is asked to come again in place of 429 and 503. For application/graphql-response+json, a document that is not GraphQL is 400, one that does not fit
// the schema or exceeds a bound is 422, data with errors is 294, data without is 200. For application/json all of these are
// 200, as old clients expect.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/signin"
	"github.com/taggie/taggie/internal/httpapi/socket"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

// Options are what an API is made of. Console, Session, Ready and AllowedOrigins may be left out.
type Options struct {
	Schema  graphql.ExecutableSchema
	Loaders loaders.Sources
	Auth    signin.Authenticator
	// SignIn completes an identity with its user, and says since when it is known that the token counts. It is asked again whenever that is
	// too long ago. Faults: Unauthenticated for a token that was revoked, Unavailable.
	SignIn  func(context.Context, viewer.Identity) (viewer.Viewer, error)
	Metrics *telemetry.Metrics
	Traces  *telemetry.Traces // nil for none
	Log     *slog.Logger
	// Requests is the level at which requests are logged, which may change; info when nil.
	Requests slog.Leveler
	Console  http.Handler // serves everything that is no route of ours
	// PathPrefix is the path below which everything is served, such as "/taggie", besides what is asked on the machine itself; see [below].
	PathPrefix string
	// Session makes the session of a person of the demo data, by an e-mail address, or of the demo user for "", which GET /session hands to pages
	// of this machine; nil without a local issuer. Fault: NotFound for anybody else.
	Session func(ctx context.Context, email string) (Session, error)
	// Issuer signs people in to our pages where there is no local issuer; nil if pages have to be given tokens.
	Issuer Issuer
	Ready  []Check
	// MetricsElsewhere leaves out /metrics: it has an address of its own.
	MetricsElsewhere bool
	// Writable is asked before a mutation begins; nil where nothing speaks against it. Faults: Unavailable with the reason.
	Writable func(context.Context) error
	// AllowedOrigins lists, letter by letter, the origins whose pages may read answers besides our own.
	AllowedOrigins []string
	// TrustedProxies are the networks whose X-Forwarded-For and Forwarded are believed.
	TrustedProxies   []netip.Prefix
	OperationTimeout time.Duration // bounds each operation, and before it the sign-in
	// Sockets keeps the open WebSockets and event streams, so that the server can close them; without any, a registry that
	// nobody closes.
	Sockets *connection.Registry
	// Documents keeps the documents that clients register by their hash; without it none are kept.
	Documents document.Documents
	Trusted   document.Trusted
	LocalOnly bool // answer only requests that name this machine in their Host header
	// Operations is how many of a caller are carried out at a time; 32 when 0.
	Operations int
	// AnswerBytes is how much all answers together may take up that are not sent yet; 256 MiB when 0.
	AnswerBytes int64
	unsent      *admission.Answers // of tests, which look at it
	// Budget bounds what a caller spends; nil for none. BudgetSize and BudgetRate are what it holds and how much comes back each
	// second.
	Budget                 admission.Budget
	BudgetSize, BudgetRate int
	// HideSchema refuses introspection, HideSuggestions leaves out of errors what the client may have meant.
	HideSchema, HideSuggestions bool
}

// New returns the handler of all routes.
func New(o Options) (http.Handler, error) {
	var problems []error
	need := func(there bool, what string) {
		if !there {
			problems = append(problems, errors.New("httpapi: Options."+what+" is missing"))
		}
	}
	need(o.Schema != nil, "Schema")
	need(o.Loaders.Users != nil && o.Loaders.Notes != nil && o.Loaders.Entities != nil && o.Loaders.Projects != nil, "Loaders")
	need(o.Auth != nil, "Auth")
	need(o.SignIn != nil, "SignIn")
	need(o.Metrics != nil, "Metrics")
	need(o.Log != nil, "Log")
	need(o.OperationTimeout > 0, "OperationTimeout")
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	console := o.Console
	if console == nil {
		console = http.NotFoundHandler()
	}
	if o.Requests == nil {
		o.Requests = slog.LevelInfo
	}
	if o.Sockets == nil {
		o.Sockets = connection.NewRegistry(connection.Bounds{})
	}
	if ids := o.Trusted.Misfits(o.Schema.Schema()); len(ids) > 0 {
		o.Log.Warn("trusted documents do not fit the schema", "count", len(ids), "first", ids[0])
	}
	live := o.api()
	requests := crossOrigin(o.AllowedOrigins, live.signedIn(solvent(live.run, endpoint{run: live.run, intake: live.intake, timeout: o.OperationTimeout})))
	sockets := &upgrader{live, socket.NewServer(socket.Options{
		Runner: live.run, Intake: live.intake.Intake, SignIn: live.signIn, Registry: o.Sockets, Timeout: o.OperationTimeout, Traces: o.Traces, Log: o.Log,
	})}
	streams := &streamer{live}
	mux := http.NewServeMux()
	mux.Handle("/graphql", plain(inPlace(sockets.or(streams.or(requests)))))
	mux.Handle("/session", plain(session(o)))
	mux.Handle("/healthz", plain(only(http.HandlerFunc(healthy), http.MethodGet, http.MethodHead)))
	mux.Handle("/readyz", plain(only(ready(o.Ready, o.Log), http.MethodGet, http.MethodHead)))
	if o.MetricsElsewhere {
		mux.Handle("/metrics", http.NotFoundHandler())
	} else {
		mux.Handle("/metrics", plain(only(o.Metrics.Handler(), http.MethodGet, http.MethodHead)))
	}
	mux.Handle("/", console)

	var h http.Handler = mux
	if o.PathPrefix != "" {
		h = below(o.PathPrefix, mux)
	}
	if o.LocalOnly {
		h = thisMachine(h)
	}
	return compressed(observe(o, h))
}

// api returns what sockets and event streams share.
func (o Options) api() api {
	run := o.runner()
	return api{options: o, run: run, intake: intake{Intake: run.Intake(), run: run}, signIn: o.signIn(), sockets: o.Sockets}
}

// signIn returns what finds out who asks.
func (o Options) signIn() signin.Service {
	return signin.Service{Auth: o.Auth, SignIn: o.SignIn, Timeout: o.OperationTimeout, Log: o.Log}
}

// runner returns what carries operations out, over HTTP and over sockets alike.
func (o Options) runner() *execution.Runner {
	answers := o.unsent
	if answers == nil {
		answers = admission.NewAnswers(o.AnswerBytes, o.OperationTimeout/2)
	}
	return execution.New(execution.Options{
		Schema: o.Schema, Loaders: o.Loaders, SignIn: o.signIn(), Metrics: o.Metrics, Traces: o.Traces, Log: o.Log, Timeout: o.OperationTimeout, Writable: o.Writable,
		Documents: o.Documents, Trusted: o.Trusted, Operations: o.Operations, Answers: answers, Budget: o.Budget, BudgetSize: o.BudgetSize, BudgetRate: o.BudgetRate,
		Capacity: o.Session != nil, HideSchema: o.HideSchema, HideSuggestions: o.HideSuggestions,
	})
}

// api is what sockets and event streams share.
type api struct {
	options Options
	run     *execution.Runner
	intake  intake
	signIn  signin.Service
	sockets *connection.Registry
}

// trusts reports whether the page that asks, if it is one, is ours or of an allowed origin: browsers let any page open
// sockets anywhere, and begin streams that it may not read.
func (a *api) trusts(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host ||
		slices.Contains(a.options.AllowedOrigins, origin)
}

// maxStreams is how many requests one HTTP/2 connection may have under way. It also bounds rapid resets: a request that was reset
// keeps its place until its handler has ended, and net/http closes the connection when four times as many wait for a place.
const maxStreams = 100

// maxHeader is how large the header of a request may be; net/http allows a few KiB more.
const maxHeader = 64 << 10

// Server returns a server whose clients cannot hold a connection by being slow. The time to write counts from when the
// header was read: the sign-in, waiting to be read, sending the body, waiting for its turn and the operation must fit into it.
// Streams lift it for themselves.
//
// It speaks HTTP/1.1, HTTP/2 where TLS agrees on it, and HTTP/2 without TLS with clients that begin with it, as proxies do.
func Server(h http.Handler, addr string, timeout time.Duration) *http.Server {
	const writing = 15 * time.Second
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       request.MaxReading,
		WriteTimeout:      2*request.MaxReading + 3*timeout + writing,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    maxHeader,
		Protocols:         &protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			// The deadlines of requests reset a stream and leave the connection: these find clients that are gone or do not read.
			SendPingTimeout:  30 * time.Second,
			PingTimeout:      15 * time.Second,
			WriteByteTimeout: 30 * time.Second,
		},
	}
}
