package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
)

// chooseMetadata decides where types, checksums and user metadata of objects are kept. Extended attributes
// are preferred: they appear together with the object. Where the file system has none, files in a directory
// beside the objects take their place, and once chosen that directory is kept, or its objects would lose
// their metadata when the data moves to another file system.
func chooseMetadata(dir string) (store meta.MetadataStorer, sidecar string, err error) {
	sidecar = filepath.Join(dir, "metadata")
	_, err = os.Stat(sidecar)
	if errors.Is(err, fs.ErrNotExist) {
		if attributesWork(dir) {
			return meta.XattrMeta{}, "", nil
		}
		err = os.Mkdir(sidecar, 0o700)
	}
	if err != nil {
		return nil, "", err
	}
	store, err = meta.NewSideCar(sidecar)
	return store, sidecar, err
}

// attributesWork writes and reads an attribute of the size that real ones reach: some file systems know
// attributes but have no room for them.
func attributesWork(dir string) bool {
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return false
	}
	defer func() {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	}()
	value := bytes.Repeat([]byte("x"), 2048)
	attributes := meta.XattrMeta{}
	if err := attributes.StoreAttribute(probe, "", "", "probe", value); err != nil {
		return false
	}
	got, err := attributes.RetrieveAttribute(probe, "", "", "probe")
	return err == nil && bytes.Equal(got, value)
}
