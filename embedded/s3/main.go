// Command taggie-s3 is the embedded S3 engine: versitygw's POSIX backend on one directory.
//
// It knows the S3 protocol and a directory. It must not know Taggie's domain, and the server must not import
// it: the gateway brings client libraries for LDAP, Vault, Kafka and more, and changes the working directory
// of its process. Start reading at [run]; internal/embedded starts it as a child process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

// The gateway's bounds. One server on one machine stays far below them; they only keep a runaway client
// from taking all file descriptors.
const (
	maxConnections = 4096
	maxRequests    = 2048
	maxParts       = 10_000  // as on S3
	maxCopy        = 5 << 30 // as on S3; the zero value would refuse every copy
)

type settings struct {
	dir, listen, region  string
	accessKey, secretKey string
	dieWithStdin         bool
}

func main() {
	s := settings{
		// Credentials come by environment: every user of the machine can read the flags of a process.
		accessKey: os.Getenv("TAGGIE_S3_ACCESS_KEY"),
		secretKey: os.Getenv("TAGGIE_S3_SECRET_KEY"),
	}
	flag.StringVar(&s.dir, "dir", "", "directory of the data, made if it does not exist")
	flag.StringVar(&s.listen, "listen", "", "loopback address to listen on, as host:port")
	flag.StringVar(&s.region, "region", "us-east-1", "region that signatures are checked for")
	flag.BoolVar(&s.dieWithStdin, "die-with-stdin", false, "stop when standard input ends, as it does when the parent dies")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "taggie-s3 serves S3 on loopback. Its environment has to have TAGGIE_S3_ACCESS_KEY and TAGGIE_S3_SECRET_KEY, by which requests are signed.")
		flag.PrintDefaults()
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "taggie-s3:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or, when asked to, until stdin ends. It prints the address once it listens there.
func run(ctx context.Context, s settings, stdin io.Reader, out io.Writer) error {
	if s.dir == "" {
		return errors.New("-dir is missing")
	}
	if s.accessKey == "" || s.secretKey == "" {
		return errors.New("TAGGIE_S3_ACCESS_KEY and TAGGIE_S3_SECRET_KEY must be set")
	}
	if err := checkLoopback(s.listen); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.dieWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}

	// The backend changes the working directory, so that everything below must be absolute.
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	objects := filepath.Join(dir, "objects")
	if err := os.MkdirAll(objects, 0o700); err != nil {
		return err
	}
	metadata, sidecar, err := openMetadata(dir)
	if err != nil {
		return err
	}
	options := posix.PosixOpts{
		SideCarDir:          sidecar,
		ValidateBucketNames: true,
		CopyObjectThreshold: maxCopy,
	}
	options.SetNewDirPerm(0o700)
	options.SetNewFilePerm(0o600)
	backend, err := posix.New(objects, metadata, options)
	if err != nil {
		return fmt.Errorf("open %s: %w", objects, err)
	}
	return embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
		RootUserAccess:    s.accessKey,
		RootUserSecret:    s.secretKey,
		Region:            s.region,
		Ports:             []string{s.listen},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		KeepAlive:         true,
		Quiet:             true,
		S3Options: []s3api.Option{s3api.WithOnListen(func() {
			fmt.Fprintln(out, "listening on", s.listen)
		})},
	})
}

// checkLoopback refuses addresses that other machines can reach: the engine serves plain HTTP.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("-listen %s: %w", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("-listen %s: only a loopback address such as 127.0.0.1 is allowed", address)
	}
	return nil
}
