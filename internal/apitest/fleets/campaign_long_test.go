//go:build long && unix

package fleets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/campaign"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// TestLongCampaigns are those of `make test-long`; docs/reliability.md says what each does. One runs after the other, on servers without the
// race detector.
func TestLongCampaigns(t *testing.T) {
	binary := fastBinary(t)
	for _, one := range []struct {
		name string
		run  func(t *testing.T, binary string)
	}{
		{"OneRedis", campaignOnOneRedis}, {"Cluster", campaignOnACluster}, {"Sentinels", campaignOnSentinels}, {"Clocks", campaignWithClocksThatDiffer},
		{"NoRedis", campaignWithoutRedis}, {"Floods", campaignUnderFloods},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(t, binary) })
	}
}

// enough items that none of the long campaigns comes to an end of them: who finds nothing to do would not show that work goes on.
const enough = 10_000

// mishap is something that is broken, with its name.
type mishap struct {
	what string
	how  func() (elected time.Time)
}

// between is how long everything is left alone after something was broken.
const leastBetween, mostBetween = 1500 * time.Millisecond, 4 * time.Second

// goesWrong breaks one thing after the other for so long, each at least once, in an order that the seed decides.
func (e *expedition) goesWrong(long time.Duration, mishaps []mishap) {
	t := e.fleet.t
	t.Helper()
	for end := time.Now().Add(long); ; {
		for _, n := range e.random.Perm(len(mishaps)) {
			if time.Now().After(end) {
				require.Eventually(t, func() bool { return e.answers(e.servers[0]).Counts.New > 0 }, apitest.Patience, 20*time.Millisecond, "there was work for everybody until now")
				return
			}
			e.breaks(mishaps[n].what, mishaps[n].how)
			time.Sleep(leastBetween + time.Duration(e.random.Int64N(int64(mostBetween-leastBetween))))
			e.until(10, "work goes on after "+mishaps[n].what)
		}
	}
}

// nobody is elected.
func nobody(how func()) func() time.Time {
	return func() (none time.Time) {
		how()
		return none
	}
}

// some is a time between the two, by the seed.
func (e *expedition) some(least, most time.Duration) time.Duration {
	return least + time.Duration(e.random.Int64N(int64(most-least)))
}

// serversBreak are the ways to break servers, one at a time.
func (e *expedition) serversBreak() []mishap {
	one := func() *server { return e.servers[e.random.IntN(len(e.servers))] }
	return []mishap{
		{"a server is killed", func() time.Time { return e.kills(one())() }},
		{"a server is stopped for seconds", nobody(func() { e.stops(one(), e.some(time.Second, 8*time.Second)) })},
	}
}

// stops has a server do nothing for a while, and then go on as if nothing had happened.
func (e *expedition) stops(s *server, d time.Duration) {
	s.mu.Lock()
	process := s.command.Process
	s.mu.Unlock()
	e.stood = true
	require.NoError(e.fleet.t, process.Signal(syscall.SIGSTOP))
	time.Sleep(d)
	require.NoError(e.fleet.t, process.Signal(syscall.SIGCONT))
}

func campaignOnOneRedis(t *testing.T, binary string) {
	began, node := time.Now(), embeddedtest.NewRedis(t)
	f := newFleetOn(t, 3, binary, node.URL())
	e := newExpedition(t, f, f.servers[0].queued(enough, 500, 16))
	e.begins(3, 4)
	ctx := t.Context()
	saved := func() { // by itself, as it does with the settings that it has by default
		node.Save(t)
		e.until(100, "work goes on after Redis was saved")
	}
	e.goesWrong(130*time.Second, append(e.serversBreak(),
		mishap{"Redis is mute for seconds", nobody(func() { node.Sleep(ctx, e.some(time.Second, 8*time.Second)) })},
		mishap{"Redis is emptied", nobody(func() { require.NoError(t, f.redis.FlushAll(ctx).Err()) })},
		mishap{"a key of Redis is lost", nobody(func() {
			keys, err := f.redis.Keys(ctx, "taggie:*{"+string(e.Key())+"}*").Result()
			require.NoError(t, err)
			if len(keys) > 0 { // it is being rebuilt otherwise
				require.NoError(t, f.redis.Del(ctx, keys[e.random.IntN(len(keys))]).Err())
			}
		})},
		mishap{"Redis is killed, and comes back empty or older", nobody(func() {
			node.Kill()
			time.Sleep(e.some(100*time.Millisecond, 3*time.Second))
			node.Restart(t)
		})},
		mishap{"Redis comes back some seconds older", nobody(func() {
			saved()
			node.Kill()
			node.Restart(t)
		})},
	))
	e.judged("one Redis, 10,000 items", began)
}

