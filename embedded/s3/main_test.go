package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
)

func TestServesUntilStandardInputEnds(t *testing.T) {
	t.Chdir(t.TempDir()) // the backend changes the working directory; this puts it back
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()

	in, stdin := io.Pipe()
	out, printed := io.Pipe()
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- run(context.Background(), settings{
			dir: dir, listen: address, region: "us-east-1",
			accessKey: "key", secretKey: "secret", dieWithStdin: true,
		}, in, printed)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "listening on "+address+"\n" {
		t.Fatalf("printed %q, %v", line, err)
	}
	resp, err := http.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an unsigned request: got %s, want 403", resp.Status)
	}
	_ = stdin.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still running")
	}
}

func TestRefusesToStart(t *testing.T) {
	whole := settings{dir: t.TempDir(), listen: "127.0.0.1:0", accessKey: "key", secretKey: "secret"}
	for name, spoil := range map[string]func(*settings){
		"no directory":       func(s *settings) { s.dir = "" },
		"no access key":      func(s *settings) { s.accessKey = "" },
		"no secret key":      func(s *settings) { s.secretKey = "" },
		"no address":         func(s *settings) { s.listen = "" },
		"every interface":    func(s *settings) { s.listen = ":0" },
		"another interface":  func(s *settings) { s.listen = "192.0.2.1:80" },
		"a name, not a loop": func(s *settings) { s.listen = "example.com:80" },
	} {
		s := whole
		spoil(&s)
		if err := run(context.Background(), s, nil, io.Discard); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestMetadataIsKeptInFiles(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // a second start finds it again
		store, sidecar, err := openMetadata(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := store.(meta.SideCar); !ok || sidecar != filepath.Join(dir, "metadata") {
			t.Errorf("got %T in %q", store, sidecar)
		}
	}
}
