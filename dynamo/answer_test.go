package dynamo

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A buffer that was given back is never seen through the answer that had it.
func TestReleasedBuffersAreNotShared(t *testing.T) {
	for range 100 { // a pool may drop what it is given
		mine := make([]byte, 8, 64)
		a := &answer{body: mine}
		a.release()
		a.body = []byte("of the next attempt")
		got := *(bodies.Get().(*[]byte))
		assert.NotEqual(t, "of the next attempt", string(got))
	}
}
