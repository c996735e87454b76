package main

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/taggie/taggie/internal/auth"
)

// tokens returns what signs tokens for a server that keeps its data in a directory.
func tokens(dir string) (func(email string) (string, error), error) {
	secret, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(string(secret))
	if err != nil {
		return nil, err
	}
	local, err := auth.NewLocal(raw, time.Now)
	if err != nil {
		return nil, err
	}
	return func(email string) (string, error) {
		return local.Mint(auth.Person{Email: email, Name: email}, 12*time.Hour)
	}, nil
}
