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

// lockName is the file in a data directory that is locked.
const lockName = "lock"

// used reports whether a server has had the data directory.
func used(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, lockName))
	return err == nil
}

func lockDir(dir string) (*dirLock, error) {
	file, err := lockFile(filepath.Join(dir, lockName))
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
