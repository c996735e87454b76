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
	n       int
	ended   bool
	changed chan struct{} // closed, and replaced by another, when the number is another one
}

func (f *onlineFeed) get() (n int, ended bool, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n, f.ended, f.changed
}

func (f *onlineFeed) set(n int, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n == f.n && ended == f.ended {
		return
	}
	f.n, f.ended = n, ended
	close(f.changed)
	f.changed = make(chan struct{})
}

// OnlineCount tells the viewer, who has to be a user, how many users are online: now, and whenever that has changed, about a second later.
// One who is slow to receive is told the latest number. The channel is closed when ctx ends, when the hub is closed, and when Redis has failed for
// long.
func (h *Hub[T]) OnlineCount(ctx context.Context) (<-chan int, error) {
	if _, err := domain.Self(ctx); err != nil {
		return nil, err
	}
	f, err := h.attachOnline(nil)
	if f == nil && err == nil {
		var n int
		if n, err = h.o.Service.OnlineCount(ctx); err == nil {
			f, err = h.attachOnline(&n)
		}
	}
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
		for last, told := 0, false; ; {
			n, ended, changed := f.get()
			if ended {
				return
			}
			if !told || n != last {
				if send(ctx, out, n) != nil {
					return
				}
				last, told = n, true
				continue
			}
			if wait(ctx, changed) != nil {
				return
			}
		}
	}()
	return out, nil
}

// attachOnline returns the feed, and begins it with the number when nobody has yet; without one it returns nil then.
func (h *Hub[T]) attachOnline(n *int) (*onlineFeed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errStopping
	}
	if h.online == nil && n == nil {
		return nil, nil
	}
	if h.online == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f := &onlineFeed{cancel: cancel, n: *n, changed: make(chan struct{})}
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
		f.set(0, true)
	}()
	var failing trials
	err := pause(ctx, h.limits.asks)
	for err == nil {
		short, cancel := context.WithTimeout(ctx, prompt)
		var n int
		n, err = h.o.Service.Queue.OnlineCount(short)
		cancel()
		if err != nil {
			err = failing.again(ctx, h.limits.patience, err)
			continue
		}
		failing = trials{}
		f.set(n, false)
		err = pause(ctx, h.limits.asks)
	}
	if ctx.Err() == nil {
		h.o.Log.ErrorContext(ctx, "how many are online cannot be read; who wants to know is sent away", "error", err)
	}
}
