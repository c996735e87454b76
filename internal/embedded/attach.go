package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taggie/taggie/internal/embedded/child"
)

// ErrInUse says that another process has the data directory.
var ErrInUse = errors.New("another server is using the data directory")

// addressesFile tells commands that run beside the server where its engines listen.
const addressesFile = "engines.json"

// announce writes where the engines listen. They stay there as long as the server runs.
func announce(dir string, addresses map[string]string) error {
	data, err := json.Marshal(addresses)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := writeFile(filepath.Join(dir, addressesFile), append(data, '\n')); err != nil {
		return fmt.Errorf("embedded: say where the engines listen: %w", err)
	}
	return nil
}

// forget removes what an earlier server announced, or the one whose directory this is a copy of: a command must not take its
// engines for ours.
func forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, addressesFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("embedded: forget where the engines of an earlier server listened: %w", err)
	}
	return nil
}

// Attach returns the engines of the server that has the data directory, for a command that runs beside it. To stop them
// ends nothing. It is to be called after [Start] failed with [ErrInUse].
func Attach(dir string) (*Engines, error) {
	data, err := os.ReadFile(filepath.Join(dir, addressesFile))
	if err != nil {
		return nil, fmt.Errorf("embedded: find the engines of the server that is running: %w", err)
	}
	var addresses map[string]string
	if err := json.Unmarshal(data, &addresses); err != nil {
		return nil, fmt.Errorf("embedded: find the engines of the server that is running: %w", err)
	}
	keys, err := loadCredentials(dir)
	if err != nil {
		return nil, err
	}
	e := &Engines{failed: make(chan error), unlock: func() error { return nil }}
	e.fillIn(dir, addresses, keys)
	return e, nil
}

// Running returns the process id of an engine of the server that has the data directory, and false if it does not run.
func Running(dir, engine string) (pid int, running bool) { return pidFile(dir, engine).Running() }

func pidFile(dir, engine string) child.PidFile {
	return child.PidFile(filepath.Join(dir, engine+".pid"))
}
