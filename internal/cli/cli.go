// Package cli is the command line of the server and of the tools to run it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/config"
)

// Commands is the command line.
type Commands struct {
	Serve   ServeCommand   `cmd:"" default:"withargs" help:"Run the server (the default)."`
	Tables  tablesCommand  `cmd:"" help:"Make or check DynamoDB tables and the S3 bucket."`
	Token   TokenCommand   `cmd:"" help:"Print a token of the embedded issuer."`
	Demo    demoCommand    `cmd:"" help:"Load the demo data into the running server, and have a crew label some of it."`
	Export  exportCommand  `cmd:"" help:"Write the results of a project."`
	Rebuild RebuildCommand `cmd:"" help:"Rebuild queues and statistics of projects."`
	Backup  backupCommand  `cmd:"" help:"Copy the data of the embedded stores, also while the server is running."`
	Restore restoreCommand `cmd:"" help:"Put a backup into an empty data directory."`
	Check   CheckCommand   `cmd:"" help:"Look whether the data is whole."`
	Version versionCommand `cmd:"" help:"Print the version."`
	Picture pictureCommand `cmd:"" hidden:"" name:"thumbnail"`
	Freeze  freezeCommand  `cmd:"" hidden:""`
}

// Terminal is where commands read their settings and write their results.
type Terminal struct {
	Environ        []string
	version        string // of the program
	Stdout, Stderr io.Writer
}

// Main reads the command line, does what it asks for, and ends the process when that fails. The version is what the linker was told;
// without one it is what the Go tool knows.
func Main(version string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis.SetLogger(discard{})
	var c Commands
	parsed := kong.Parse(&c, kong.Name("taggie"), kong.ShortUsageOnError(),
		kong.Description("A GraphQL server for people who collect, annotate and label things together. Settings come from TAGGIE_ variables; see docs/configuration.md."))
	parsed.BindTo(ctx, (*context.Context)(nil))
	err := parsed.Run(&Terminal{Environ: os.Environ(), version: buildVersion(version), Stdout: os.Stdout, Stderr: os.Stderr})
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

func buildVersion(version string) string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
