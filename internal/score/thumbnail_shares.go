package score

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

// shares is what each owner may take up at a time of what all have.
type shares struct {
	most   int64
	mu     *sync.Mutex
	owners map[UserID]*share
}

type share struct {
	memory *semaphore.Weighted
	users  int // that wait for it, or have some of it
}

func newShares(most int64) shares {
	return shares{most: most, mu: new(sync.Mutex), owners: make(map[UserID]*share)}
}

// acquire waits until the owner may take up so much, which is at most all of a share, and returns what gives it back. Error: the context's.
func (s shares) acquire(ctx context.Context, owner UserID, weight int64) (giveBack func(), err error) {
	s.mu.Lock()
	own := s.owners[owner]
	if own == nil {
		own = &share{memory: semaphore.NewWeighted(s.most)}
		s.owners[owner] = own
	}
	own.users++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.owners, owner)
		}
	}
	if err := own.memory.Acquire(ctx, weight); err != nil {
		forget()
		return nil, err
	}
	return func() { own.memory.Release(weight); forget() }, nil
}

// waitTurn calls wait with half of the time that is left. Faults: Exhausted when that was too short, Unavailable when the context has ended.
func waitTurn(ctx context.Context, wait func(ctx context.Context) error) error {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		bounded, cancel = context.WithTimeout(ctx, time.Until(end)/2)
	}
	defer cancel()
	err := wait(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.Wrap(fault.Unavailable, err, "the time of the request was up before its file was looked at; complete the upload again")
	}
	return &fault.Error{Kind: fault.Exhausted, RetryAfter: time.Second, Cause: err, Message: "too many files are looked at before this one; complete the upload again"}
}
