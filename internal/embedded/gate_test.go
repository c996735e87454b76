//go:build linux

package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/child"
)

// programOf returns the process behind a gate.
func programOf(t *testing.T, gate int) int {
	t.Helper()
	children, err := os.ReadFile("/proc/" + strconv.Itoa(gate) + "/task/" + strconv.Itoa(gate) + "/children")
	require.NoError(t, err)
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(gate) + "/task/*/children")
	require.NoError(t, err)
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		children = append(children, more...)
	}
	words := strings.Fields(string(children))
	require.NotEmpty(t, words, "the gate has a program")
	pid, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	return pid
}

// listeners returns the TCP sockets that listen in the network of a process, as lines of the kernel's table.
func listeners(t *testing.T, pid string) (found []string) {
	t.Helper()
	for _, table := range []string{"tcp", "tcp6"} {
		file, err := os.Open("/proc/" + pid + "/net/" + table)
		require.NoError(t, err)
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if words := strings.Fields(lines.Text()); len(words) > 9 && words[3] == "0A" {
				found = append(found, words[1]+" inode "+words[9])
			}
		}
		require.NoError(t, file.Close())
	}
	return found
}

func TestDynamoDBIsInANetworkOfItsOwn(t *testing.T) {
	o := Options{Dir: t.TempDir(), DynamoDB: true}
	e := start(t, o)
	require.NotEmpty(t, e.DynamoDB.Socket)
	assert.Empty(t, e.DynamoDB.Credential)
	makeTable(t, dynamoClient(t, e.DynamoDB))

	conn, err := e.DynamoDB.Dial(t.Context(), "", "")
	require.NoError(t, err)
	assert.Equal(t, "tcp", conn.RemoteAddr().Network(), "one into that network, of which nobody copies anything")
	require.NoError(t, conn.Close())
	copied := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", e.DynamoDB.Socket)
	}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.DynamoDB.URL, nil)
	require.NoError(t, err)
	response, err := copied.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode, "other programs of the owner use the socket as it is")

	gate := pidOf(t, o.Dir, DynamoDB)
	program := programOf(t, gate)
	inside := listeners(t, strconv.Itoa(program))
	assert.Len(t, inside, 1, "nothing else is in there")
	here := listeners(t, "self")
	for _, listener := range inside {
		assert.NotContains(t, here, listener, "pages and other users have this network")
	}
	ours, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	its, err := os.Readlink("/proc/" + strconv.Itoa(program) + "/ns/net")
	require.NoError(t, err)
	assert.NotEqual(t, ours, its)
}

func TestOnlyTheOwnerOpensTheSocket(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dynamodb"), 0o755)) // by an earlier version, or a copy
	e := start(t, Options{Dir: dir, DynamoDB: true})
	for path, want := range map[string]os.FileMode{filepath.Dir(e.DynamoDB.Socket): 0o700, e.DynamoDB.Socket: 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), "%s", path)
	}
	if os.Geteuid() != 0 {
		return // nobody else can be asked to try
	}
	for parent := e.DynamoDB.Socket; len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
		if parent != e.DynamoDB.Socket && parent != filepath.Dir(e.DynamoDB.Socket) {
			require.NoError(t, os.Chmod(parent, 0o755)) // even so
		}
	}
	stranger := exec.CommandContext(t.Context(), "curl", "-sS", "--unix-socket", e.DynamoDB.Socket, "http://localhost/")
	out, err := stranger.CombinedOutput()
	require.NoError(t, err, "%s", out) // root may
	stranger = exec.CommandContext(t.Context(), "curl", "-sS", "--unix-socket", e.DynamoDB.Socket, "http://localhost/")
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err = stranger.CombinedOutput()
	require.Error(t, err, "%s", out)
}

// Where there is no namespace, a page or a user that finds the gate's socket still needs the credential.
func TestTheGateAsksForACredentialWhereThereIsNoNamespace(t *testing.T) {
	o := Options{Dir: t.TempDir(), DynamoDB: true, open: true}
	e := start(t, o)
	require.NotEmpty(t, e.DynamoDB.Credential)
	makeTable(t, dynamoClient(t, e.DynamoDB))
	command, err := Attach(o.Dir)
	require.NoError(t, err)
	assert.Equal(t, e.DynamoDB, command.DynamoDB)

	for name, credential := range map[string]string{"none": "", "a wrong one": strings.Repeat("0", len(e.DynamoDB.Credential)), "too short": "0"} {
		conn, err := net.Dial("unix", e.DynamoDB.Socket)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = io.WriteString(conn, credential+"GET / HTTP/1.1\r\nHost: localhost\r\nX-Padding: "+strings.Repeat("0", 100)+"\r\n\r\n")
		require.NoError(t, err)
		answer, _ := io.ReadAll(conn)
		assert.Empty(t, answer, name)
		require.NoError(t, conn.Close())
	}
	host, _, err := net.SplitHostPort(e.running[0].address)
	require.NoError(t, err)
	assert.NotEqual(t, "127.0.0.1", host, "the address is hard to find")
	assert.True(t, net.ParseIP(host).IsLoopback())
}

