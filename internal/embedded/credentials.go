package embedded

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// credentials are made once per data directory. They keep other users of the machine, and web pages that
// can send requests to loopback ports, out of S3 and Redis.
type credentials struct {
	AccessKey     string `json:"accessKey"`
	SecretKey     string `json:"secretKey"`
	RedisPassword string `json:"redisPassword"`
}

const credentialsFile = "credentials.json"

// loadCredentials reads the credentials of a data directory, and makes them the first time. The caller holds
// the lock of the directory.
func loadCredentials(dir string) (credentials, error) {
	path := filepath.Join(dir, credentialsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeCredentials(path)
	}
	if err != nil {
		return credentials{}, fmt.Errorf("embedded: read the credentials of the engines: %w", err)
	}
	var c credentials
	if err := json.Unmarshal(data, &c); err != nil || c.AccessKey == "" || c.SecretKey == "" || c.RedisPassword == "" {
		return credentials{}, fmt.Errorf("embedded: %s is damaged; delete it and new credentials are made", path)
	}
	return c, nil
}

func makeCredentials(path string) (credentials, error) {
	c := credentials{AccessKey: "TAGGIE" + rand.Text()[:14], SecretKey: rand.Text() + rand.Text(), RedisPassword: rand.Text()}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return credentials{}, fmt.Errorf("embedded: %w", err)
	}
	if err := writeFile(path, append(data, '\n')); err != nil {
		return credentials{}, fmt.Errorf("embedded: store the credentials of the engines: %w", err)
	}
	return c, nil
}

// writeFile puts a whole file in place or none: a crash must not leave half of one. Only the owner may read it.
func writeFile(path string, data []byte) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
