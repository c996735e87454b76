package main

import (
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
)

// openMetadata opens where types, checksums and user metadata of objects are kept: files in a directory beside the objects.
// Extended attributes would appear together with the object, but a copy made with cp -r or tar loses them, and the data with
// them; and not every file system has room for them.
func openMetadata(dir string) (store meta.MetadataStorer, sidecar string, err error) {
	sidecar = filepath.Join(dir, "metadata")
	if err := os.MkdirAll(sidecar, 0o700); err != nil {
		return nil, "", err
	}
	store, err = meta.NewSideCar(sidecar)
	return store, sidecar, err
}
