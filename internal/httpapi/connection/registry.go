// Package connection keeps the connections that last: sockets and event streams. It bounds how many there are, closes those whose tokens were
// revoked, ends all of them when the server ends, and gives up clients that do not take what is ready for them.
//
// It knows whose connections are and how long clients may take. It must not know what is said over them. Start reading at [Registry].
package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/viewer"
)

// What sockets and event streams may hold of one server, as a rule.
const (
	maxSockets     = 20_000
	maxPerUser     = 20  // of one bearer
	maxOnSocket    = 100 // operations under way, subscriptions included
	networkShare   = 16  // of all, anonymous ones of one network have so many times fewer
	anonymousShare = 2   // all anonymous ones together
	newcomerShare  = 4   // those that have not signed in yet
)

// Bounds are how much sockets and event streams may hold. Zero stands for the usual number.
type Bounds struct {
	Sockets    int // open on this server, event streams counted among them; 20,000
	PerUser    int // of one bearer on this server; 20
	PerNetwork int // anonymous ones of one network; a sixteenth of all. Anonymous ones together may be half of all, those that have not signed in yet a quarter
	Operations int // under way on one socket; 100. An event stream has one
}

// Registry has the open sockets and event streams of a server. http.Server does not end them: it forgets Connections that were
// taken over, and waits for what goes on.
type Registry struct {
	bounds Bounds

	mu        sync.Mutex
	open      map[Connection]struct{}
	newcomers newcomers
	reserved  int // handshakes under way
	owners    map[Owner]int
	anonymous int // of them
	draining  bool
	none      chan struct{} // closed when draining and the last one is closed
}

// Connection is what is held open: a socket or an event stream.
type Connection interface {
	Viewer() viewer.Viewer // whose it is
	Drain()                // lets what is under way end, subscriptions aside, and then closes it
	Close(code websocket.StatusCode, reason string)
	CutOff() // closes it without a word
}

// Owner is who opened a socket, whether signed up or not: the bearer of a token, or a network.
type Owner struct{ issuer, subject, network string }

// OwnerOf is who opens a connection as this viewer.
func OwnerOf(v viewer.Viewer) Owner {
	if v.Anonymous() {
		return Owner{network: v.Network}
	}
	return Owner{issuer: v.Identity.Issuer, subject: v.Identity.Subject}
}

func (o Owner) anonymous() bool { return o.subject == "" }

// NewRegistry returns a registry without connections.
func NewRegistry(bounds Bounds) *Registry {
	set := func(n *int, usual int) {
		if *n <= 0 {
			*n = usual
		}
	}
	set(&bounds.Sockets, maxSockets)
	set(&bounds.PerUser, maxPerUser)
	set(&bounds.PerNetwork, max(1, bounds.Sockets/networkShare))
	set(&bounds.Operations, maxOnSocket)
	return &Registry{
		bounds: bounds,
		open:   make(map[Connection]struct{}), newcomers: newcomers{of: make(map[Connection]string), many: make(map[string]int)}, owners: make(map[Owner]int), none: make(chan struct{}),
	}
}

// Open is how many sockets and event streams there are.
func (r *Registry) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// CloseUser closes with 4403 the sockets of a user, and event streams, whose tokens were issued by then: they are not valid any more.
func (r *Registry) CloseUser(id viewer.UserID, by time.Time) {
	for _, s := range r.all() {
		if v := s.Viewer(); v.Is(id) && v.Identity.IssuedBy(by) {
			s.Close(CodeForbidden, present.Revoked)
		}
	}
}

