package project

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
)

func TestBeginningsOfNames(t *testing.T) {
	for prefix, want := range map[string]string{" OWL ": "owl ", "E\u0301": "é", "ẞ": "ss", "\ufffd": "\ufffd", "\U0001D15E": "\U0001D157\U0001D165"} {
		begin, err := parseNamePrefix("namePrefix", prefix)
		require.NoError(t, err, "%q", prefix)
		assert.Equal(t, want, begin)
	}
	long := strings.Repeat("\U0001D160", MaxItemNameRunes) // whose folded form does not fit into a key
	for _, prefix := range []string{"", " \u00a0", "owl\t", "\x00", "\xff", "\xed\xa0\x80", long, strings.Repeat("a", MaxItemNameRunes+1)} {
		_, err := parseNamePrefix("namePrefix", prefix)
		refused(t, err, "namePrefix")
	}
}

// Who was not shown the project finds nothing in it, whatever the beginning is.
func TestStrangersFindNoItems(t *testing.T) {
	for _, prefix := range []string{"owl", ""} {
		_, err := (&Service{}).ListItems(t.Context(), Project{ID: "p"}.ItemsNamed(prefix, "", page.Window{Limit: 1}))
		assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
}
