package subscriptions

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// pair are two servers of the same stores. The second one is told of revocations only when the test says so.
type pair struct {
	first, second *apitest.Server
}

func newPair(t *testing.T) pair {
	t.Helper()
	var shared config.Config
	p := pair{first: apitest.NewServer(t, func(c *config.Config) { shared = *c })}
	p.second = apitest.NewServer(t, func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	return p
}

// listeners waits until so many servers listen to revocations.
func listeners(s *apitest.Server, n int64) {
	s.T.Helper()
	channel := "taggie:revocations:" + s.Prefix + "users"
	require.Eventually(s.T, func() bool {
		counts, err := s.App.Stores.Redis.PubSubNumSub(s.T.Context(), channel).Result()
		return err == nil && counts[channel] == n
	}, apitest.Patience, time.Millisecond)
}

func revoke(c *apitest.Client, id string) *apitest.Answer {
	c.T.Helper()
	return c.Mutate("revokeUser", "revokedAt", apitest.Vars{"userId": id})
}

const online = `subscription { onlineCount }`

// TestARevokedUserIsSignedOutOnAllServers lists sockets and event streams that were opened before.
func TestARevokedUserIsSignedOutOnAllServers(t *testing.T) {
	p := newPair(t)
	for _, s := range []*apitest.Server{p.first, p.second} {
		s.FollowsRevocations()
	}
	listeners(p.first, 2)
	ada, bob, root := p.first.User("ada@example.com"), p.first.User("bob@example.com"), p.first.Admin("root@example.com")
	var hers []*apitest.Stream
	for _, s := range []*apitest.Server{p.first, p.second} {
		hers = append(hers, ada.At(s).Subscribe(online, nil))
	}
	source, his := source(ada.At(p.second), "", online, nil), bob.At(p.second).Subscribe(online, nil)
	for _, s := range append(hers, his) {
		s.Next()
	}
	source.next()

	at := revoke(root, ada.ID).Time("result.revokedAt")
	assert.WithinDuration(t, time.Now(), at, apitest.Patience)
	for _, s := range hers {
		assert.EqualValues(t, 4403, websocket.CloseStatus(s.Ended()))
	}
	for source.lines.Scan() { // until it ends
		assert.NotContains(t, source.lines.Text(), "complete")
	}
	require.NoError(t, source.lines.Err())
	for _, s := range []*apitest.Server{p.first, p.second} {
		a := ada.At(s).Do(`{ viewer { id } }`, nil)
		assert.Equal(t, 401, a.Status)
		a.Fails("UNAUTHENTICATED", "")
		_, err := ada.At(s).Dial(t.Context(), nil, online, nil)
		assert.EqualValues(t, 4403, websocket.CloseStatus(err))
		bob.At(s).Must(`{ viewer { id } }`, nil)
	}
	bob.Mutate("heartbeat", "onlineCount", apitest.Vars{})
	assert.InDelta(t, 1, his.Next().Data["onlineCount"], 0, "nobody else is signed out")

	require.Eventually(t, func() bool { // tokens tell the second in which they were issued
		return len(p.second.As("ada@example.com").Do(`{ viewer { id } }`, nil).Errors) == 0
	}, apitest.Patience, 100*time.Millisecond, "a new token counts")
}

// opened opens a socket of somebody who has not signed up.
func opened(c *apitest.Client) *apitest.Stream {
	c.T.Helper()
	s := c.Subscribe(online, nil)
	require.ErrorContains(c.T, s.Ended(), "UNAUTHENTICATED") // of the subscription; the socket stays
	return s
}

// lost waits for the end of a socket, and returns its code.
func lost(s *apitest.Stream) websocket.StatusCode {
	s.T.Helper()
	for {
		if _, _, err := s.Ws.Read(s.T.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// TestSocketsFromBeforeASignUpAreRevoked has sockets that were opened before their bearer became a user, elsewhere.
func TestSocketsFromBeforeASignUpAreRevoked(t *testing.T) {
	p := newPair(t)
	p.first.FollowsRevocations()
	listeners(p.first, 1)
	root, stranger := p.first.Admin("root@example.com"), opened(p.first.As("stranger@example.com"))
	hers, missed := opened(p.first.As("ada@example.com")), opened(p.first.As("ada@example.com").At(p.second))
	revoke(root, p.first.User("ada@example.com").ID)
	assert.EqualValues(t, 4403, lost(hers))
	p.second.FollowsRevocations()
	assert.EqualValues(t, 4403, lost(missed), "news that nobody told")
	require.NoError(t, stranger.Write(t.Context(), map[string]any{"type": "ping"}))
	_, text, err := stranger.Ws.Read(t.Context())
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"pong"}`, string(text), "nobody else is signed out")
}

// TestAServerThatWasAwayLooksWhoWasRevoked has news missed, as happens when Redis was away.
func TestAServerThatWasAwayLooksWhoWasRevoked(t *testing.T) {
	p := newPair(t)
	ada, bob, root := p.first.User("ada@example.com"), p.first.User("bob@example.com"), p.first.Admin("root@example.com")
	hers, his := ada.At(p.second).Subscribe(online, nil), bob.At(p.second).Subscribe(online, nil)
	hers.Next()
	his.Next()
	revoke(root, ada.ID)
	ada.At(p.second).Must(`{ viewer { id } }`, nil) // nobody told
	p.second.FollowsRevocations()
	assert.EqualValues(t, 4403, websocket.CloseStatus(hers.Ended()))
	ada.At(p.second).Do(`{ viewer { id } }`, nil).Fails("UNAUTHENTICATED", "")
	bob.Mutate("heartbeat", "onlineCount", apitest.Vars{})
	his.Next()
}

func TestWhoIsRevoked(t *testing.T) {
	s := apitest.NewServer(t)
	ada, root := s.User("ada@example.com"), s.Admin("root@example.com")
	revoke(ada, root.ID).Fails("FORBIDDEN", "")
	revoke(root, apitest.GIDOf("User", "11111111-1111-4111-8111-111111111111")).Fails("NOT_FOUND", "")
	revoke(root, ada.Must(`mutation { createNote(input: {title: "t", content: "c"}) { note { id } } }`, nil).Str("createNote.note.id")).Fails("INVALID_INPUT", "input.userId")
	root.Must(`{ viewer { id } }`, nil)

	input := apitest.Vars{"userId": ada.ID, "idempotencyKey": "once"}
	first := root.Mutate("revokeUser", "revokedAt", input).Str("result.revokedAt")
	assert.Equal(t, first, root.Mutate("revokeUser", "revokedAt", input).Str("result.revokedAt"))
	ada.Do(`{ viewer { id } }`, nil).Fails("UNAUTHENTICATED", "")
}

// TestARevocationIsHeededWithoutRedis has two servers on one DynamoDB, and no Redis from some moment on.
func TestARevocationIsHeededWithoutRedis(t *testing.T) {
	t.Parallel()
	way, url := apitest.NewBridge(t)
	var shared config.Config
	p := pair{first: apitest.NewServer(t, apitest.WithRedis(url), func(c *config.Config) { shared = *c })}
	p.second = apitest.NewServer(t, apitest.WithRedis(url), func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	for _, s := range []*apitest.Server{p.first, p.second} {
		s.App.Revoked.Every = 50 * time.Millisecond // in place of seconds
		s.FollowsRevocations()
	}
	listeners(p.first, 2)
	ada, bob, root := p.first.User("ada@example.com"), p.first.User("bob@example.com"), p.first.Admin("root@example.com")
	hers, source, stranger := ada.At(p.second).Subscribe(online, nil), source(ada.At(p.second), "", online, nil), opened(p.first.As("late@example.com").At(p.second))
	his := bob.At(p.second).Subscribe(online, nil)
	hers.Next()
	source.next()
	his.Next()
	late := p.first.User("late@example.com")

	way.Cut()
	revoke(root, ada.ID).Time("result.revokedAt")
	revoke(root, late.ID).Time("result.revokedAt")
	ada.Do(`{ viewer { id } }`, nil).Fails("UNAUTHENTICATED", "") // at once, where it was asked for
	assert.EqualValues(t, 4403, websocket.CloseStatus(hers.Ended()))
	assert.EqualValues(t, 4403, lost(stranger), "who signed up after the socket was opened")
	for source.lines.Scan() { // until it ends
		assert.NotContains(t, source.lines.Text(), "complete")
	}
	require.Eventually(t, func() bool { return ada.At(p.second).Do(`{ viewer { id } }`, nil).Status == 401 }, apitest.Patience, 10*time.Millisecond)
	bob.At(p.second).Must(`{ viewer { id } }`, nil)
}

// TestNobodyIsLetInWhileNobodyCanTell has a server that cannot ask DynamoDB: what it knew is too old soon.
func TestNobodyIsLetInWhileNobodyCanTell(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.second.App.Revoked.Users.Believing(300 * time.Millisecond)
	ada, root := p.first.User("ada@example.com"), p.first.Admin("root@example.com")
	ada.At(p.second).Must(`{ viewer { id } }`, nil)
	p.second.Faults.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always)
	revoke(root, ada.ID).Time("result.revokedAt")
	var last *apitest.Answer
	require.Eventually(t, func() bool {
		last = ada.At(p.second).Do(`{ __typename }`, nil)
		return last.Status != 200
	}, apitest.Patience, 10*time.Millisecond)
	assert.Equal(t, 503, last.Status)
	last.Fails("UNAVAILABLE", "")
	_, err := ada.At(p.second).Dial(t.Context(), nil, online, nil)
	assert.EqualValues(t, 1013, websocket.CloseStatus(err))
	p.second.Faults.Clear()
	ada.At(p.second).Do(`{ __typename }`, nil).Fails("UNAUTHENTICATED", "")
}

// TestADeletedUserIsSignedOutOnAllServers lists what was opened before, and that nothing is opened until the user is back.
func TestADeletedUserIsSignedOutOnAllServers(t *testing.T) {
	p := newPair(t)
	for _, s := range []*apitest.Server{p.first, p.second} {
		s.FollowsRevocations()
	}
	listeners(p.first, 2)
	ada, bob := p.first.User("ada@example.com"), p.first.User("bob@example.com")
	var hers []*apitest.Stream
	for _, s := range []*apitest.Server{p.first, p.second} {
		hers = append(hers, ada.At(s).Subscribe(online, nil))
	}
	source, his := source(ada.At(p.second), "", online, nil), bob.At(p.second).Subscribe(online, nil)
	for _, s := range append(hers, his) {
		s.Next()
	}
	source.next()

	ada.Mutate("deleteUser", "deleted { state }", apitest.Vars{})
	for _, s := range hers {
		assert.EqualValues(t, 4403, websocket.CloseStatus(s.Ended()))
	}
	for source.lines.Scan() { // until it ends
		assert.NotContains(t, source.lines.Text(), "complete")
	}
	require.NoError(t, source.lines.Err())
	var later *apitest.Client
	require.Eventually(t, func() bool { // tokens tell the second in which they were issued
		later = p.second.As("ada@example.com")
		errs := later.Do(`{ viewer { id } }`, nil).Errors
		return len(errs) == 1 && errs[0].Extensions.Code == "USER_DELETED"
	}, apitest.Patience, 100*time.Millisecond)
	for _, s := range []*apitest.Server{p.first, p.second} {
		_, err := later.At(s).Dial(t.Context(), nil, online, nil)
		assert.EqualValues(t, 4403, websocket.CloseStatus(err), "a socket would not notice that the user is back")
	}

	later.At(p.first).Mutate("undoDeleteUser", "user { id }", apitest.Vars{})
	back := later.At(p.second).Subscribe(online, nil)
	back.Next()
	bob.Mutate("heartbeat", "onlineCount", apitest.Vars{})
	his.Next()
	back.Next()
}