func campaignOnACluster(t *testing.T, binary string) {
	began, cluster := time.Now(), embeddedtest.NewRedisCluster(t, 3, 1)
	f := newFleetOn(t, 3, binary, cluster.URL())
	e := newExpedition(t, f, f.servers[0].queued(enough, 300, 12))
	e.begins(2, 4)
	e.goesWrong(110*time.Second, append(e.serversBreak()[:1], e.losesMasters(func() *embeddedtest.RedisNode {
		return cluster.Owner(t, "{"+string(e.Key())+"}")
	}, cluster.Nodes)...))
	e.judged("Cluster of 3 masters and 3 replicas", began)
}

func campaignOnSentinels(t *testing.T, binary string) {
	began, sentinels := time.Now(), embeddedtest.NewRedisSentinels(t)
	f := newFleetOn(t, 3, binary, sentinels.URL())
	e := newExpedition(t, f, f.servers[0].queued(enough, 300, 12))
	e.begins(2, 4)
	e.goesWrong(110*time.Second, append(e.serversBreak()[:1], e.losesMasters(func() *embeddedtest.RedisNode {
		return e.master(sentinels.Nodes)
	}, sentinels.Nodes)...))
	e.judged("Sentinels with 2 replicas", began)
}

// master waits until there is one master.
func (e *expedition) master(nodes []*embeddedtest.RedisNode) (found *embeddedtest.RedisNode) {
	e.fleet.t.Helper()
	require.Eventually(e.fleet.t, func() bool {
		n := 0
		for _, node := range nodes {
			if node.Master(e.fleet.t.Context()) {
				found = node
				n++
			}
		}
		return n == 1
	}, apitest.Patience, 20*time.Millisecond)
	return found
}

// losesMasters are the ways to lose the master that has the project; another one takes its place, and it comes back as a replica.
func (e *expedition) losesMasters(master func() *embeddedtest.RedisNode, nodes []*embeddedtest.RedisNode) []mishap {
	t := e.fleet.t
	lose := func(how func(*embeddedtest.RedisNode)) func() time.Time {
		return func() time.Time {
			old, others := master(), replicas(t.Context(), nodes)
			ctx, cancel := context.WithTimeout(t.Context(), apitest.Patience)
			defer cancel()
			how(old)
			elected := electedOf(ctx, others)
			require.NotZero(t, elected, "nobody is elected")
			time.Sleep(e.some(2*time.Second, 6*time.Second))
			old.Kill() // it may only be mute
			old.Restart(t)
			require.Eventually(t, func() bool { return old.Follows(t.Context()) }, apitest.Patience, 20*time.Millisecond, "the old master comes back")
			return elected
		}
	}
	return []mishap{
		{"the master is killed", lose((*embeddedtest.RedisNode).Kill)},
		{"the master is mute", lose((*embeddedtest.RedisNode).Hang)},
	}
}

func campaignWithClocksThatDiffer(t *testing.T, _ string) {
	began, node := time.Now(), embeddedtest.NewRedis(t)
	right := apitest.NewServer(t, apitest.WithRedis(node.URL()))
	right.Works()
	l := right.Labelled(400, 0)
	f := fleetOf(t, right.Local, right.Prefix)
	for n, s := range []*apitest.Server{right, right.Ahead(10 * time.Minute), right.Ahead(-10 * time.Minute)} {
		if n > 0 {
			s.Works()
		}
		f.servers = append(f.servers, &server{fleet: f, number: n, url: s.URL})
	}
	e := newExpedition(t, f, l)
	e.begins(1, 2)
	e.goesWrong(40*time.Second, []mishap{
		{"Redis is mute for seconds", nobody(func() { node.Sleep(t.Context(), e.some(time.Second, 5*time.Second)) })},
		{"Redis is emptied", nobody(func() { require.NoError(t, node.Client.FlushAll(t.Context()).Err()) })},
	})
	e.judged("clocks 10 minutes apart", began)
}

// campaignWithoutRedis has somebody signed out, and somebody else dismissed, while Redis is away for longer than anybody may go on.
func campaignWithoutRedis(t *testing.T, binary string) {
	began, node := time.Now(), embeddedtest.NewRedis(t)
	f := newFleetOn(t, 2, binary, node.URL())
	e := newExpedition(t, f, f.servers[0].queued(1_000, 100, 8))
	admin, err := f.local.Mint(app.Person("admin@example.com", "Admin", "", true), time.Hour)
	require.NoError(t, err)
	root := f.servers[0].by(&apitest.Client{Token: admin})
	root.Must(`mutation { createUser(input: {name: "Admin", email: "admin@example.com"}) { user { id } } }`, nil)
	revoked, dismissed := e.Labellers[6], e.Labellers[7]
	e.Labellers = e.Labellers[:6]

	var leaving sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for n, u := range []*apitest.Client{revoked, dismissed} {
		l := &campaign.Labeller{Work: e.work, User: u.ID, Rand: rngOf(e.seed, uint64(1000+n)), Left: true}
		w := &campaign.Witness{Work: e.work, User: u.ID, Rand: rngOf(e.seed, uint64(2000+n))}
		leaving.Go(func() { l.Run(ctx) })
		leaving.Go(func() { w.Run(ctx) })
	}
	e.begins(2, 3)
	e.breaks("Redis is away for 80 seconds, and two have to go", nobody(func() {
		node.Kill()
		e.did(campaign.Revoke, revoked.ID, root.Do(`mutation($u: ID!) { revokeUser(input: {userId: $u}) { revokedAt } }`, apitest.Vars{"u": revoked.ID}))
		e.did(campaign.Dismiss, dismissed.ID, f.servers[0].by(e.Crew.Client).Do(
			`mutation($p: ID!, $u: ID!) { removeProjectMember(input: {projectId: $p, userId: $u}) { user { id } } }`, apitest.Vars{"p": e.Crew.ID, "u": dismissed.ID}))
		time.Sleep(80 * time.Second)
		node.Restart(t)
	}))
	e.until(50, "work goes on with Redis")
	time.Sleep(5 * time.Second)
	cancel()
	leaving.Wait()
	e.judged("no Redis for 80 s; one is signed out, one dismissed", began)
}