// Users are whose sockets and event streams there are, each once.
func (r *Registry) Users() []viewer.UserID {
	var users []viewer.UserID
	for _, s := range r.all() {
		if id := s.Viewer().UserID; id != "" {
			users = append(users, id)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Strangers are the identities of sockets and event streams, each once, whose bearers had not signed up when they were opened.
// Perhaps they have since, elsewhere.
func (r *Registry) Strangers() []viewer.Identity {
	strangers := make(map[viewer.Identity]struct{})
	for _, s := range r.all() {
		if v := s.Viewer(); v.UserID == "" && !v.Anonymous() {
			strangers[v.Identity] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(strangers))
}

// CloseStranger closes with 4403 what one of [Registry.Strangers] has open: the token is not valid any more.
func (r *Registry) CloseStranger(stranger viewer.Identity) {
	for _, s := range r.all() {
		if s.Viewer().Identity == stranger {
			s.Close(CodeForbidden, present.Revoked)
		}
	}
}

// Shutdown refuses new sockets and closes the others with 1012, each as soon as its queries and mutations have ended. Event
// streams end without the event that says that there is nothing more to come.
// Near the end of ctx it closes those too that have not ended; the error says that some clients were cut off.
func (r *Registry) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if !r.draining {
		r.draining = true
		r.settled()
	}
	r.mu.Unlock()
	for _, s := range r.all() {
		s.Drain()
	}
	patience, stop := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		patience, stop = context.WithDeadline(ctx, end.Add(-min(closeTime, time.Until(end)/2)))
	}
	defer stop()
	select {
	case <-r.none:
		return nil
	case <-patience.Done():
	}
	for _, s := range r.all() {
		s.Close(CodeRestart, "the server shuts down")
	}
	select {
	case <-r.none:
		return nil
	case <-ctx.Done():
	}
	left := r.all()
	for _, s := range left {
		s.CutOff()
	}
	return fmt.Errorf("%d sockets were cut off: %w", len(left), ctx.Err())
}

func (r *Registry) all() []Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Connection, 0, len(r.open))
	for s := range r.open {
		all = append(all, s)
	}
	return all
}

// FullFor is after how long it is worth while to ask a server again that has no place.
const FullFor = 5 * time.Second

// Operations is how many operations may be under way on one socket.
func (r *Registry) Operations() int { return r.bounds.Operations }

// Reserve makes room for a socket or an event stream. Faults: Unavailable while the server shuts down, Exhausted when there are too many.
func (r *Registry) Reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.draining:
		return fault.New(fault.Unavailable, "the server shuts down")
	case len(r.open)+r.reserved >= r.bounds.Sockets:
		return &fault.Error{Kind: fault.Exhausted, Message: "too many sockets and event streams are open on this server: connect again later", RetryAfter: FullFor}
	}
	r.reserved++
	return nil
}

// GiveBack undoes Reserve.
func (r *Registry) GiveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reserved--
	r.settled()
}

// Add registers a socket for which room was reserved.
func (r *Registry) Add(s Connection) {
	r.mu.Lock()
	r.reserved--
	r.open[s] = struct{}{}
	draining := r.draining
	r.mu.Unlock()
	if draining {
		s.Drain()
	}
}

// Welcome registers a socket, for which room was reserved, from a network, whose owner is not known yet. Such sockets may take up a
// quarter of all places: then each new one takes the place of another, so that who says nothing keeps nobody out for long.
func (r *Registry) Welcome(s Connection, network string) {
	r.mu.Lock()
	r.newcomers.add(s, network)
	var leaving Connection
	if len(r.newcomers.of) > max(1, r.bounds.Sockets/newcomerShare) {
		leaving = r.newcomers.crowding(s)
		r.newcomers.remove(leaving)
	}
	r.mu.Unlock()
	if leaving != nil {
		leaving.CutOff()
	}
	r.Add(s)
}

// Introduce ends what Welcome began: now it is known whose the socket is.
func (r *Registry) Introduce(s Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newcomers.remove(s)
}

// Admit counts a socket of an owner, unless there are too many.
func (r *Registry) Admit(who Owner) bool {
	most := r.bounds.PerUser
	if who.anonymous() {
		most = r.bounds.PerNetwork
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[who] >= most || who.anonymous() && r.anonymous >= max(1, r.bounds.Sockets/anonymousShare) {
		return false
	}
	r.owners[who]++
	if who.anonymous() {
		r.anonymous++
	}
	return true
}

// Dismiss undoes Admit.
func (r *Registry) Dismiss(who Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[who]--; r.owners[who] <= 0 {
		delete(r.owners, who)
	}
	if who.anonymous() {
		r.anonymous--
	}
}

// Remove forgets a socket whose connection is closed.
func (r *Registry) Remove(s Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, s)
	r.newcomers.remove(s)
	r.settled()
}

// settled notices the end of a shutdown. The caller holds the mutex.
func (r *Registry) settled() {
	if r.draining && len(r.open)+r.reserved == 0 {
		select {
		case <-r.none:
		default:
			close(r.none)
		}
	}
}
