package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// pair are two servers of the same stores. The second one is told of revocations only when the test says so.
type pair struct {
	first, second *testServer
}

func newPair(t *testing.T) pair {
	t.Helper()
	var shared config.Config
	p := pair{first: newServer(t, func(c *config.Config) { shared = *c })}
	p.second = newServer(t, func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	return p
}

// follows has a server listen to revocations.
func (s *testServer) follows() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.app.revoked.run(ctx, slog.New(slog.DiscardHandler)) })
	s.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// listeners waits until so many servers listen to revocations.
func (s *testServer) listeners(n int64) {
	s.t.Helper()
	channel := "taggie:revocations:" + s.prefix + "users"
	require.Eventually(s.t, func() bool {
		counts, err := s.app.stores.redis.PubSubNumSub(s.t.Context(), channel).Result()
		return err == nil && counts[channel] == n
	}, patience, time.Millisecond)
}

// at is the same client at another server.
func (c *client) at(s *testServer) *client { return &client{testServer: s, token: c.token, id: c.id} }

func (c *client) revoke(id string) *answer {
	c.t.Helper()
	return c.mutate("revokeUser", "revokedAt", vars{"userId": id})
}

const online = `subscription { onlineCount }`

// TestARevokedUserIsSignedOutOnAllServers lists sockets and event streams that were opened before.
func TestARevokedUserIsSignedOutOnAllServers(t *testing.T) {
	p := newPair(t)
	for _, s := range []*testServer{p.first, p.second} {
		s.follows()
	}
	p.first.listeners(2)
	ada, bob, root := p.first.user("ada@example.com"), p.first.user("bob@example.com"), p.first.admin("root@example.com")
	var hers []*stream
	for _, s := range []*testServer{p.first, p.second} {
		hers = append(hers, ada.at(s).subscribe(online, nil))
	}
	source, his := ada.at(p.second).source("", online, nil), bob.at(p.second).subscribe(online, nil)
	for _, s := range append(hers, his) {
		s.next()
	}
	source.next()

	at := root.revoke(ada.id).time("result.revokedAt")
	assert.WithinDuration(t, time.Now(), at, patience)
	for _, s := range hers {
		assert.EqualValues(t, 4403, websocket.CloseStatus(s.ended()))
	}
	for source.lines.Scan() { // until it ends
		assert.NotContains(t, source.lines.Text(), "complete")
	}
	require.NoError(t, source.lines.Err())
	for _, s := range []*testServer{p.first, p.second} {
		a := ada.at(s).do(`{ viewer { id } }`, nil)
		assert.Equal(t, 401, a.status)
		a.fails("UNAUTHENTICATED", "")
		_, err := ada.at(s).dial(t.Context(), nil, online, nil)
		assert.EqualValues(t, 4403, websocket.CloseStatus(err))
		bob.at(s).must(`{ viewer { id } }`, nil)
	}
	bob.mutate("heartbeat", "onlineCount", vars{})
	assert.InDelta(t, 1, his.next().Data["onlineCount"], 0, "nobody else is signed out")

	require.Eventually(t, func() bool { // tokens tell the second in which they were issued
		return len(p.second.as("ada@example.com").do(`{ viewer { id } }`, nil).Errors) == 0
	}, patience, 100*time.Millisecond, "a new token counts")
}

// opened opens a socket of somebody who has not signed up.
func (c *client) opened() *stream {
	c.t.Helper()
	s := c.subscribe(online, nil)
	require.ErrorContains(c.t, s.ended(), "UNAUTHENTICATED") // of the subscription; the socket stays
	return s
}

