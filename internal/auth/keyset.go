package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/internal/fault"
)

const (
	// refreshEvery bounds how often strangers, by inventing key ids, make us ask the issuer.
	refreshEvery = time.Minute
	// retryEvery replaces it while there are no keys at all and every token waits for them.
	retryEvery = 5 * time.Second
	// maxAge is after how long keys are read again though nobody misses one: a key that its issuer withdrew
	// stops being accepted.
	maxAge = 10 * time.Minute
	// fetchTimeout bounds discovery and the reading of keys together.
	fetchTimeout = 5 * time.Second
)

// errTooSoon says that the issuer was asked a moment ago, in vain.
var errTooSoon = errors.New("the issuer was asked a moment ago")

// publishedKey is one usable key of an issuer.
type publishedKey struct {
	id        string
	algorithm string // "" fits every algorithm of its type
	key       any
}

// keySet keeps an issuer's published keys and knows when to read them again.
type keySet struct {
	fetch func(ctx context.Context) ([]publishedKey, error)
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	keys   []publishedKey // replaced as a whole, never changed
	tried  time.Time      // when the issuer was asked last
	read   time.Time      // when it answered last
	failed error          // of the last attempt
	flight chan struct{}  // closed when the attempt under way ends; nil when there is none
}

func newKeySet(issuer Issuer, now func() time.Time) *keySet {
	log := issuer.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	client := &http.Client{}
	if issuer.Client != nil {
		*client = *issuer.Client
	}
	client.Transport = bounded{client.Transport}
	client.CheckRedirect = keepTLS
	source := &source{issuer: issuer.URL, client: client}
	return &keySet{fetch: source.fetch, log: log, now: now}
}

func (s *keySet) current() []publishedKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys
}

// find returns the keys that fit. A missing one makes it read the key set again, at most once a minute.
func (s *keySet) find(ctx context.Context, kid, algorithm string) ([]jwt.VerificationKey, error) {
	if keys := match(s.current(), kid, algorithm); len(keys) > 0 {
		s.refreshOld()
		return keys, nil
	}
	err := s.refresh(ctx)
	if keys := match(s.current(), kid, algorithm); len(keys) > 0 {
		return keys, nil
	}
	if err != nil { // the key may exist: a client should not be told to sign in again
		return nil, fault.Wrap(fault.Unavailable, err, "the token cannot be checked now, because its issuer does not answer: try again later")
	}
	return nil, fault.New(fault.Unauthenticated, "the token is signed with a key that its issuer does not publish")
}

// match returns the keys with that id, all keys for a token without one. Several may share an id.
func match(keys []publishedKey, kid, algorithm string) []jwt.VerificationKey {
	var found []jwt.VerificationKey
	for _, k := range keys {
		if (kid == "" || k.id == kid) && (k.algorithm == "" || k.algorithm == algorithm) && suits(k.key, algorithm) {
			found = append(found, k.key)
		}
	}
	return found
}

// refresh reads the key set unless that was tried a moment ago, and returns why the newest attempt failed. Callers share
// one attempt, which goes on when the first of them gives up.
func (s *keySet) refresh(ctx context.Context) error {
	s.mu.Lock()
	flight := s.start()
	if flight == nil {
		defer s.mu.Unlock()
		if s.failed != nil {
			return errors.Join(errTooSoon, s.failed)
		}
		return nil
	}
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-flight:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// refreshOld starts reading keys that were not read for long; the caller does not wait for it.
func (s *keySet) refreshOld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.read) >= maxAge {
		s.start()
	}
}

// start returns the attempt under way, beginning one if it is time, or nil. The caller holds the mutex.
func (s *keySet) start() chan struct{} {
	if s.flight != nil {
		return s.flight
	}
	wait := refreshEvery
	if len(s.keys) == 0 {
		wait = retryEvery
	}
	now := s.now()
	if !s.tried.IsZero() && now.Sub(s.tried) < wait {
		return nil
	}
	s.tried = now
	s.flight = make(chan struct{})
	go s.run(s.flight)
	return s.flight
}

func (s *keySet) run(flight chan struct{}) {
	// Not the context of a request: others wait for the same attempt.
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	keys, err := s.fetchSafely(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.keys, s.read = slices.Clip(keys), s.now()
	} else {
		s.log.Warn("cannot read the issuer's keys", "error", err, "usable_keys", len(s.keys))
	}
	s.failed = err
	s.flight = nil
	close(flight)
}

// fetchSafely keeps a panic over an issuer's answer from ending the process, as it would in this goroutine.
func (s *keySet) fetchSafely(ctx context.Context) (keys []publishedKey, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic while reading the issuer's keys", "panic", r)
			err = errors.New("panic while reading keys")
		}
	}()
	return s.fetch(ctx)
}