// did writes down that somebody has to go.
func (e *expedition) did(kind campaign.Kind, of string, a *apitest.Answer) {
	e.fleet.t.Helper()
	require.Empty(e.fleet.t, a.Errors, "%s", a.Body)
	now := time.Now()
	e.history.Did(campaign.Operation{Kind: kind, User: "manager", Of: of, Began: now, Ended: now, Outcome: campaign.Acknowledged})
}

// campaignUnderFloods has thousands of subscriptions begin at once, again and again, and clients that read no answers.
func campaignUnderFloods(t *testing.T, binary string) {
	const sockets, each = 100, 20 // of a user: as many as are allowed
	began, node := time.Now(), embeddedtest.NewRedis(t)
	f := newFleetOn(t, 2, binary, node.URL())
	l := f.servers[0].queued(enough, 200, sockets)
	crowd := l.Labellers
	l.Labellers = l.Labellers[:8]
	e := newExpedition(t, f, l)
	e.begins(2, 3)
	flood := nobody(func() {
		var up sync.WaitGroup
		streams := make([]*apitest.Stream, sockets*each)
		ctx, cancel := context.WithTimeout(t.Context(), 2*apitest.Patience)
		defer cancel()
		asked := time.Now()
		for i := range streams {
			up.Go(func() { streams[i] = e.comesUp(ctx, f.servers[i%len(f.servers)].by(crowd[i/each])) })
		}
		up.Wait()
		t.Logf("%d subscriptions came up in %v", len(streams), time.Since(asked).Round(time.Millisecond))
		assert.Less(t, time.Since(asked), time.Minute)
		for _, s := range streams {
			if s != nil {
				s.Close()
			}
		}
	})
	silent := nobody(func() { e.readsNothing(f.servers[e.random.IntN(2)], crowd[20], 16, 10*time.Second) })
	e.goesWrong(60*time.Second, append(e.serversBreak()[:1], mishap{"2,000 subscriptions begin at once", flood}, mishap{"16 clients read nothing", silent}))
	e.judged("floods", began)
}

// comesUp subscribes until there is a snapshot, as clients do that come again after what passes; nil when the context ends first.
func (e *expedition) comesUp(ctx context.Context, who *apitest.Client) *apitest.Stream {
	for ctx.Err() == nil {
		s, err := who.Dial(ctx, nil, campaignEvents, apitest.Vars{"p": e.Crew.ID})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case _, open := <-s.Results:
			if open {
				return s
			}
			if err := endOf(s.Err); !errors.Is(err, campaign.ErrAgain) {
				assert.NoError(e.fleet.t, err)
				return nil
			}
		case <-ctx.Done():
		}
		s.Close()
	}
	return nil
}

// readsNothing asks for large answers over connections from which nothing is read.
func (e *expedition) readsNothing(s *server, who *apitest.Client, n int, long time.Duration) {
	t := e.fleet.t
	at := s.by(who)
	if e.large == "" {
		e.large = at.Must(`mutation($c: String!) { createNote(input: {title: "large", content: $c}) { note { id } } }`, apitest.Vars{"c": strings.Repeat("x", 300_000)}).Str("createNote.note.id")
	}
	var fields strings.Builder
	for i := range 50 {
		_, _ = fmt.Fprintf(&fields, "n%d: note(id: \\\"%s\\\") { content }", i, e.large)
	}
	body := `{"query": "{` + fields.String() + `}"}`
	var all []net.Conn
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.at(), "http://"))
		require.NoError(t, err)
		all = append(all, conn)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.at()+"/graphql", bytes.NewReader([]byte(body)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+who.Token)
		require.NoError(t, r.Write(conn))
	}
	time.Sleep(long)
	for _, conn := range all {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, conn, 1000)
		_ = conn.Close()
	}
}
