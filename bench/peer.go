package main

import (
	"os"
	"path/filepath"
)

const (
	peers       = "bench/peers"
	peerProgram = peers + "/mercurius.js"
)

// peerInstalled tells whether npm has installed what the servers in other languages need.
func peerInstalled() bool {
	_, err := os.Stat(filepath.Join(peers, "node_modules", "mercurius"))
	return err == nil
}
