package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain also plays the program behind the gate: it sends back in capitals what comes.
func TestMain(m *testing.M) {
	address := os.Getenv("TEST_PROGRAM_AT")
	if address == "" || len(os.Args) < 2 || os.Args[1] != "program" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		os.Exit(7)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(8)
		}
		go func() {
			all, _ := io.ReadAll(conn) // ends when the client has said everything
			_, _ = conn.Write(bytes.ToUpper(all))
			_ = conn.Close()
		}()
	}
}

// gate starts a gate before the program and returns its socket.
func gate(t *testing.T, credential string) (socket string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	t.Setenv("TEST_PROGRAM_AT", address)
	socket = filepath.Join(t.TempDir(), "socket")
	if err := os.WriteFile(socket, nil, 0o600); err != nil { // left by a gate that was killed
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stdin, held := io.Pipe()
	t.Cleanup(func() { _ = held.Close() })
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, settings{socket: socket, engine: address, credential: credential, command: []string{os.Args[0], "program"}}, stdin, out)
		_ = out.Close()
	}()
	if _, err := printed.Read(make([]byte, 100)); err != nil {
		t.Fatal(err, <-ended)
	}
	stop = func() error { cancel(); return <-ended }
	return socket, stop
}

func ask(t *testing.T, socket, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func TestBytesAreCopied(t *testing.T) {
	socket, stop := gate(t, "")
	long := strings.Repeat("some bytes ", 100_000)
	if got := ask(t, socket, long); got != strings.ToUpper(long) {
		t.Errorf("got %d bytes", len(got))
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
}

func TestTheCredentialIsTakenOff(t *testing.T) {
	socket, stop := gate(t, "secret")
	for text, want := range map[string]string{"secrethello": "HELLO", "secret": "", "Secrethello": "", "secre": "", "hello secret": ""} {
		if got := ask(t, socket, text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestTheGateEndsWithItsProgram(t *testing.T) {
	err := run(context.Background(), settings{socket: filepath.Join(t.TempDir(), "socket"), engine: "127.0.0.1:1", command: []string{os.Args[0], "-no-such-flag"}}, endless{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("got %v", err)
	}
}

// endless is the standard input of a process whose parent lives.
type endless struct{}

func (endless) Read([]byte) (int, error) { select {} }
