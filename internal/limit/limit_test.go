package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/limit"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"7": limit.Count(7), "999": limit.Count(999), "1,000": limit.Count(1000), "12,345,678": limit.Count(12_345_678), "about 100,000": limit.About(100_000),
		"255 bytes": limit.Bytes(255), "350,000 bytes": limit.Bytes(350_000), "64 KiB": limit.Bytes(64 << 10), "3 MiB": limit.Bytes(3 << 20), "5 GiB": limit.Bytes(int64(5 << 30)),
		"15 s": limit.Time(15 * time.Second), "5 min": limit.Time(5 * time.Minute), "24 h": limit.Time(24 * time.Hour), "7 days": limit.Time(7 * 24 * time.Hour), "0.2 s": limit.Time(200 * time.Millisecond),
	} {
		assert.Equal(t, want, got)
	}
}

func ExampleTable() {
	fmt.Print(limit.Table(
		limit.Room{Name: "internal/note", Limits: []limit.Limit{
			{What: "Characters of a title", Of: "a note", Most: limit.Count(200), Code: limit.Invalid},
			{What: "Notes", Of: "a user", Most: limit.About(100_000), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		}},
	))
	// Output:
	// | What | Of | At most | Beyond | Set in |
	// |---|---|---|---|---|
	// | Characters of a title | a note | 200 | `INVALID_INPUT` | `internal/note` |
	// | Notes | a user | about 100,000 | `EXHAUSTED` | `TAGGIE_ALLOWANCES` |
}
