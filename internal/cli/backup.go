package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/backup"
)

type backupCommand struct {
	Directory string `arg:"" help:"Directory to write, which must not exist."`
}

// Help says what a backup has.
func (backupCommand) Help() string {
	return "It has the data of the embedded DynamoDB and S3, and the generated secret. A server may be running on the directory (TAGGIE_DATA)."
}

// Run takes a backup, whether a server is running or not.
func (c backupCommand) Run(ctx context.Context, t *Terminal) error {
	cfg, err := config.Load(t.Environ)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bar := newBar(t.Stderr, "Copying", progressbar.OptionShowBytes(true))
	m, err := backup.Take(ctx, backup.Options{
		Data: cfg.Data, Tables: cfg.EmbeddedDynamoDB(), Objects: cfg.EmbeddedS3(), Files: []string{app.SecretFile}, Version: t.version,
		Freezer:  func(pid int) *exec.Cmd { return exec.Command(self, "freeze", strconv.Itoa(pid)) }, //nolint:gosec // this program
		Progress: func(done int64) { _ = bar.Set64(done) },
	}, c.Directory)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Stdout, "%s has the %s of %s: %d files, %d bytes.\n", c.Directory, parts(m), m.TakenAt.Format(time.RFC3339), m.Files, m.Bytes)
	if err == nil && m.Waited > 0 {
		_, err = fmt.Fprintf(t.Stdout, "S3 stood still for %v.\n", m.Waited.Round(time.Millisecond))
	}
	return err
}

type restoreCommand struct {
	Directory string `arg:"" help:"Directory of the backup."`
}

// Help says where it goes.
func (restoreCommand) Help() string {
	return "It goes into the data directory (TAGGIE_DATA), which must not exist or be empty. A restore that was broken off can be run again."
}

// Run puts a backup into the data directory.
func (c restoreCommand) Run(ctx context.Context, t *Terminal) error {
	cfg, err := config.Load(t.Environ)
	if err != nil {
		return err
	}
	bar := newBar(t.Stderr, "Restoring", progressbar.OptionShowBytes(true))
	m, err := backup.Restore(ctx, c.Directory, cfg.Data, func(done int64) { _ = bar.Set64(done) })
	_ = bar.Finish()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Stdout, "%s has the %s of %s. Start the server; it rebuilds the queues.\n", cfg.Data, parts(m), m.TakenAt.Format(time.RFC3339))
	return err
}

// parts names what a backup has.
func parts(m backup.Manifest) string {
	switch {
	case !m.Objects:
		return "tables"
	case !m.Tables:
		return "objects"
	}
	return "tables and objects"
}

// freezeCommand has a process stand still for a backup, which starts it.
type freezeCommand struct {
	Process int `arg:""`
}

func (c freezeCommand) Run(t *Terminal) error { return backup.Freeze(c.Process, os.Stdin, t.Stdout) }
