package admission

import (
	"context"
	"sync"
)

// Messages gives room to those of one subscription: to each before it is built, until it is written. A subscription that waits for room
// falls behind, as one does whose client is slow.
type Messages struct {
	of     *Answers
	who    string
	weight int64         // of one of them, at most
	wanted chan struct{} // holds one token when the next message is waited for

	mu      sync.Mutex
	waiting []*unsent // of messages that are handed on and not built yet
	over    bool
}

// Messages returns what gives room to the messages of a subscription of who, of which each weighs this much at most.
func (a *Answers) Messages(who string, weight int) *Messages {
	return &Messages{of: a, who: who, weight: int64(weight), wanted: make(chan struct{}, 1)}
}

// Want says that the next message can be built: what it may weigh is not reserved for as long as the one before is not taken.
func (m *Messages) Want() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// Admit waits until the next message is wanted and there is room for it. Error: the context's.
func (m *Messages) Admit(ctx context.Context) error {
	select {
	case <-m.wanted:
	case <-ctx.Done():
		return ctx.Err()
	}
	u := &unsent{of: m.of, who: m.who}
	if err := u.resize(ctx, m.weight); err != nil {
		u.sent()
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		u.sent()
		return context.Canceled
	}
	m.waiting = append(m.waiting, u)
	return nil
}

// Next makes the room of the message that was built now as large as the message; sent gives it back. Faults: those of refusedRoom,
// for a message that is larger than its estimate.
func (m *Messages) Next(ctx context.Context, size int) (sent func(), err error) {
	m.mu.Lock()
	var u *unsent
	if len(m.waiting) > 0 {
		u, m.waiting = m.waiting[0], m.waiting[1:]
	}
	m.mu.Unlock()
	if u == nil {
		u = &unsent{of: m.of, who: m.who}
	}
	bounded, cancel := context.WithTimeout(ctx, m.of.waiting)
	defer cancel()
	if err := u.resize(bounded, int64(size)); err != nil {
		u.sent()
		return nil, refusedRoom(ctx, err)
	}
	return u.sent, nil
}

// End gives back the room of what is not built any more.
func (m *Messages) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	for _, u := range m.waiting {
		u.sent()
	}
	m.waiting = nil
}
