package memory

import (
	"encoding/binary"
	"syscall"
)

func available() int64 {
	text, err := syscall.Sysctl("hw.memsize") // a number of 8 bytes, of which a last one that is zero is left out
	if err != nil {
		return 0
	}
	var bytes [8]byte
	copy(bytes[:], text)
	return int64(binary.LittleEndian.Uint64(bytes[:])) //nolint:gosec // no machine has so much
}
