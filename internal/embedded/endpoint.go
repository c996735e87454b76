package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"path/filepath"
	"strings"
)

// Endpoint is where an engine answers, and what to sign in with.
type Endpoint struct {
	// URL is http://127.0.0.1:port for S3, redis://:password@127.0.0.1:port/0 for Redis, and empty for an engine that was not
	// started. It stays the same when an engine is started again. With a Socket, its host means nothing.
	URL string
	// Socket is the Unix socket by which DynamoDB is reached, with [Endpoint.Dial]; "" where the URL says it all.
	Socket string
	// Credential is what a connection to the socket begins with, or "".
	Credential string
	// AccessKey and SecretKey sign requests to DynamoDB (which does not check them) and S3.
	AccessKey, SecretKey string
	// Region is what S3 checks signatures for.
	Region string
}

// An address is host:port, or one of these and the path of a socket in the data directory.
const (
	socketPrefix = "unix:" // whoever may open it is let in
	gatePrefix   = "gate:" // a connection begins with the credential
)

// endpoint describes the engine that listens at the address.
func endpoint(name, dir, address string, keys credentials) Endpoint {
	if name == Redis {
		return Endpoint{URL: "redis://:" + keys.RedisPassword + "@" + address + "/0"}
	}
	e := Endpoint{URL: "http://" + address, AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, Region: region}
	for _, prefix := range []string{socketPrefix, gatePrefix} {
		if path, ok := strings.CutPrefix(address, prefix); ok {
			e.URL, e.Socket = "http://localhost", filepath.Join(dir, filepath.FromSlash(path)) // no proxy is asked for localhost
		}
	}
	if strings.HasPrefix(address, gatePrefix) {
		e.Credential = keys.gate()
	}
	return e
}

// gate returns the credential of the gate, which is made of another one: directories of earlier versions have none.
func (c credentials) gate() string {
	sum := sha256.Sum256([]byte("taggie gate " + c.SecretKey))
	return hex.EncodeToString(sum[:])
}

// Dial connects to the engine, as net.Dialer does; where there is a socket, network and address mean nothing.
func (e Endpoint) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if e.Socket == "" {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	conn, err := dialSocket(ctx, e.Socket)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Write([]byte(e.Credential)); err == nil {
		conn, err = direct(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
