package labelling

import (
	"context"
	"sync"

	"github.com/taggie/taggie/internal/domain"
)

// onlineFeed asks how many users are online, for all who want to know.
type onlineFeed struct {
	cancel    context.CancelFunc
	listeners int // guarded by the hub's lock

	mu      sync.Mutex // guards what follows
	now     online
	changed chan struct{} // closed, and replaced by another, when now is another one
}

// online is what a feed knows.
type online struct {
	n     int
	known bool // n was read
	ended bool
}

func (f *onlineFeed) get() (now online, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.changed
}

func (f *onlineFeed) set(now online) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now == f.now {
		return
	}
	f.now = now
	close(f.changed)
	f.changed = make(chan struct{})
}

// OnlineCount tells the viewer, who has to be a user, how many users are online: now, and whenever that has changed, about a second later.
// One who is slow to receive is told the latest number. The channel is closed when ctx ends, when the hub is closed, and when Redis has failed for
// long:
// see [HubOptions.Patience].
func (h *Hub[T]) OnlineCount(ctx context.Context) (<-chan int, error) {
	if _, err := domain.Self(ctx); err != nil {
		return nil, err
	}
	f, err := h.attachOnline()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ctx, cancel)
	out := make(chan int)
	go func() {
		defer h.detachOnline(f)
		defer cancel()
		defer stop()
		defer close(out)
		var told online
		for {
			now, changed := f.get()
			if now.ended {
				return
			}
			if now != told {
				if send(ctx, out, now.n) != nil {
					return
				}
				told = now
				continue
			}
			if wait(ctx, changed) != nil {
				return
			}
		}
	}()
	return out, nil
}

// attachOnline returns the feed, which begins with the first who wants to know.
func (h *Hub[T]) attachOnline() (*onlineFeed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errStopping
	}
	if h.online == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f := &onlineFeed{cancel: cancel, changed: make(chan struct{})}
		h.online = f
		h.all.Go(func() { h.ask(ctx, f) })
	}
	h.online.listeners++
	h.all.Add(1)
	return h.online, nil
}

func (h *Hub[T]) detachOnline(f *onlineFeed) {
	defer h.all.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.listeners--; f.listeners == 0 {
		f.cancel()
		h.dropOnline(f)
	}
}

// dropOnline lets the next one who wants to know begin a new feed. The caller has the lock.
func (h *Hub[T]) dropOnline(f *onlineFeed) {
	if h.online == f {
		h.online = nil
	}
}

// ask asks Redis until the context ends, or Redis has failed for long.
func (h *Hub[T]) ask(ctx context.Context, f *onlineFeed) {
	defer func() {
		h.mu.Lock()
		h.dropOnline(f)
		h.mu.Unlock()
		f.set(online{ended: true})
	}()
	var failing trials
	var err error
	for err == nil {
		short, cancel := context.WithTimeout(ctx, prompt)
		var n int
		n, err = h.o.Service.Coordinator.OnlineCount(short)
		cancel()
		if err != nil {
			err = failing.again(ctx, h.limits.patience, err)
			continue
		}
		failing = trials{}
		f.set(online{n: n, known: true})
		err = pause(ctx, h.limits.asks)
	}
	if ctx.Err() == nil {
		h.o.Log.ErrorContext(ctx, "how many are online cannot be read; who wants to know is sent away", "error", err)
	}
}
