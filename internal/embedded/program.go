package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// program is one kind of engine: what its binary is called, how it is started, and how one knows that it answers.
type program struct {
	name, title      string // "dynamodb", "DynamoDB"
	file             string // the binary's name, without .exe
	path             string // where it was found
	npmScope         string // the scope of the npm packages that carry the binary, or ""
	binaryVariable   string // variables that error texts recommend; the server reads them, this package does not
	endpointVariable string
	endsWithStdin    bool // ends by itself when its standard input does
	arguments        func(dir, address string) []string
	environment      func(credentials) []string
	probe            func(ctx context.Context, at Endpoint) error
	gate             string // where the gate in front of it was found; "" for a program that checks who asks
}

// TablesPath and ObjectsPath are where the embedded DynamoDB and S3 keep their data, in the data directory.
const (
	TablesPath  = DynamoDB + "/tables.db" // a SQLite database
	ObjectsPath = S3                      // a directory
)

// All three programs print a line with this word once they hold their port. Together with an answer on
// the port that makes certain that nobody else snatched the port between its choice and its use.
const announcement = "listening on"

func dynamoProgram(inMemory bool) program {
	return program{
		name: DynamoDB, title: "DynamoDB", file: "dynoxide", npmScope: "@dynoxide",
		binaryVariable: "TAGGIE_ENGINE_DYNAMODB", endpointVariable: "AWS_ENDPOINT_URL_DYNAMODB",
		arguments: func(dir, address string) []string {
			host, port, _ := net.SplitHostPort(address)
			args := []string{"serve", "--host", host, "--port", port}
			if !inMemory {
				args = append(args, "--db-path", filepath.Join(dir, filepath.Base(TablesPath)))
			}
			return args
		},
		environment: func(credentials) []string { return nil },
		probe: func(ctx context.Context, at Endpoint) error {
			return probeHTTP(ctx, at, http.StatusOK, "healthy")
		},
	}
}

func s3Program() program {
	return program{
		name: S3, title: "S3", file: "taggie-s3",
		binaryVariable: "TAGGIE_ENGINE_S3", endpointVariable: "AWS_ENDPOINT_URL_S3",
		endsWithStdin: true,
		arguments: func(dir, address string) []string {
			return []string{"-dir", dir, "-listen", address, "-region", region, "-die-with-stdin"}
		},
		environment: func(keys credentials) []string {
			return []string{"TAGGIE_S3_ACCESS_KEY=" + keys.AccessKey, "TAGGIE_S3_SECRET_KEY=" + keys.SecretKey}
		},
		probe: func(ctx context.Context, at Endpoint) error {
			return probeHTTP(ctx, at, http.StatusForbidden, "AccessDenied") // unsigned, so refused, but in S3's words
		},
	}
}

func redisProgram() program {
	return program{
		name: Redis, title: "Redis", file: "taggie-redis",
		binaryVariable: "TAGGIE_ENGINE_REDIS", endpointVariable: "TAGGIE_REDIS_URL",
		endsWithStdin: true,
		arguments:     func(_, address string) []string { return []string{"-listen", address, "-die-with-stdin"} },
		environment: func(keys credentials) []string {
			return []string{"TAGGIE_REDIS_PASSWORD=" + keys.RedisPassword}
		},
		probe: probeRedis,
	}
}

// probeTimeout bounds one question; a starting engine is asked again.
const probeTimeout = 2 * time.Second

func probeHTTP(ctx context.Context, at Endpoint, status int, text string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL+"/", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: at.Dial} // also: no proxy for loopback, nothing left open
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode != status || !strings.Contains(string(body), text) {
		return fmt.Errorf("unexpected answer %s: %.100q", resp.Status, body)
	}
	return nil
}

func probeRedis(ctx context.Context, at Endpoint) error {
	address, err := url.Parse(at.URL)
	if err != nil {
		return err
	}
	password, _ := address.User.Password()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n*1\r\n$4\r\nPING\r\n", len(password), password); err != nil {
		return err
	}
	lines := bufio.NewScanner(conn)
	for _, want := range []string{"+OK", "+PONG"} {
		if !lines.Scan() {
			return errors.Join(errors.New("no answer"), lines.Err())
		}
		if lines.Text() != want {
			return fmt.Errorf("unexpected answer %.100q", lines.Text())
		}
	}
	return nil
}
