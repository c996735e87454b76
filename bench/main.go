// Command bench compares Taggie with a handler that somebody wrote by hand for the same three questions, with a floor that
// does nothing else (floor), and with a server for Node (peers).
//
// It knows the questions, a DynamoDB that costs next to nothing (table.go, engine.go), the hand-written handler
// (handwritten.go, rows.go), and how to measure a process from outside. It must not know how Taggie answers: the server
// under test is the program that users run, in a process of its own with one core, and so is the handler. Start
// reading at [compare]; docs/performance.md says what the numbers mean.
//
// It also compares an import of items with a bare loop that writes the same rows (imports*.go), both in this process and
// into an embedded engine: start reading at [compareImports].
//
// And it measures how events of a project reach thousands of subscribers (subscribers*.go): start reading at [measureSubscribers].
//
// It compares labellers who claim and finish items with the bare transactions of that, and with changes of notes (claims*.go):
// start reading at [compareClaims].
//
// It measures how long the first answer takes after a start (starts.go): start reading at [measureStarts].
//
// And it compares searches of tags among few with those among many (tags.go): start reading at [compareTags].
//
// And it measures what a normal client notices of hostile ones (hostile*.go): start reading at [measureSiege].
//
// A benchmark is never a test: it fails when the two answers differ, not when one is slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

type options struct {
	runs        int
	measure     time.Duration // of each question at each server, in one run
	warmUp      time.Duration
	connections int
	delay       time.Duration
	server      string        // the program of Taggie
	profile     time.Duration // of Taggie, for each question in one run; 0 for none

	baseline, writeBaseline string // files

	profiles    string // directory for CPU and allocation profiles; "" for none
	items       int    // of an import; 0 for no imports
	inMemory    bool   // the engine of imports
	subscribers int    // of one project; 0 for none
	tags        int    // to search; 0 for none
	claims      int    // labellers; 0 for none
	starts      int    // of the server; 0 for none

	hostile, hostileUsers int           // connections, and of whom; 0 for none
	hostileKind           string        // what the names of those that are measured contain
	siege                 time.Duration // how long each kind is measured
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx)
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 3, "how often everything is measured")
	flags.DurationVar(&o.measure, "measure", 8*time.Second, "how long each query is measured at each server; 0 leaves queries out")
	flags.DurationVar(&o.profile, "profile", 5*time.Second, "how long Taggie is profiled for each query, in whole seconds; 0 leaves the shares of rooms out")
	flags.StringVar(&o.baseline, "baseline", "", "compare queries with this file, which -write-baseline wrote")
	flags.StringVar(&o.writeBaseline, "write-baseline", "", "write what was measured of queries into this file")
	flags.IntVar(&o.items, "items", 5_000, "items of each import; 0 leaves imports out")
	flags.BoolVar(&o.inMemory, "in-memory", false, "imports go into an engine that keeps its tables in memory, not on disk")
	flags.IntVar(&o.subscribers, "subscribers", 5_000, "how many listen to one project; 0 leaves subscribers out")
	flags.IntVar(&o.tags, "tags", 200_000, "tags to search, compared with 2,000; 0 leaves tags out")
	flags.IntVar(&o.starts, "starts", 11, "how often the server is started on existing data; 0 leaves starts out")
	flags.IntVar(&o.claims, "claims", 100, "how many claim and finish items of one project, and change notes; 0 leaves them out")
	flags.IntVar(&o.hostile, "hostile", 16, "connections of hostile clients; 0 leaves them out")
	flags.IntVar(&o.hostileUsers, "hostile-users", 2, "whose these connections are")
	flags.StringVar(&o.hostileKind, "hostile-kind", "", "measure only kinds with this in their names")
	flags.DurationVar(&o.siege, "siege", 5*time.Second, "how long a normal client is watched beside each kind of hostile ones")
	flags.DurationVar(&o.warmUp, "warm-up", 300*time.Millisecond, "how long the load runs before each of the five turns in which that is measured")
	flags.IntVar(&o.connections, "connections", 32, "connections of the load, each with one request at a time")
	flags.DurationVar(&o.delay, "delay", 2*time.Millisecond, "what DynamoDB takes for each call")
	flags.StringVar(&o.server, "server", "bin/taggie", "the server's program, as make build makes it")
	flags.StringVar(&o.profiles, "profiles", "", "directory in which profiles of Taggie are kept, CPU and allocations")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return errors.New("only Linux is supported: CPU time and memory are read from /proc")
	}
	if o.measure > 0 {
		if err := compare(ctx, o); err != nil {
			return err
		}
	}
	if o.items > 0 {
		if err := compareImports(ctx, o); err != nil {
			return err
		}
	}
	if o.starts > 0 {
		if err := measureStarts(ctx, o); err != nil {
			return err
		}
	}
	if o.claims > 0 {
		if err := compareClaims(ctx, o); err != nil {
			return err
		}
	}
	if o.tags > 0 {
		if err := compareTags(ctx, o); err != nil {
			return err
		}
	}
	if o.subscribers > 0 {
		if err := measureSubscribers(ctx, o); err != nil {
			return err
		}
	}
	if o.hostile > 0 {
		return measureSiege(ctx, o)
	}
	return nil
}
