package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/taggie/taggie/internal/embedded"
)

// Restore puts a backup into a data directory that does not exist or is empty, or into which an earlier Restore was broken off. Until all is
// there, no server starts on the directory.
func Restore(ctx context.Context, from, data string, progress func(done int64)) (Manifest, error) {
	m, sums, err := read(from)
	if err != nil {
		return Manifest{}, fmt.Errorf("%s is no complete backup: %w", from, err)
	}
	if from, err = filepath.EvalSymlinks(from); err != nil {
		return Manifest{}, err
	}
	if err := apart(from, data); err != nil { // before anything is made there
		return Manifest{}, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return Manifest{}, err
	}
	if err := errors.Join(apart(data, from), mayRestore(data)); err != nil {
		return Manifest{}, err
	}
	unlock, err := embedded.Lock(data, embedded.DataLock)
	if err != nil {
		return Manifest{}, err
	}
	if err = mayRestore(data); err == nil { // a server may have come and gone
		err = restore(ctx, from, data, sums, progress)
	}
	return m, errors.Join(err, unlock())
}

// read returns what a backup says of itself.
func read(from string) (m Manifest, sums map[string]string, err error) {
	text, err := os.ReadFile(filepath.Join(from, manifestFile))
	if err != nil {
		return m, nil, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, nil, err
	}
	if m.Format != format {
		return m, nil, fmt.Errorf("it has format %d, and this version of Taggie reads format %d", m.Format, format)
	}
	text, err = os.ReadFile(filepath.Join(from, sumsFile))
	if err != nil {
		return m, nil, err
	}
	sums = map[string]string{}
	for line := range strings.Lines(string(text)) {
		hash, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return m, nil, fmt.Errorf("%s names %q", sumsFile, path)
		}
		sums[path] = hash
	}
	if len(sums) != m.Files {
		return m, nil, fmt.Errorf("%s lists %d files of %d", sumsFile, len(sums), m.Files)
	}
	return m, sums, nil
}

// mayRestore refuses a directory that has data.
func mayRestore(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == embedded.DataLock })
	if len(entries) == 0 {
		return nil
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == embedded.RestoringFile }) {
		return nil
	}
	return fmt.Errorf("%s is not empty; restore into a new directory (TAGGIE_DATA)", data)
}

func restore(ctx context.Context, from, data string, sums map[string]string, progress func(int64)) error {
	marker := filepath.Join(data, embedded.RestoringFile)
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return err
	}
	if err := errors.Join(removeOthers(data), syncDir(data)); err != nil {
		return err
	}
	c := copying{ctx: ctx, progress: progress}
	if err := c.tree(from, data, data); err != nil {
		return err
	}
	for _, name := range []string{manifestFile, sumsFile} { // they are of the backup
		if err := os.Remove(filepath.Join(data, name)); err != nil {
			return err
		}
	}
	for _, s := range c.sums {
		if s.path == manifestFile || s.path == sumsFile {
			continue
		}
		hash, listed := sums[s.path]
		if !listed || hash != s.hash {
			return fmt.Errorf("%s is not as it was written: the backup is damaged", s.path)
		}
		delete(sums, s.path)
	}
	for path := range sums {
		return fmt.Errorf("%s is missing: the backup is damaged", path)
	}
	if err := syncTree(data); err != nil {
		return err
	}
	if err := os.Remove(marker); err != nil {
		return err
	}
	return syncDir(data)
}

// removeOthers removes what a Restore left that was broken off.
func removeOthers(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != embedded.RestoringFile && e.Name() != embedded.DataLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(data, e.Name())))
		}
	}
	return err
}
