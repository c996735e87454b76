package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copying is the state of a copy: what was written so far.
type copying struct {
	ctx      context.Context
	progress func(int64)
	done     int64 // bytes that progress was told
	bytes    int64 // of the files in sums
	sums     []sum
}

// sum is the checksum of a file.
type sum struct {
	path string // in the backup, with slashes
	hash string
}

// passed counts bytes, and returns why to stop.
func (c *copying) passed(n int64) error {
	c.done += n
	if c.progress != nil {
		c.progress(c.done)
	}
	return context.Cause(c.ctx)
}

// Write counts what is copied.
func (c *copying) Write(p []byte) (int, error) { return len(p), c.passed(int64(len(p))) }

// file copies a file to a new one for its owner alone, and notes its checksum below the root. What is appended meanwhile is left out.
func (c *copying) file(from, to, root string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash, c), io.LimitReader(in, info.Size()))
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.note(root, to, n, hash.Sum(nil))
}

// add notes the checksum of a file that is there.
func (c *copying) add(root, path string) error {
	file, err := os.Open(filepath.Join(root, path))
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return c.note(root, filepath.Join(root, path), n, hash.Sum(nil))
}

func (c *copying) note(root, path string, n int64, hash []byte) error {
	relative, err := filepath.Rel(root, path)
	c.bytes += n
	c.sums = append(c.sums, sum{filepath.ToSlash(relative), hex.EncodeToString(hash)})
	return err
}

// tree copies a directory with all that is in it.
func (c *copying) tree(from, to, root string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type().IsRegular():
			return c.file(path, target, root)
		}
		return neither(path)
	})
}

// neither refuses what a copy would not have: a link to another disk, for example.
func neither(path string) error {
	return fmt.Errorf("%s is neither a file nor a directory, and cannot be copied", path)
}

// list returns the checksums in the format of sha256sum.
func (c *copying) list() []byte {
	slices.SortFunc(c.sums, func(a, b sum) int { return strings.Compare(a.path, b.path) })
	var text strings.Builder
	for _, s := range c.sums {
		fmt.Fprintf(&text, "%s  %s\n", s.hash, s.path)
	}
	return []byte(text.String())
}

// link makes the target show the files of the source: it links those that the target does not have, and removes those that the source has no
// longer. Files of the embedded S3 never change: it writes another one and renames it. One that is gone before it is linked is left out.
func link(source, target string) error {
	kept := map[string]bool{}
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unlessGone(err)
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, relative)
		kept[to] = true
		switch {
		case entry.IsDir():
			return os.MkdirAll(to, 0o700)
		case entry.Type().IsRegular():
			return unlessGone(linkFile(path, to))
		}
		return neither(path)
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || kept[path]:
			return err
		case entry.IsDir():
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		}
		return os.Remove(path)
	})
}

func linkFile(from, to string) error {
	err := os.Link(from, to)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	source, err := os.Lstat(from)
	if err != nil {
		return err
	}
	linked, err := os.Lstat(to)
	if err != nil || os.SameFile(source, linked) {
		return err
	}
	return errors.Join(os.Remove(to), os.Link(from, to))
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// escaped spells a path so that SQLite takes it as the path of a file URI.
func escaped(path string) string { return (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() }

func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncTree has the disk keep all directories of a tree, and with them the names of their files.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDir(path)
	})
}
