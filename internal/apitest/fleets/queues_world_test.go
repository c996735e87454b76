package fleets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// fleet is several servers, each a process of its own, on the same stores. Redis is the test's own: it can be flushed.
type fleet struct {
	t       *testing.T
	binary  string
	env     []string
	local   *auth.Local
	redis   *redis.Client      // nil when there are several
	engine  *embedded.Endpoint // of DynamoDB; nil for that of the tests
	prefix  string             // of the tables
	web     *http.Client
	servers []*server
	emails  string // what the addresses of users begin with
}

// server is a place in a fleet: a process, which may be killed and followed by another one.
type server struct {
	*fleet
	number int
	ahead  time.Duration // of its clock, from when it is started next

	mu      sync.Mutex
	url     string // of the process that is there, or was there last
	command *exec.Cmd
	ended   chan error              // what the process ended with
	logs    []*apitest.LockedBuffer // of all its processes
}

// newFleet starts n servers on tables, a bucket and a Redis of their own: with the race detector as the tests have it.
func newFleet(t *testing.T, n int) *fleet {
	t.Helper()
	return newFleetOnItself(t, n, embeddedtest.RealRedis(t).URL)
}

// newFleetOnItself starts n servers of the program that the tests are, on a Redis.
func newFleetOnItself(t *testing.T, n int, redisURL string) *fleet {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	return newFleetOn(t, n, binary, redisURL)
}

// newFastFleet starts servers without the race detector, with which they take ten times as long for everything.
func newFastFleet(t *testing.T, n int) *fleet {
	t.Helper()
	return newFleetOn(t, n, fastBinary(t), embeddedtest.RealRedis(t).URL)
}

// fastDirectory has the server without the race detector, once it is built.
var fastDirectory string

var buildFast = sync.OnceValues(func() (out []byte, err error) {
	if fastDirectory, err = os.MkdirTemp("", "taggie-"); err != nil {
		return nil, err
	}
	// As the Makefile does it, so that there is less to compile.
	return exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(fastDirectory, "taggie"), ".").CombinedOutput()
})

// fastBinary returns the server without the race detector.
func fastBinary(t *testing.T) string {
	t.Helper()
	out, err := buildFast()
	require.NoError(t, err, "%s", out)
	return filepath.Join(fastDirectory, "taggie")
}

// newFleetOn starts n servers of this program on a Redis, a Redis Cluster or Sentinels.
func newFleetOn(t *testing.T, n int, binary, redisURL string) *fleet {
	t.Helper()
	return newFleetWith(t, n, binary, redisURL, apitest.Remote(t))
}

