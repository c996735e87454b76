package keys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSpellingOfTheOutbox(t *testing.T) {
	typ, id := ProjectsSubject("p1")
	for want, got := range map[string]string{
		"taggie:Outbox:15":                         OutboxSubjectKey("i1"),
		"outbox:0001798137000000:Transition:t%3A1": OutboxKey(due, "t:1"),
		"taggie:Projects:10":                       SubjectKey("taggie", typ, id),
	} {
		assert.Equal(t, want, got)
	}
	low, high := OutboxRange(due)
	assert.Equal(t, "outbox:", low)
	assert.Equal(t, "outbox:0001798137000000", high)
}

// Every transition is in one of the partitions, and in the range of what happened before an instant if it did.
func TestTransitionsAreInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item, id := part.Draw(t, "item"), part.Draw(t, "id")
		assert.Contains(t, OutboxSubjectKeys(), OutboxSubjectKey(item))
		typ, shard := ProjectsSubject(id)
		assert.Contains(t, ProjectsSubjectKeys(), SubjectKey("taggie", typ, shard))
		before := time.UnixMilli(rapid.Int64Range(1, 1<<42).Draw(t, "before"))
		at := before.Add(time.Duration(rapid.Int64Range(-3, 3).Draw(t, "ms")) * time.Millisecond)
		if at.UnixMilli() < 0 {
			t.Skip("nothing happens before 1970")
		}
		low, high := OutboxRange(before)
		key := OutboxKey(at, id)
		require.Equal(t, at.Before(before), low <= key && key <= high)
	})
}
