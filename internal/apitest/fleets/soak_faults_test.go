//go:build long && unix

package fleets

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/faultinject"
)

// soak is one round of a soak: a campaign in the world of all rounds.
type soak struct {
	*expedition
	world *soakWorld
}

// shortest and longest are how long something is broken.
const shortest, longest = time.Second, 5 * time.Second

// while has something go wrong for some seconds, and until it has hit somebody.
func (s *soak) while(wrong func() (hits func() int, stop func())) func() time.Time {
	return nobody(func() {
		hits, stop := wrong()
		time.Sleep(s.some(shortest, longest))
		require.Eventually(s.expedition.fleet.t, func() bool { return hits() > 0 }, apitest.Patience, 20*time.Millisecond, "somebody meets what goes wrong")
		stop()
	})
}

// mishaps are all that breaks in a soak. The first server is never killed, so that its use can be followed all the time.
func (s *soak) mishaps() []mishap {
	e, w := s.expedition, s.world
	t, ctx := e.fleet.t, e.fleet.t.Context()
	mortal := func() *server { return e.servers[1+e.random.IntN(len(e.servers)-1)] }
	all := []mishap{
		{"a server is killed", func() time.Time { return e.kills(mortal())() }},
		{"a server is stopped for seconds", nobody(func() { e.stops(e.servers[e.random.IntN(len(e.servers))], e.some(shortest, longest)) })},
		{"a server comes back with another clock", func() time.Time {
			one := mortal()
			one.ahead = e.some(-10*time.Minute, 10*time.Minute).Truncate(time.Second)
			return e.kills(one)()
		}},
		{"connections of clients are cut", nobody(w.clients.cut)},
		{"Redis is mute for seconds", nobody(func() { w.redis.Sleep(ctx, e.some(shortest, longest)) })},
		{"Redis is emptied", nobody(func() { require.NoError(t, w.redis.Client.FlushAll(ctx).Err()) })},
		{"Redis is killed and comes back empty", nobody(func() {
			w.redis.Kill()
			time.Sleep(e.some(100*time.Millisecond, 3*time.Second))
			w.redis.Restart(t)
		})},
	}
	for _, engine := range []string{embedded.DynamoDB, embedded.S3} {
		all = append(all,
			mishap{engine + " is killed", nobody(func() { s.signals(engine, syscall.SIGKILL) })},
			mishap{engine + " is stopped for seconds", nobody(func() {
				s.signals(engine, syscall.SIGSTOP)
				time.Sleep(s.some(shortest, longest))
				s.signals(engine, syscall.SIGCONT)
			})},
		)
	}
	return append(append(all, s.callsOfDynamoDB()...), s.callsOfS3()...)
}

// signals sends a signal to an engine, and to its gate if it has one: they are a group.
func (s *soak) signals(engine string, signal syscall.Signal) {
	t := s.expedition.fleet.t
	pid := 0
	require.Eventually(t, func() (running bool) {
		pid, running = embedded.Running(s.world.dir, engine)
		return running
	}, apitest.Patience, 20*time.Millisecond, "%s comes back by itself", engine)
	require.NoError(t, syscall.Kill(-pid, signal))
}

// callsOfDynamoDB are the ways in which calls of DynamoDB go wrong.
func (s *soak) callsOfDynamoDB() []mishap {
	some := func(share float64) faultinject.When { return faultinject.Sometimes(share, s.random.Uint64()) }
	rule := func(add func(i *faultinject.Injector) *faultinject.Rule) func() time.Time {
		return s.while(func() (func() int, func()) {
			r := add(s.world.dynamo)
			return r.Hits, r.Stop
		})
	}
	return []mishap{
		{"DynamoDB throttles", rule(func(i *faultinject.Injector) *faultinject.Rule { return i.Throttle(some(0.4)) })},
		{"DynamoDB fails", rule(func(i *faultinject.Injector) *faultinject.Rule {
			return i.Fail(http.StatusInternalServerError, "InternalServerError", some(0.4))
		})},
		{"calls of DynamoDB are cut before they arrive", rule(func(i *faultinject.Injector) *faultinject.Rule { return i.ResetBefore(some(0.3)) })},
		{"calls of DynamoDB are cut after they were carried out", rule(func(i *faultinject.Injector) *faultinject.Rule {
			return i.ResetAfter(some(0.3))
		})},
		{"the disk of DynamoDB is slow", rule(func(i *faultinject.Injector) *faultinject.Rule {
			return i.Delay(s.some(50*time.Millisecond, 500*time.Millisecond), faultinject.Always)
		})},
	}
}

var errCut = errors.New("the connection is cut")

// callsOfS3 are the ways in which calls of S3 go wrong.
func (s *soak) callsOfS3() []mishap {
	goes := func(wrong func(r *http.Request, next http.RoundTripper) (*http.Response, error)) func() time.Time {
		return s.while(func() (func() int, func()) {
			s.world.s3.goes(wrong)
			return s.world.s3.touched, func() { s.world.s3.goes(nil) }
		})
	}
	return []mishap{
		{"S3 asks to slow down", goes(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			body := `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>`
			return &http.Response{
				StatusCode: http.StatusServiceUnavailable, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
				Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
			}, nil
		})},
		{"calls of S3 are cut after they were carried out", goes(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			return nil, errors.Join(errCut, err)
		})},
		{"the disk of S3 is slow", goes(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
			return next.RoundTrip(r)
		})},
	}
}
