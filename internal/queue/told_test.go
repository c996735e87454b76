package queue

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/labelling"
)

func TestWhatIsForgottenIsNotVouchedFor(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	all.add("old", labelling.Cursor{Epoch: "e", ID: "1-0"}, start)
	_, known := all.since("old", "e", start.Add(-time.Second))
	assert.True(t, known)

	for i := range 1000 { // enough to have old projects looked for, long after
		all.add(strconv.Itoa(i), labelling.Cursor{Epoch: "e", ID: "1-0"}, start.Add(2*toldFor))
	}
	assert.NotContains(t, all.of, "old")
	_, known = all.since("old", "e", start.Add(-time.Second))
	assert.False(t, known, "an event since then is forgotten")
	_, known = all.since("old", "e", start.Add(time.Second))
	assert.True(t, known, "nothing was told since then")
}
