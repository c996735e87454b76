package apitest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// AsServer makes the test binary the server: a process that can be killed, of the code that is tested.
const AsServer = "TEST_BINARY_IS_THE_SERVER"

// Main runs the tests of a package, in the root of the module, and then what cleans up after them. Its binary is the server where a test
// starts it as one.
func Main(m *testing.M, after ...func()) {
	if len(os.Args) > 1 && os.Args[1] == "thumbnail" { // servers start it to decode images
		cli.Main("")
		return
	}
	if os.Getenv(AsServer) != "" {
		limitFiles(os.Getenv(WithFilesUpTo))
		if ahead := os.Getenv(WithClockAhead); ahead != "" {
			serveAhead(ahead)
			return
		}
		os.Args = []string{os.Args[0], "serve", "--no-demo"}
		cli.Main("")
		return
	}
	if err := toRoot(); err != nil {
		panic(err)
	}
	// The parallel ones wait for engines and leases more than for a processor.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code := m.Run() // parses the flags, so the command line has the last word
	for _, f := range after {
		f()
	}
	os.Exit(code)
}

// toRoot changes to the root of the module.
func toRoot() error {
	for {
		if _, err := os.Stat("go.mod"); err == nil {
			return nil
		}
		before, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
		if after, err := os.Getwd(); err != nil || after == before {
			return fmt.Errorf("no go.mod above: %w", err)
		}
	}
}

// StartProcess starts the server as a process of its own and waits until it is ready. The returned function kills it.
func StartProcess(t *testing.T, env []string, addr string) (s *Server, kill func()) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	s = &Server{T: t, URL: "http://" + addr, Logs: &LockedBuffer{}}
	command := exec.Command(binary)
	command.Env = slices.Concat(os.Environ(), []string{"TAGGIE_OPERATION_TIMEOUT=" + OperationTimeout.String()}, env, []string{AsServer + "=yes", "TAGGIE_ADDR=" + addr})
	command.Stdout, command.Stderr = s.Logs, s.Logs
	require.NoError(t, command.Start())
	kill = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(kill)
	require.Eventually(t, func() bool {
		resp, err := http.Get(s.URL + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "%s", s.Logs)
	return s, kill
}

// WithFilesUpTo bounds the files that a server of [StartProcess] may make, in bytes.
const WithFilesUpTo = "TEST_BINARY_WITH_FILES_UP_TO"

// WithClockAhead is how far the clock of a server is ahead, as a duration; behind when it is negative.
const WithClockAhead = "TEST_BINARY_WITH_CLOCK_AHEAD"

// serveAhead runs the server with a clock that is off, and ends the process when that fails.
func serveAhead(ahead string) {
	d, err := time.ParseDuration(ahead)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = app.Serve(ctx, app.Serving{Environ: os.Environ(), Stderr: os.Stderr, Now: func() time.Time { return time.Now().Add(d) }})
		stop()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "taggie:", err)
		os.Exit(1)
	}
}

// Remote returns settings that take the test engines for the cloud's.
func Remote(t *testing.T) []string {
	t.Helper()
	tables := "r" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	embeddedtest.DropTables(t, tables)
	return RemoteAt(t, tables, embeddedtest.DynamoDB(t), embeddedtest.S3(t), embeddedtest.Redis(t))
}

// RemoteAt returns settings that take these engines for the cloud's, for tables whose names have the prefix.
func RemoteAt(t *testing.T, tables string, db, s3, redis embedded.Endpoint) []string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3.AccessKey) // the SDK reads credentials by itself; this DynamoDB checks none
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3.SecretKey)
	return []string{
		"AWS_REGION=" + s3.Region, "AWS_ENDPOINT_URL_DYNAMODB=" + db.URL, "AWS_ENDPOINT_URL_S3=" + s3.URL,
		"TAGGIE_S3_BUCKET=b" + strings.ReplaceAll(uuid.NewString(), "-", ""), "TAGGIE_REDIS_URL=" + redis.URL,
		"TAGGIE_TABLE_PREFIX=" + tables,
		"TAGGIE_SECRET=" + strings.Repeat("secret", 8), "TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ALLOWED_ORIGINS=https://app.example.com",
	}
}

// Run runs a command with these settings besides those of the test, and returns what it wrote.
func Run(t *testing.T, env []string, command func(context.Context, *cli.Terminal) error) (string, error) {
	t.Helper()
	out := &LockedBuffer{}
	err := command(t.Context(), &cli.Terminal{Environ: env, Stdout: out, Stderr: &LockedBuffer{}})
	return out.String(), err
}

// FreePort returns an address that nothing listens on. It is not one of those that the kernel hands out, which somebody else could
// get before it is used.
func FreePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(20_000+rand.IntN(12_000)))
		if err == nil {
			require.NoError(t, listener.Close())
			return listener.Addr().String()
		}
	}
	require.FailNow(t, "no port is free")
	return ""
}
