package connection

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWireServesWhatCameWithTheHandshake(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()   //nolint:errcheck // a test's
	defer theirs.Close() //nolint:errcheck // a test's
	w := NewWire(ours, []byte("early"))
	b := make([]byte, 3)
	n, err := w.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "ear", string(b[:n]))
	n, err = w.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "ly", string(b[:n]))
}
