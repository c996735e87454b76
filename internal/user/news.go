package user

import (
	"context"
	"sync"
	"time"
)

const (
	// Trusted is how old what a server knows of revocations may be when it lets somebody in, or answers.
	Trusted = 20 * time.Second
	// LookEvery is about how often each server looks who was revoked: several times within Trusted, so that one look may fail.
	LookEvery = 5 * time.Second
	// lately is how far back each look goes. The clocks of two servers may differ by 20 minutes, and a revocation may take a while to be written.
	lately = 30 * time.Minute
	// away is the longest time between two looks after which the second one has seen all that happened.
	away = 5 * time.Minute
)

// Revocation says that the tokens of a user that were issued by then are revoked.
type Revocation struct {
	User ID
	At   time.Time
}

// news is what a server has read of revocations.
type news struct {
	looking sync.Mutex              // one at a time; it guards seen, wall and all
	seen    map[Revocation]struct{} // by the last look
	wall    time.Time               // of the last look, by the clock that revocations are written with
	all     bool                    // looks were missed, and nobody has heeded that yet

	mu     sync.Mutex
	looked time.Time // when the last look began that succeeded
}

func (n *news) lookedAt() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.looked
}

// Believing has what is known of revocations trusted for another time than [Trusted].
func (s *Service) Believing(age time.Duration) *Service {
	s.trusted = age
	return s
}

// News reads who was revoked lately and forgets what was known of them, so that the next sign-in reads it again. Heed is told of those whom
// no earlier look has seen, and is told again next time when it fails. All is true at first, and when the last look is too long ago: then
// everybody is forgotten, and may have been revoked. While News succeeds, sign-ins of those who are known read nothing. Whoever asks, it is
// for the server itself.
func (s *Service) News(ctx context.Context, heed func(fresh []Revocation, all bool) error) error {
	n := &s.news
	n.looking.Lock()
	defer n.looking.Unlock()
	began, wall := time.Now(), s.o.Now()
	recent, err := s.o.Store.Revocations(ctx, wall.Add(-lately), wall.Add(lately))
	if err != nil {
		return err
	}
	var fresh []Revocation
	seen := make(map[Revocation]struct{}, len(recent))
	for _, r := range recent {
		seen[r] = struct{}{}
		if _, known := n.seen[r]; !known {
			s.Forget(r.User)
			fresh = append(fresh, r)
		}
	}
	if began.Sub(n.lookedAt()) > away || wall.Sub(n.wall).Abs() > away {
		n.all = true
		s.ForgetAll()
	}
	n.mu.Lock()
	n.looked = began
	n.mu.Unlock()
	n.wall = wall
	if err := heed(fresh, n.all); err != nil {
		return err
	}
	n.seen, n.all = seen, false
	return nil
}
