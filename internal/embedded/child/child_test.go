//go:build unix

package child

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, out *bytes.Buffer, name string, args ...string) *Process {
	t.Helper()
	p, err := Start(exec.Command(name, args...), out)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestOutputIsCompleteWhenTheProcessIsDone(t *testing.T) {
	var out bytes.Buffer
	p := start(t, &out, "sh", "-c", "echo one; echo two >&2; exit 3")
	<-p.Done()
	assert.Equal(t, "one\ntwo\n", out.String())
	assert.ErrorContains(t, p.Err(), "exit status 3")
}

func TestAPoliteProcessIsNotKilled(t *testing.T) {
	printed, out := io.Pipe()
	p, err := Start(exec.Command("sh", "-c", "trap '' TERM; echo ready; cat; echo good bye"), out) // ends with its standard input
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	lines := bufio.NewScanner(printed)
	require.True(t, lines.Scan()) // before that, the signal might arrive before the trap
	stopped := make(chan error)
	go func() { stopped <- p.Stop(t.Context()) }()
	require.True(t, lines.Scan())
	assert.Equal(t, "good bye", lines.Text())
	require.NoError(t, <-stopped)
	require.NoError(t, p.Stop(t.Context()), "twice")
	assert.NoError(t, p.Err())
}

func TestAStubbornProcessIsKilled(t *testing.T) {
	var out bytes.Buffer
	p := start(t, &out, "sh", "-c", "trap '' TERM; exec sleep 600 </dev/null")
	// Until sh has become sleep, the signal might arrive before the trap.
	require.Eventually(t, func() bool {
		line, _ := CommandLine(p.cmd.Process.Pid)
		return line == "sleep 600"
	}, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Stop(ctx), context.DeadlineExceeded)
	assert.ErrorContains(t, p.Err(), "killed")
}

func TestAProgramThatDoesNotExist(t *testing.T) {
	_, err := Start(exec.Command("/nowhere/at/all"), &bytes.Buffer{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A pid file that was copied with its directory, and the id of a process that is used again, end nobody.
func TestAChildOfAnEarlierRunIsEndedAndAStrangerIsNot(t *testing.T) {
	for name, change := range map[string]func(*remembered){
		"ours":                        func(*remembered) {},
		"another program":             func(r *remembered) { r.command = "sleep 601" },
		"another start":               func(r *remembered) { r.started = "1" },
		"a file of another directory": func(r *remembered) { r.directory = identity(os.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			left := start(t, &bytes.Buffer{}, "sleep", "600")
			pids := PidFile(filepath.Join(t.TempDir(), "pid"))
			require.NoError(t, pids.Write(left))
			r, ok := pids.read()
			require.True(t, ok)
			change(&r)
			require.NoError(t, pids.write(r))
			require.NoError(t, pids.EndStale(t.Context()))
			assert.NoFileExists(t, string(pids))
			_, runs := CommandLine(left.cmd.Process.Pid)
			assert.Equal(t, name != "ours", runs)
		})
	}
}

func TestARenamedDirectoryKeepsItsProcesses(t *testing.T) {
	left := start(t, &bytes.Buffer{}, "sleep", "600")
	before, after := filepath.Join(t.TempDir(), "before"), filepath.Join(t.TempDir(), "after")
	require.NoError(t, os.Mkdir(before, 0o700))
	require.NoError(t, PidFile(filepath.Join(before, "pid")).Write(left))
	require.NoError(t, os.Rename(before, after))
	require.NoError(t, PidFile(filepath.Join(after, "pid")).EndStale(t.Context()))
	_, runs := CommandLine(left.cmd.Process.Pid)
	assert.False(t, runs)
}

func TestADamagedPidFileKillsNobody(t *testing.T) {
	for _, text := range []string{"", "12", "x\n1\n1:1\ny\n", "1\n1\n1:1\ninit\n", "-1\n1\n1:1\nsleep 600\n", "4000\n1\n1:1\nsleep 600", "4000\nsleep 600\n", "4000\n\n1:1\nsleep 600\n", "4000\n1\n\nsleep 600\n"} {
		pids := PidFile(filepath.Join(t.TempDir(), "pid"))
		require.NoError(t, os.WriteFile(string(pids), []byte(text), 0o600))
		_, _, ok := pids.Read()
		assert.False(t, ok, "%q", text)
		require.NoError(t, pids.EndStale(t.Context()))
		assert.NoFileExists(t, string(pids))
	}
}

func ExampleStart() {
	p, err := Start(exec.Command("echo", "hello"), os.Stdout)
	if err != nil {
		panic(err)
	}
	<-p.Done()
	// Output: hello
}
