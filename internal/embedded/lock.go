package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errLocked is what the lock of each operating system says when another process holds it.
var errLocked = errors.New("held by another process")

// dirLock keeps a data directory to one server. The operating system drops it when the process ends,
// however that happens, and the engines do not inherit it.
type dirLock struct{ file *os.File }

// DataLock is the file in a data directory that is locked.
const DataLock = "lock"

// used reports whether a server has had the data directory.
func used(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, DataLock))
	return err == nil
}

// Lock keeps a data directory to the caller, as a server does with [DataLock], and returns what releases it. [ErrInUse] when another process
// has it.
func Lock(dir, name string) (release func() error, err error) {
	file, err := lockFile(filepath.Join(dir, name))
	if errors.Is(err, errLocked) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: lock the data directory: %w", err)
	}
	return file.Close, nil
}

func lockDir(dir string) (*dirLock, error) {
	file, err := lockFile(filepath.Join(dir, DataLock))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%w %s; stop that one, or give this one a data directory of its own", ErrInUse, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: lock the data directory: %w", err)
	}
	return &dirLock{file}, nil
}

func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("embedded: unlock the data directory: %w", err)
	}
	return nil
}
