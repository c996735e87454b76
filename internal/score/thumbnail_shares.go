package score

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
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

// acquire waits until the owner may take up so much, which is at most all of a share, and returns what gives it back.
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