// In a user namespace that may have no network namespaces, as in many containers.
func TestRefusedNamespacesAreDoneWithout(t *testing.T) {
	dir := t.TempDir()
	shell := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c", `echo 0 >/proc/sys/user/max_net_namespaces && exec "$0"`, os.Args[0])
	shell.Env = append(os.Environ(), orphanVariable+"="+dir)
	stdout, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	t.Cleanup(func() { _ = shell.Process.Kill(); _ = shell.Wait() })
	var e Engines
	require.NoError(t, json.NewDecoder(stdout).Decode(&e))
	require.NotEmpty(t, e.DynamoDB.Credential)
	makeTable(t, dynamoClient(t, e.DynamoDB))
}

// Who is not root is root of a namespace of users instead.
func TestOtherUsersGetANetworkNamespaceToo(t *testing.T) {
	if os.Geteuid() != 0 {
		return // then all tests are of this
	}
	sources, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "taggie-user-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	for from, to := range map[string]string{os.Args[0]: "tests", filepath.Join(sources, "bin/taggie-gate"): "taggie-gate", filepath.Join(sources, "embedded/dynamodb/node_modules/@dynoxide", npmPlatform("linux", "amd64"), "dynoxide"): "dynoxide",
		filepath.Join(sources, "bin/taggie-s3"): "taggie-s3", filepath.Join(sources, "bin/taggie-redis"): "taggie-redis"} {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), content, 0o755))
	}
	data := filepath.Join(dir, "data")
	require.NoError(t, os.Mkdir(data, 0o700))
	require.NoError(t, os.Chown(data, 65534, 65534))
	user := exec.Command(filepath.Join(dir, "tests"))
	user.Dir, user.Env = dir, append(os.Environ(), orphanVariable+"="+data)
	user.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	stdout, err := user.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, user.Start())
	t.Cleanup(func() { _ = user.Process.Kill(); _ = user.Wait() })
	var e Engines
	require.NoError(t, json.NewDecoder(stdout).Decode(&e))
	assert.NotEmpty(t, e.DynamoDB.Socket)
	assert.Empty(t, e.DynamoDB.Credential, "there is a namespace")
	makeTable(t, dynamoClient(t, e.DynamoDB))
	info, err := os.Stat(filepath.Join(data, "dynamodb", "tables.db"))
	require.NoError(t, err)
	assert.EqualValues(t, 65534, info.Sys().(*syscall.Stat_t).Uid, "files belong to the user")
}

func TestALongPathHasASocketToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("a", 100), strings.Repeat("b", 100))
	e := start(t, Options{Dir: dir, DynamoDB: true})
	require.Greater(t, len(e.DynamoDB.Socket), longestSocket)
	makeTable(t, dynamoClient(t, e.DynamoDB))
}

// The program dies with its gate, and the gate with its program.
func TestTheGateAndItsProgramEndTogether(t *testing.T) {
	o := Options{Dir: t.TempDir(), DynamoDB: true}
	e := start(t, o)
	makeTable(t, dynamoClient(t, e.DynamoDB))
	for _, kill := range []func(gate, program int) int{
		func(gate, _ int) int { return gate },
		func(_, program int) int { return program },
	} {
		gate := pidOf(t, o.Dir, DynamoDB)
		program := programOf(t, gate)
		require.NoError(t, syscall.Kill(kill(gate, program), syscall.SIGKILL))
		require.Eventually(t, func() bool { return !runs(gate) && !runs(program) }, 10*time.Second, 5*time.Millisecond)
		require.Eventually(t, func() bool {
			pid, _, ok := child.PidFile(filepath.Join(o.Dir, "dynamodb.pid")).Read()
			return ok && pid != gate && e.running[0].answers(t.Context()) == nil
		}, 20*time.Second, 10*time.Millisecond)
		put(t, dynamoClient(t, e.DynamoDB), "again")
	}
	gate := pidOf(t, o.Dir, DynamoDB)
	program := programOf(t, gate)
	require.NoError(t, stop(e))
	assert.False(t, runs(gate) || runs(program))
	assert.NoFileExists(t, e.DynamoDB.Socket)
}

// Web pages send requests to any address; what S3 and Redis do with them is refuse them.
func TestPagesGetNothingFromTheOtherEngines(t *testing.T) {
	e := start(t, Options{Dir: t.TempDir(), S3: true, Redis: true})
	transport := &http.Transport{DisableKeepAlives: true}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodOptions} {
		request, err := http.NewRequestWithContext(t.Context(), method, e.S3.URL+"/bucket", strings.NewReader("x"))
		require.NoError(t, err)
		request.Header.Set("Origin", "https://page.example")
		request.Header.Set("Access-Control-Request-Method", "GET")
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.GreaterOrEqual(t, response.StatusCode, 400, method)
		assert.Empty(t, response.Header.Get("Access-Control-Allow-Origin"), method)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	options, err := redis.ParseURL(e.Redis.URL)
	require.NoError(t, err)
	options.Username, options.Password = "", ""
	anonymous := redisAs(t, *options)
	for _, command := range [][]any{{"PING"}, {"SET", "a", "b"}, {"EVAL", "return 1", "0"}, {"FLUSHALL"}, {"SUBSCRIBE", "a"}} {
		assert.Error(t, anonymous.Do(ctx, command...).Err(), "%s", command)
	}
}
