package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// start runs the engine with a password and returns its address, the writing end of its standard input and
// the channel of its result.
func start(t *testing.T) (address string, stdin io.Closer, done <-chan error) {
	t.Helper()
	in, stdin := io.Pipe()
	out, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(context.Background(), "127.0.0.1:0", "secret", in, printed) }()
	t.Cleanup(func() { _ = stdin.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read the address: %v", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), stdin, ended
}

// ask sends one inline command over conn and returns the first line of the answer.
func ask(t *testing.T, conn net.Conn, command string) string {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(line)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func TestWantsThePassword(t *testing.T) {
	address, _, _ := start(t)
	conn := dial(t, address)
	if got := ask(t, conn, "*1\r\n$4\r\nPING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("PING without a password: got %q, want -NOAUTH…", got)
	}
	if got := ask(t, conn, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret"); got != "+OK" {
		t.Errorf("AUTH: got %q, want +OK", got)
	}
}

func TestKeysExpireByThemselves(t *testing.T) {
	address, _, _ := start(t)
	conn := dial(t, address)
	ask(t, conn, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret")
	ask(t, conn, "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nPX\r\n$3\r\n300")
	if got := ask(t, conn, "*2\r\n$6\r\nEXISTS\r\n$1\r\nk"); got != ":1" {
		t.Fatalf("EXISTS at once: got %q, want :1", got)
	}
	for ask(t, conn, "*2\r\n$6\r\nEXISTS\r\n$1\r\nk") != ":0" { // the deadline of conn ends this when keys never expire
		time.Sleep(10 * time.Millisecond)
	}
}

func TestStopsWhenStandardInputEnds(t *testing.T) {
	_, stdin, done := start(t)
	_ = stdin.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("got %v, want nil", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
}

func TestRefusesWhatOthersCanReach(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:6379", "localhost:0"} {
		if err := checkLoopback(address); err == nil {
			t.Errorf("%s was accepted", address)
		}
	}
	if err := run(context.Background(), "127.0.0.1:0", "", nil, io.Discard); err == nil {
		t.Error("an empty password was accepted")
	}
}