// newFleetWith starts n servers of this program on a Redis, with these settings besides.
func newFleetWith(t *testing.T, n int, binary, redisURL string, env []string) *fleet {
	t.Helper()
	env = append(env, "TAGGIE_REDIS_URL="+redisURL)
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	cfg, err := config.Load(append(env, "TAGGIE_ADDR=127.0.0.1:0"))
	require.NoError(t, err)
	local, err := app.LocalIssuer(cfg) // the servers share the directory of the secret, and nothing else in it
	require.NoError(t, err)
	f := fleetOf(t, local, cfg.TablePrefix)
	f.binary, f.env = binary, env
	if options, err := redis.ParseURL(redisURL); err == nil {
		f.redis = redis.NewClient(options)
		t.Cleanup(func() { assert.NoError(t, f.redis.Close()) })
	}
	for i := range n {
		s := &server{fleet: f, number: i}
		f.servers = append(f.servers, s)
		t.Cleanup(s.finally)
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i, s := range f.servers {
		all.Go(func() { errs[i] = s.start() })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return f
}

// fleetOf is a fleet that has no servers yet.
func fleetOf(t *testing.T, local *auth.Local, prefix string) *fleet {
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	t.Cleanup(transport.CloseIdleConnections)
	return &fleet{
		t: t, local: local, prefix: prefix, web: &http.Client{Transport: transport, Timeout: 20 * time.Second}, // longer than an operation may take
	}
}

// listening is how a server's log tells where it listens.
var listening = regexp.MustCompile(`msg=listening url=(http://\S+)`)

// start starts a process, and returns when it is ready.
func (s *server) start() error {
	command := exec.Command(s.binary, "serve", "--no-demo")
	command.Env = append(append(os.Environ(), s.env...), apitest.AsServer+"=yes", "TAGGIE_ADDR=127.0.0.1:0")
	if s.ahead != 0 {
		command.Env = append(command.Env, apitest.WithClockAhead+"="+s.ahead.String())
	}
	logs := &apitest.LockedBuffer{}
	command.Stdout, command.Stderr = logs, logs
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	s.mu.Lock()
	s.command, s.ended, s.logs = command, ended, append(s.logs, logs)
	s.mu.Unlock()
	for end := time.Now().Add(apitest.Patience); time.Now().Before(end); {
		if said := listening.FindStringSubmatch(logs.String()); said != nil {
			s.mu.Lock()
			s.url = said[1]
			s.mu.Unlock()
			if s.ready() {
				return nil
			}
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("server %d ended at once: %w\n%s", s.number, err, s.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("server %d is not ready: %s", s.number, s.tail())
}

func (s *server) ready() bool {
	response, err := s.web.Get(s.at() + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// at returns the URL of the server.
func (s *server) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// kill ends the process without a warning, and waits until it is gone.
func (s *server) kill() error { return s.end(syscall.SIGKILL) }

// end sends a signal to the process, and returns what it ended with.
func (s *server) end(signal syscall.Signal) error {
	s.mu.Lock()
	command, ended := s.command, s.ended
	s.mu.Unlock()
	if command == nil {
		return nil
	}
	_ = command.Process.Signal(signal) // it may have ended already
	select {
	case err := <-ended:
		ended <- err
		return err
	case <-time.After(apitest.Patience):
		return fmt.Errorf("server %d does not end: %s", s.number, s.tail())
	}
}

// finally ends the server, and looks at what it said about itself.
func (s *server) finally() {
	_ = s.kill()
	for _, one := range s.logs {
		logs := one.String()
		for _, bad := range []string{"DATA RACE", "panic", "fatal error"} {
			if at := strings.Index(logs, bad); at >= 0 {
				assert.Fail(s.t, fmt.Sprintf("server %d said: %s", s.number, bad), logs[max(0, at-200):min(len(logs), at+6000)])
			}
		}
	}
	if dir := historyDirectory(s.t); dir != "" {
		for i, one := range s.logs {
			name := fmt.Sprintf("%s-server%d-%d.log", strings.ReplaceAll(s.t.Name(), "/", "-"), s.number, i+1)
			assert.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte(one.String()), 0o600))
		}
	}
	if s.t.Failed() {
		s.t.Logf("server %d ended with: %s", s.number, s.tail())
	}
}

// routine is what a server's log says of every request.
var routine = regexp.MustCompile(`(?m)^.* msg=(request|"socket (operation|closed)") .* (outcome=ok|code=10\d\d|status=101) .*\n`)

// tail is the end of what the log of the last process says besides that.
func (s *server) tail() string {
	s.mu.Lock()
	all := s.logs
	s.mu.Unlock()
	if len(all) == 0 {
		return "nothing"
	}
	logs := routine.ReplaceAllString(all[len(all)-1].String(), "")
	return logs[max(0, len(logs)-8000):]
}

// user signs a user up.
func (s *server) user(email string) *apitest.Client {
	s.t.Helper()
	return (&apitest.Server{T: s.t, URL: s.at(), Local: s.local, Logs: &apitest.LockedBuffer{}}).User(s.emails + email)
}

// by returns the same user at this server.
func (s *server) by(c *apitest.Client) *apitest.Client {
	return &apitest.Client{Server: &apitest.Server{T: s.t, URL: s.at(), Local: s.local, Logs: &apitest.LockedBuffer{}}, Token: c.Token, ID: c.ID}
}

// ask sends a request, and reads data into the given value. The error says that there was no answer. Unlike [apitest.Client.Do] it can be
// called from any goroutine, and servers may be away.
func (s *server) ask(ctx context.Context, token, query string, v apitest.Vars, data any) ([]apitest.Error, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at()+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := s.web.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	a := struct {
		Data   any
		Errors []apitest.Error
	}{Data: data}
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("%w: status %d, %.200s", err, response.StatusCode, text)
	}
	return a.Errors, nil
}

// queued makes a project of n items with that many labellers in one team, and waits until its queue is as full as it can be.
func (s *server) queued(items, size, labellers int) apitest.Crew {
	s.t.Helper()
	l := s.user("manager@example.com").Project("Birds")
	l.Must(`mutation($p: ID!, $n: Int!) { updateProject(input: {projectId: $p, queueSize: $n}) { project { id } } }`, apitest.Vars{"p": l.ID, "n": size})
	l.Team = l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")
	for i := range labellers {
		u := s.user(fmt.Sprintf("labeller%d@example.com", i))
		l.Labellers = append(l.Labellers, u)
		l.Must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } problem { __typename } } }`, apitest.Vars{"t": l.Team, "u": u.ID})
	}
	text := apitest.Lines(0, items)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(s.t, http.StatusOK, upload(text))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	require.Eventually(s.t, func() bool { return l.AnImport(id).Str("state") == "DONE" }, 3*apitest.Patience, 50*time.Millisecond, "%s", s.tail())
	require.Eventually(s.t, func() bool {
		q := now(l, s)
		return q.Counts.Total == items && q.Queued == min(items, size)
	}, apitest.Patience, 50*time.Millisecond, "the queue is not filled: %s", s.tail())
	return l
}

// queueNow is what a client sees of a queue.
type queueNow struct {
	Cursor string
	Counts struct{ Total, New, Claimed, Finished, Skipped, Remaining int }
	Queued int
	Size   int
	Paused bool
}

// readQueue asks for all of it.
const readQueue = `query($p: ID!) { project(id: $p) { queue { cursor counts { total new claimed finished skipped remaining } queued size paused } } }`

// wrong says what cannot be so in a queue, "" for nothing.
func (q queueNow) wrong() string {
	c := q.Counts
	switch {
	case c.New+c.Claimed+c.Finished+c.Skipped != c.Total, c.New+c.Claimed != c.Remaining:
		return "the counts do not add up"
	case q.Queued > q.Size:
		return "more are queued than may be"
	}
	return ""
}

// now reads the queue, which has to be there.
func now(l apitest.Crew, s *server) queueNow {
	l.T.Helper()
	q, errs, err := look(l, l.T.Context(), s)
	require.NoError(l.T, err)
	require.Empty(l.T, errs)
	require.NotNil(l.T, q)
	require.Empty(l.T, q.wrong(), "%+v", *q)
	return *q
}

// look reads the queue at a server, nil when it is not there.
func look(l apitest.Crew, ctx context.Context, s *server) (*queueNow, []apitest.Error, error) {
	var data struct{ Project *struct{ Queue *queueNow } }
	errs, err := s.ask(ctx, l.Token, readQueue, apitest.Vars{"p": l.ID}, &data)
	if err != nil || data.Project == nil {
		return nil, errs, err
	}
	return data.Project.Queue, errs, nil
}

// unfollowed is how many transitions of all projects the queues have not followed yet.
func (f *fleet) unfollowed() int {
	f.t.Helper()
	left, err := f.truth().ListOutbox(f.t.Context(), time.Now().Add(time.Hour), 100_000)
	require.NoError(f.t, err)
	return len(left)
}

// truth reads what is stored, past all servers and all faults.
func (f *fleet) truth() truth.Store {
	f.t.Helper()
	return truth.Store{Store: projects.Store{DB: f.tables()}}
}

// tables are those of the fleet, past all servers and all faults.
func (f *fleet) tables() *dynamo.DB {
	f.t.Helper()
	if f.engine == nil {
		shared := embeddedtest.DynamoDB(f.t)
		f.engine = &shared
	}
	client, err := awsclient.DynamoDB(f.t.Context(), app.EmbeddedClient(*f.engine))
	require.NoError(f.t, err)
	return dynamo.New(dynamo.Options{Client: client, TablePrefix: f.prefix})
}
