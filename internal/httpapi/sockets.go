package httpapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taggie/taggie/internal/fault"
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

// SocketLimits bound what sockets and event streams may hold. Zero stands for the usual number.
type SocketLimits struct {
	Sockets    int // open on this server, event streams counted among them; 20,000
	PerUser    int // of one bearer on this server; 20
	PerNetwork int // anonymous ones of one network; a sixteenth of all. Anonymous ones together may be half of all, those that have not signed in yet a quarter
	Operations int // under way on one socket; 100. An event stream has one
}

// Sockets are the open sockets and event streams of a server. http.Server does not end them: it forgets connections that were
// taken over, and waits for what goes on.
type Sockets struct {
	limits SocketLimits
	pace   pace

	mu        sync.Mutex
	open      map[connection]struct{}
	newcomers newcomers
	reserved  int // handshakes under way
	owners    map[owner]int
	anonymous int // of them
	draining  bool
	none      chan struct{} // closed when draining and the last one is closed
}

// connection is what is held open: a socket or an event stream.
type connection interface {
	whose() viewer.Viewer
	drain() // lets what is under way end, subscriptions aside, and then closes it
	close(code websocket.StatusCode, reason string)
	cutOff() // closes it without a word
}

// owner is who opened a socket, whether signed up or not: the bearer of a token, or a network.
type owner struct{ issuer, subject, network string }

func ownerOf(v viewer.Viewer) owner {
	if v.Anonymous() {
		return owner{network: v.Network}
	}
	return owner{issuer: v.Identity.Issuer, subject: v.Identity.Subject}
}

func (o owner) anonymous() bool { return o.subject == "" }

// NewSockets returns a registry without sockets, for [Options].
func NewSockets(limits SocketLimits) *Sockets {
	set := func(n *int, usual int) {
		if *n <= 0 {
			*n = usual
		}
	}
	set(&limits.Sockets, maxSockets)
	set(&limits.PerUser, maxPerUser)
	set(&limits.PerNetwork, max(1, limits.Sockets/networkShare))
	set(&limits.Operations, maxOnSocket)
	return &Sockets{
		limits: limits, pace: standardPace,
		open: make(map[connection]struct{}), newcomers: newcomers{of: make(map[connection]string), many: make(map[string]int)}, owners: make(map[owner]int), none: make(chan struct{}),
	}
}

// Open is how many sockets and event streams there are.
func (r *Sockets) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// CloseUser closes with 4403 the sockets of a user, and event streams, whose tokens were issued by then: they are not valid any more.
func (r *Sockets) CloseUser(id viewer.UserID, by time.Time) {
	for _, s := range r.all() {
		if v := s.whose(); v.Is(id) && v.Identity.IssuedBy(by) {
			s.close(codeForbidden, messageRevoked)
		}
	}
}

// Users are whose sockets and event streams there are, each once.
func (r *Sockets) Users() []viewer.UserID {
	var users []viewer.UserID
	for _, s := range r.all() {
		if id := s.whose().UserID; id != "" {
			users = append(users, id)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Strangers are the identities of sockets and event streams, each once, whose bearers had not signed up when they were opened.
// Perhaps they have since, elsewhere.
func (r *Sockets) Strangers() []viewer.Identity {
	strangers := make(map[viewer.Identity]struct{})
	for _, s := range r.all() {
		if v := s.whose(); v.UserID == "" && !v.Anonymous() {
			strangers[v.Identity] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(strangers))
}

// CloseStranger closes with 4403 what one of [Sockets.Strangers] has open: the token is not valid any more.
func (r *Sockets) CloseStranger(stranger viewer.Identity) {
	for _, s := range r.all() {
		if s.whose().Identity == stranger {
			s.close(codeForbidden, messageRevoked)
		}
	}
}

// Shutdown refuses new sockets and closes the others with 1012, each as soon as its queries and mutations have ended. Event
// streams end without the event that says that there is nothing more to come.
// Near the end of ctx it closes those too that have not ended; the error says that some clients were cut off.
func (r *Sockets) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if !r.draining {
		r.draining = true
		r.settled()
	}
	r.mu.Unlock()
	for _, s := range r.all() {
		s.drain()
	}
	patience, stop := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		patience, stop = context.WithDeadline(ctx, end.Add(-min(r.pace.close, time.Until(end)/2)))
	}
	defer stop()
	select {
	case <-r.none:
		return nil
	case <-patience.Done():
	}
	for _, s := range r.all() {
		s.close(codeRestart, "the server shuts down")
	}
	select {
	case <-r.none:
		return nil
	case <-ctx.Done():
	}
	left := r.all()
	for _, s := range left {
		s.cutOff()
	}
	return fmt.Errorf("%d sockets were cut off: %w", len(left), ctx.Err())
}

func (r *Sockets) all() []connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]connection, 0, len(r.open))
	for s := range r.open {
		all = append(all, s)
	}
	return all
}

// fullFor is after how long it is worth while to ask a server again that has no place.
const fullFor = 5 * time.Second

// reserve makes room for a socket or an event stream. Faults: Unavailable while the server shuts down, Exhausted when there are too many.
func (r *Sockets) reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.draining:
		return fault.New(fault.Unavailable, "the server shuts down")
	case len(r.open)+r.reserved >= r.limits.Sockets:
		return &fault.Error{Kind: fault.Exhausted, Message: "too many sockets and event streams are open on this server: connect again later", RetryAfter: fullFor}
	}
	r.reserved++
	return nil
}

// giveBack undoes reserve.
func (r *Sockets) giveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reserved--
	r.settled()
}

// add registers a socket for which room was reserved.
func (r *Sockets) add(s connection) {
	r.mu.Lock()
	r.reserved--
	r.open[s] = struct{}{}
	draining := r.draining
	r.mu.Unlock()
	if draining {
		s.drain()
	}
}

// welcome registers a socket, for which room was reserved, from a network, whose owner is not known yet. Such sockets may take up a
// quarter of all places: then each new one takes the place of another, so that who says nothing keeps nobody out for long.
func (r *Sockets) welcome(s connection, network string) {
	r.mu.Lock()
	r.newcomers.add(s, network)
	var leaving connection
	if len(r.newcomers.of) > max(1, r.limits.Sockets/newcomerShare) {
		leaving = r.newcomers.crowding(s)
		r.newcomers.remove(leaving)
	}
	r.mu.Unlock()
	if leaving != nil {
		leaving.cutOff()
	}
	r.add(s)
}

// introduce ends what welcome began: now it is known whose the socket is.
func (r *Sockets) introduce(s connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newcomers.remove(s)
}

// admit counts a socket of an owner, unless there are too many.
func (r *Sockets) admit(who owner) bool {
	most := r.limits.PerUser
	if who.anonymous() {
		most = r.limits.PerNetwork
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[who] >= most || who.anonymous() && r.anonymous >= max(1, r.limits.Sockets/anonymousShare) {
		return false
	}
	r.owners[who]++
	if who.anonymous() {
		r.anonymous++
	}
	return true
}

// dismiss undoes admit.
func (r *Sockets) dismiss(who owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[who]--; r.owners[who] <= 0 {
		delete(r.owners, who)
	}
	if who.anonymous() {
		r.anonymous--
	}
}

// remove forgets a socket whose connection is closed.
func (r *Sockets) remove(s connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, s)
	r.newcomers.remove(s)
	r.settled()
}

// settled notices the end of a shutdown. The caller holds the mutex.
func (r *Sockets) settled() {
	if r.draining && len(r.open)+r.reserved == 0 {
		select {
		case <-r.none:
		default:
			close(r.none)
		}
	}
}
