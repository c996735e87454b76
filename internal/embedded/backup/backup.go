// Package backup copies the data of the embedded stores while a server uses them, and puts copies back.
//
// It knows the files of the embedded DynamoDB and S3, and how both stand still at one moment. It must not know what is kept in them. Start
// reading at [Take] and [Restore].
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/taggie/taggie/internal/embedded"
)

// Options says what to copy.
type Options struct {
	Data            string   // the data directory
	Tables, Objects bool     // whether DynamoDB and S3 are embedded
	Files           []string // other files of the directory, such as the secret; one that is not there is left out
	Version         string   // of the program
	// Freezer returns the command that calls [Freeze] for a process.
	Freezer func(pid int) *exec.Cmd
	// Progress, if set, is told how many bytes are copied.
	Progress func(done int64)
}

// Manifest describes a backup. It is the file backup.json of it.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	TakenAt time.Time `json:"taken_at"`
	Tables  bool      `json:"tables"`
	Objects bool      `json:"objects"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	// Waited is for how long S3 stood still.
	Waited time.Duration `json:"-"`
}

// The names in a backup. Tables and objects lie where they lie in a data directory. The sums have the format of sha256sum.
const (
	manifestFile = "backup.json"
	sumsFile     = "SHA256SUMS"
	format       = 1
)

// linksDir is where a backup that is being taken has links to the objects, in the data directory: links cannot lead to another file system.
const linksDir = ".backup-links"

// ErrInProgress says that there can be only one backup at a time.
var ErrInProgress = errors.New("another backup of the data directory is in progress")

// Take writes a backup of the data directory to the target, which must not exist. It is there only when it is complete. Tables and objects
// are those of one moment, so that each object of which a row tells is there. Where a server is running, its S3 stands still for that moment,
// for at most [Longest]; its DynamoDB does not.
func Take(ctx context.Context, o Options, target string) (Manifest, error) {
	if !o.Tables && !o.Objects {
		return Manifest{}, errors.New("neither DynamoDB nor S3 is embedded: back them up where they are (docs/operating.md)")
	}
	if _, err := os.Stat(o.Data); err != nil {
		return Manifest{}, fmt.Errorf("there is no data directory: %w", err)
	}
	target = filepath.Clean(target)
	if _, err := os.Lstat(target); err == nil {
		return Manifest{}, fmt.Errorf("%s is there already; name a new directory", target)
	}
	if err := apart(o.Data, filepath.Dir(target)); err != nil {
		return Manifest{}, err
	}
	release, err := embedded.Lock(o.Data, "backup.lock")
	if errors.Is(err, embedded.ErrInUse) {
		return Manifest{}, ErrInProgress
	}
	if err != nil {
		return Manifest{}, err
	}
	links := filepath.Join(o.Data, linksDir)
	m, err := o.take(ctx, links, target)
	return m, errors.Join(err, os.RemoveAll(links), release())
}

func (o Options) take(ctx context.Context, links, target string) (m Manifest, err error) {
	if err := os.RemoveAll(links); err != nil { // of a backup that was broken off
		return Manifest{}, err
	}
	part := target + ".part"
	if err := os.Mkdir(part, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s is what an earlier backup left that was broken off; remove it", part)
		}
		return Manifest{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	held, m, err := o.hold(links)
	if err != nil {
		return Manifest{}, err
	}
	c := copying{ctx: ctx, progress: o.Progress}
	if held != nil {
		path := filepath.Join(part, embedded.TablesPath)
		err = errors.Join(os.Mkdir(filepath.Dir(path), 0o700), held.copyTo(&c, path))
		if err = errors.Join(err, held.close()); err != nil {
			return Manifest{}, fmt.Errorf("copy the tables: %w", err)
		}
		if err := c.add(part, embedded.TablesPath); err != nil {
			return Manifest{}, err
		}
	}
	if o.Objects {
		if err := c.tree(links, filepath.Join(part, embedded.ObjectsPath), part); err != nil {
			return Manifest{}, fmt.Errorf("copy the objects: %w", err)
		}
	}
	for _, name := range o.Files {
		err := c.file(filepath.Join(o.Data, name), filepath.Join(part, name), part)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Manifest{}, err
		}
	}
	m.Format, m.Version, m.Tables, m.Objects, m.Files, m.Bytes = format, o.Version, o.Tables, o.Objects, len(c.sums), c.bytes
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = errors.Join(writeSynced(filepath.Join(part, sumsFile), c.list()), writeSynced(filepath.Join(part, manifestFile), append(text, '\n')))
	}
	if err == nil {
		err = syncTree(part)
	}
	if err == nil {
		err = os.Rename(part, target)
	}
	if err == nil {
		err = syncDir(filepath.Dir(target))
	}
	return m, err
}

// apart refuses a directory that is the other one, or in it. The inner one need not be there.
func apart(outer, inner string) error {
	outer, err := resolved(outer)
	if err != nil {
		return err
	}
	if inner, err = resolved(inner); err != nil {
		return err
	}
	if relative, err := filepath.Rel(outer, inner); err == nil && filepath.IsLocal(relative) {
		return fmt.Errorf("a backup and a data directory cannot be in one another: %s is in %s", inner, outer)
	}
	return nil
}

// resolved returns where a path leads, without links as far as it is there.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		found, err = resolved(parent)
		return filepath.Join(found, filepath.Base(path)), err
	}
	return found, err
}

// hold has tables and objects be held as they are at one moment: the tables by a transaction, the objects by links. It returns the tables,
// nil where they are not embedded.
func (o Options) hold(links string) (held *tables, m Manifest, err error) {
	source := filepath.Join(o.Data, embedded.ObjectsPath)
	if o.Objects {
		if err := link(source, links); err != nil { // most, so that there is less to do while S3 stands still
			return nil, m, fmt.Errorf("link the objects: %w", err)
		}
	}
	moment := func() (err error) {
		m.TakenAt = time.Now().UTC().Truncate(time.Millisecond)
		if o.Tables {
			if held, err = pin(filepath.Join(o.Data, embedded.TablesPath)); err != nil {
				return fmt.Errorf("read the tables: %w", err)
			}
		}
		if o.Objects {
			if err := link(source, links); err != nil {
				return fmt.Errorf("link the objects: %w", err)
			}
		}
		return nil
	}
	defer func() {
		if err != nil && held != nil {
			err = errors.Join(err, held.close())
		}
	}()
	unlock, err := embedded.Lock(o.Data, embedded.DataLock)
	switch {
	case err == nil: // nobody is running, and nobody starts meanwhile
		err = errors.Join(moment(), unlock())
		return held, m, err
	case !errors.Is(err, embedded.ErrInUse):
		return nil, m, err
	case !o.Objects:
		err = moment()
		return held, m, err
	}
	pid, running := embedded.Running(o.Data, embedded.S3)
	if !running {
		return nil, m, errors.New("the embedded S3 of the server does not run; try again when it does")
	}
	began := time.Now()
	err = frozen(pid, o.Freezer(pid), moment)
	m.Waited = time.Since(began)
	return held, m, err
}
