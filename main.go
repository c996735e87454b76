// Command taggie is the Taggie server and the tools to run it.
//
// main.go reads the command line, commands.go has the short commands, server.go
// wires the rooms of the server, queues.go the labelling of projects and what runs for it, and stores.go opens what they keep their
// data in. No rule of the domain is here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/config"
)

// version is set by the linker; a plain `go build` tells what the Go tool knows.
var version string

// commands is the command line.
type commands struct {
	Serve   serveCommand   `cmd:"" default:"withargs" help:"Run the server (the default)."`
	Tables  tablesCommand  `cmd:"" help:"Make or check DynamoDB tables and the S3 bucket."`
	Token   tokenCommand   `cmd:"" help:"Print a token of the embedded issuer."`
	Demo    demoCommand    `cmd:"" help:"Load the demo data into the running server, and have a crew label some of it."`
	Export  exportCommand  `cmd:"" help:"Write the results of a project."`
	Rebuild rebuildCommand `cmd:"" help:"Make queue and statistics of projects anew."`
	Version versionCommand `cmd:"" help:"Print the version."`
	Picture pictureCommand `cmd:"" hidden:"" name:"thumbnail"`
}

// terminal is where commands read their settings and write their results.
type terminal struct {
	environ        []string
	stdout, stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis.SetLogger(discard{})
	var c commands
	parsed := kong.Parse(&c, kong.Name("taggie"), kong.ShortUsageOnError(),
		kong.Description("A GraphQL server for people who collect, annotate and label things together. Settings come from TAGGIE_ variables; see docs/configuration.md."))
	parsed.BindTo(ctx, (*context.Context)(nil))
	err := parsed.Run(&terminal{environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(1)
	}
}

// discard is the log of the Redis client, which has a form of its own. Whoever asked Redis something gets an error as well.
type discard struct{}

// Printf drops the line.
func (discard) Printf(context.Context, string, ...any) {}

// explain puts every problem of the settings on a line of its own.
func explain(err error) string {
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return "taggie: these settings are wrong:\n" + wrong.Error()
	}
	return "taggie: " + err.Error()
}
