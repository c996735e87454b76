package main

import (
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"time"
)

const (
	// bufferSize holds a whole request or answer, in most cases.
	bufferSize = 32 << 10
	// presenting is how long a connection has for its credential.
	presenting = 5 * time.Second
)

// serve forwards what connects, until the listener is closed.
func serve(listener net.Listener, s settings) {
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			go forward(conn, s)
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, for example
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// forward copies bytes in both directions until both have ended.
func forward(client net.Conn, s settings) {
	defer func() { _ = client.Close() }()
	if !admitted(client, s.credential) {
		return
	}
	engine, err := net.Dial("tcp", s.engine)
	if err != nil {
		return
	}
	defer func() { _ = engine.Close() }()
	// Who begins with a zero byte, with which no request does, gets the connection itself: nothing has to be copied then.
	first := make([]byte, bufferSize)
	n, err := client.Read(first)
	if err == nil && n == 1 && first[0] == 0 && handOver(client, engine) {
		return
	}
	if _, failed := engine.Write(first[:n]); err != nil || failed != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(engine, client)
	}()
	pass(client, engine)
	<-done
}

// admitted reads the credential that a connection has to begin with.
func admitted(client net.Conn, credential string) bool {
	if credential == "" {
		return true
	}
	if client.SetReadDeadline(time.Now().Add(presenting)) != nil {
		return false
	}
	shown := make([]byte, len(credential))
	if _, err := io.ReadFull(client, shown); err != nil || subtle.ConstantTimeCompare(shown, []byte(credential)) != 1 {
		return false
	}
	return client.SetReadDeadline(time.Time{}) == nil
}

// pass copies one direction, and tells the other side of its end. It reads and writes itself: io.Copy would splice through a pipe, which
// takes more system calls for the small messages that these are.
func pass(to, from net.Conn) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.Close() // nobody takes the rest
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
