// Command taggie-redis is the embedded Redis engine: miniredis behind a loopback port.
//
// It knows the Redis protocol and keeps everything in memory: what Taggie keeps in Redis can be rebuilt. It
// must not know Taggie's domain, and the server must not import it. Start reading at [run]; internal/embedded
// starts it as a child process.
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
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how late a key may expire. Each tick walks all keys that have a time to live.
const tick = 250 * time.Millisecond

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback address to listen on, as host:port")
	dieWithStdin := flag.Bool("die-with-stdin", false, "stop when standard input ends, as it does when the parent dies")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var stdin io.Reader
	if *dieWithStdin {
		stdin = os.Stdin
	}
	// The password comes by environment: every user of the machine can read the flags of a process.
	if err := run(ctx, *listen, os.Getenv("TAGGIE_REDIS_PASSWORD"), stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "taggie-redis:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or, when stdin is given, until stdin ends. It prints the address it listens on.
func run(ctx context.Context, listen, password string, stdin io.Reader, out io.Writer) error {
	if password == "" {
		return errors.New("TAGGIE_REDIS_PASSWORD must be set")
	}
	if err := checkLoopback(listen); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stdin != nil {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}

	server := miniredis.NewMiniRedis()
	server.RequireAuth(password)
	if err := server.StartAddr(listen); err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	defer server.Close()
	fmt.Fprintln(out, "listening on", server.Addr())

	// Times to live stand still in miniredis unless somebody moves them on.
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			server.FastForward(now.Sub(last)) // what really passed: ticks are late or lost under load
			last = now
		}
	}
}

// checkLoopback refuses addresses that other machines can reach: the engine has one password and no TLS.
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