// lost waits for the end of a socket, and returns its code.
func (s *stream) lost() websocket.StatusCode {
	s.t.Helper()
	for {
		if _, _, err := s.ws.Read(s.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// TestSocketsFromBeforeASignUpAreRevoked has sockets that were opened before their bearer became a user, elsewhere.
func TestSocketsFromBeforeASignUpAreRevoked(t *testing.T) {
	p := newPair(t)
	p.first.follows()
	p.first.listeners(1)
	root, stranger := p.first.admin("root@example.com"), p.first.as("stranger@example.com").opened()
	hers, missed := p.first.as("ada@example.com").opened(), p.first.as("ada@example.com").at(p.second).opened()
	root.revoke(p.first.user("ada@example.com").id)
	assert.EqualValues(t, 4403, hers.lost())
	p.second.follows()
	assert.EqualValues(t, 4403, missed.lost(), "news that nobody told")
	require.NoError(t, stranger.write(t.Context(), map[string]any{"type": "ping"}))
	_, text, err := stranger.ws.Read(t.Context())
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"pong"}`, string(text), "nobody else is signed out")
}

// TestAServerThatWasAwayLooksWhoWasRevoked has news missed, as happens when Redis was away.
func TestAServerThatWasAwayLooksWhoWasRevoked(t *testing.T) {
	p := newPair(t)
	ada, bob, root := p.first.user("ada@example.com"), p.first.user("bob@example.com"), p.first.admin("root@example.com")
	hers, his := ada.at(p.second).subscribe(online, nil), bob.at(p.second).subscribe(online, nil)
	hers.next()
	his.next()
	root.revoke(ada.id)
	ada.at(p.second).must(`{ viewer { id } }`, nil) // nobody told
	p.second.follows()
	assert.EqualValues(t, 4403, websocket.CloseStatus(hers.ended()))
	ada.at(p.second).do(`{ viewer { id } }`, nil).fails("UNAUTHENTICATED", "")
	bob.mutate("heartbeat", "onlineCount", vars{})
	his.next()
}

func TestWhoIsRevoked(t *testing.T) {
	s := newServer(t)
	ada, root := s.user("ada@example.com"), s.admin("root@example.com")
	ada.revoke(root.id).fails("FORBIDDEN", "")
	root.revoke(gidOf("User", "11111111-1111-4111-8111-111111111111")).fails("NOT_FOUND", "")
	root.revoke(ada.must(`mutation { createNote(input: {title: "t", content: "c"}) { note { id } } }`, nil).str("createNote.note.id")).fails("INVALID_INPUT", "input.userId")
	root.must(`{ viewer { id } }`, nil)

	input := vars{"userId": ada.id, "idempotencyKey": "once"}
	first := root.mutate("revokeUser", "revokedAt", input).str("result.revokedAt")
	assert.Equal(t, first, root.mutate("revokeUser", "revokedAt", input).str("result.revokedAt"))
	ada.do(`{ viewer { id } }`, nil).fails("UNAUTHENTICATED", "")
}

// TestARevocationIsHeededWithoutRedis has two servers on one DynamoDB, and no Redis from some moment on.
func TestARevocationIsHeededWithoutRedis(t *testing.T) {
	t.Parallel()
	way, url := newBridge(t)
	var shared config.Config
	p := pair{first: newServer(t, withRedis(url), func(c *config.Config) { shared = *c })}
	p.second = newServer(t, withRedis(url), func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	for _, s := range []*testServer{p.first, p.second} {
		s.app.revoked.every = 50 * time.Millisecond // in place of seconds
		s.follows()
	}
	p.first.listeners(2)
	ada, bob, root := p.first.user("ada@example.com"), p.first.user("bob@example.com"), p.first.admin("root@example.com")
	hers, source, stranger := ada.at(p.second).subscribe(online, nil), ada.at(p.second).source("", online, nil), p.first.as("late@example.com").at(p.second).opened()
	his := bob.at(p.second).subscribe(online, nil)
	hers.next()
	source.next()
	his.next()
	late := p.first.user("late@example.com")

	way.cut()
	root.revoke(ada.id).time("result.revokedAt")
	root.revoke(late.id).time("result.revokedAt")
	ada.do(`{ viewer { id } }`, nil).fails("UNAUTHENTICATED", "") // at once, where it was asked for
	assert.EqualValues(t, 4403, websocket.CloseStatus(hers.ended()))
	assert.EqualValues(t, 4403, stranger.lost(), "who signed up after the socket was opened")
	for source.lines.Scan() { // until it ends
		assert.NotContains(t, source.lines.Text(), "complete")
	}
	require.Eventually(t, func() bool { return ada.at(p.second).do(`{ viewer { id } }`, nil).status == 401 }, patience, 10*time.Millisecond)
	bob.at(p.second).must(`{ viewer { id } }`, nil)
}

// TestNobodyIsLetInWhileNobodyCanTell has a server that cannot ask DynamoDB: what it knew is too old soon.
func TestNobodyIsLetInWhileNobodyCanTell(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.second.app.revoked.users.Believing(300 * time.Millisecond)
	ada, root := p.first.user("ada@example.com"), p.first.admin("root@example.com")
	ada.at(p.second).must(`{ viewer { id } }`, nil)
	p.second.faults.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always)
	root.revoke(ada.id).time("result.revokedAt")
	var last *answer
	require.Eventually(t, func() bool {
		last = ada.at(p.second).do(`{ __typename }`, nil)
		return last.status != 200
	}, patience, 10*time.Millisecond)
	assert.Equal(t, 503, last.status)
	last.fails("UNAVAILABLE", "")
	_, err := ada.at(p.second).dial(t.Context(), nil, online, nil)
	assert.EqualValues(t, 1013, websocket.CloseStatus(err))
	p.second.faults.Clear()
	ada.at(p.second).do(`{ __typename }`, nil).fails("UNAUTHENTICATED", "")
}
