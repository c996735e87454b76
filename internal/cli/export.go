package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
)

type exportCommand struct {
	Project string `required:"" help:"Id of the project, as the API gives it."`
	Format  string `enum:"jsonl,csv" default:"jsonl" help:"jsonl (JSON Lines) or csv."`
	Status  string `enum:",new,claimed,finished,skipped" default:"" help:"Only items of this status."`
	Output  string `short:"o" help:"File to write; standard output when left out."`
}

// formats are the names of formats on the command line.
var formats = map[string]project.Format{"jsonl": project.JSONLines, "csv": project.CSV}

// Run writes the results of a project, whether a server is running or not.
func (c exportCommand) Run(ctx context.Context, t *Terminal) error {
	id, err := gid.Parse(c.Project)
	if err != nil || id.Type != "Project" || len(id.Key) != 1 {
		return fmt.Errorf("%q is not the id of a project", c.Project)
	}
	return withStores(ctx, t, func(s *app.Stores) error {
		store := projects.Store{DB: s.DB}
		if _, errs := store.ProjectsByID(ctx, "", []project.ID{project.ID(id.Key[0])}); errors.Join(errs...) != nil {
			return errors.Join(errs...)
		}
		return c.write(t, func(w io.Writer, progress func(items int) error) (int, error) {
			return app.Exporter(store, s.Bucket, users.Store{DB: s.DB}).Write(ctx, w, project.ID(id.Key[0]), formats[c.Format], project.Status(strings.ToUpper(c.Status)), progress)
		})
	})
}

// write has the results written to the output, and shows how it goes on a terminal. A file that is there stays until the new one
// is complete.
func (c exportCommand) write(t *Terminal, results func(w io.Writer, progress func(items int) error) (int, error)) error {
	if c.Output == "" {
		w := bufio.NewWriter(t.Stdout)
		_, err := results(w, nil)
		return errors.Join(err, w.Flush())
	}
	out, err := openOutput(c.Output)
	if err != nil {
		return err
	}
	shown := io.Discard
	if stderr, ok := t.Stderr.(*os.File); ok && term.IsTerminal(int(stderr.Fd())) {
		shown = stderr
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(shown), progressbar.OptionSetDescription("Writing items"),
		progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0)) // else it has a goroutine, which races with what is set here
	w := bufio.NewWriter(out.file)
	n, err := results(w, bar.Set)
	if err := out.close(errors.Join(err, bar.Finish(), w.Flush())); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Stderr, "%d items in %s\n", n, c.Output)
	return err
}

// output is a file that is being written.
type output struct {
	file   *os.File
	target string // what the file is renamed to when it is complete; "" when that is not ours to replace
}

// openOutput opens a new file beside the path, or what is there when that is no regular file: a terminal, a pipe.
func openOutput(path string) (output, error) {
	mode := os.FileMode(0o666) // less what the user leaves out of new files
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		return output{file: file}, err
	case err == nil:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil { // a link goes on leading to the file
			return output{}, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return output{}, err
	}
	file, err := os.OpenFile(path+"."+rand.Text()[:8]+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return output{}, err
	}
	if info != nil {
		err = file.Chmod(mode)
	}
	o := output{file, path}
	if err != nil {
		return output{}, o.close(err)
	}
	return o, nil
}

// close puts the file where it belongs, or removes it when something failed.
func (o output) close(failed error) error {
	failed = errors.Join(failed, o.file.Close())
	if o.target == "" {
		return failed
	}
	if failed == nil {
		failed = os.Rename(o.file.Name(), o.target)
	}
	if failed != nil {
		failed = errors.Join(failed, os.Remove(o.file.Name()))
	}
	return failed
}
