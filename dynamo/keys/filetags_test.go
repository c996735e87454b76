package keys

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Each row of the document's table. The document gives the parts of queryId in two orders; those of its code hold, where the prefix
// has two characters. The last two rows of the table name another author in tagId than in queryId, a slip that is not repeated.
func TestFileTagKeysOfTheDocument(t *testing.T) {
	for _, row := range []struct{ author, file, value, tagID, own, public string }{
		{"user-1", "fuid-1", "value-1", "user-1#fuid-1", "va#user-1", "va"},
		{"user-1", "fuid-1", "value-2", "user-1#fuid-1", "va#user-1", "va"},
		{"user-1", "fuid-1", "value-3", "user-1#fuid-1", "va#user-1", "va"},
		{"user-2", "fuid-2", "value-3", "user-2#fuid-2", "va#user-2", "va"},
	} {
		assert.Equal(t, row.tagID, TagID(row.author, row.file))
		assert.Equal(t, row.own, QueryID(row.value, row.author))
		assert.Equal(t, row.public, QueryID(row.value, ""))
		assert.Equal(t, row.public, PublicQueryID(row.value, 0, 1), "a single shard is the document's partition")
	}
	assert.Equal(t, "7_nraLfqpJS8Qh82EJsMmWJJOJxpJt1HyMzVv7kGfD4", ValueHash("value-1", ""))
	assert.Equal(t, "FaahQg0B0Sw9s7jmkIogE_PHP6HCZzzpUQJO4Ru6Gmc", ValueHash("value-1", "user-1"))
}

// What the document leaves open, as decided.
func TestSpellingOfFileTags(t *testing.T) {
	for want, got := range map[string]string{
		"#fuid-1":       FileID("fuid-1"),
		"~public#f%23":  PublicFileID("f#"),
		"v#user-1":      LetterID("value-1", "user-1"),
		"v":             LetterID("value-1", ""),
		"🎼":             QueryID("🎼", ""),
		"🎼#u":           LetterID("🎼", "u"),
		"va#u#~":        OwnQueryID("value-1", "u"),
		"v#u#~":         OwnLetterID("value-1", "u"),
		"~value#v#u#~":  OwnTagValuesID("value-1", "u"),
		"日本":            QueryID("日本語", ""),
		"%23%25":        QueryID("#%", ""),
		"va#~03":        PublicQueryID("value-1", 3, 16),
		"v#~15":         PublicLetterID("value-1", 15, 16),
		"value-1\tf\tu": ValueOrder("value-1", "f", "u"),
		"value-1\t":     ExactOrder("value-1"),
		"~set#o#a%23b":  TagSetID("o", "a#b"),
		"~value#v#u":    TagValuesID("value-1", "u"),
		"~value#v":      PublicTagValuesID("value-1", 0, 1),
		"~value#v#~03":  PublicTagValuesID("value-1", 3, 16),
		"~layout":       TagLayoutID,
	} {
		assert.Equal(t, want, got)
	}
}

// Two keys of different parts, or of different kinds, are never equal, whatever users type.
func TestFileTagKeysDoNotCollide(t *testing.T) {
	id := rapid.StringMatching(`[0-9a-f]{1,4}`)
	value := rapid.OneOf(rapid.StringMatching(`[#~%:a-c0-3]{1,4}`), rapid.StringMatching(`\PC{1,6}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		u, v := id.Draw(t, "u"), id.Draw(t, "v")
		require.Equal(t, a == b && u == v, ValueHash(a, u) == ValueHash(b, v))
		require.NotEqual(t, ValueHash(a, ""), ValueHash(b, v))
		require.Equal(t, a == b && u == v, ValueOrder(a, u, v) == ValueOrder(b, v, v) && u == v)
		require.Equal(t, a == b && u == v, TagSetID(u, a) == TagSetID(v, b))
		partitions := []string{TagID(u, v), FileID(u), PublicFileID(u), TagSetID(u, a), TagLayoutID, TagValuesID(a, u), OwnTagValuesID(a, u), PublicTagValuesID(a, 0, 1), PublicTagValuesID(a, 3, 16)}
		for i, key := range partitions {
			for _, other := range partitions[:i] {
				require.NotEqual(t, other, key)
			}
		}
		queries := []string{QueryID(a, u), OwnQueryID(a, u), PublicQueryID(a, 0, 1), PublicQueryID(a, 3, 16), PublicQueryID(a, 4, 16)}
		for i, key := range queries {
			for _, other := range queries[:i] {
				require.NotEqual(t, other, key)
			}
		}
		require.True(t, strings.HasPrefix(a+b, runes(a+b, 2)))
		require.Equal(t, QueryID(a+b, u), QueryID(runes(a+b, 2), u), "what a search begins with leads to the partition of what it finds")
		require.Equal(t, LetterID(a+b, u), LetterID(runes(a+b, 1), u))
		require.True(t, strings.HasPrefix(ValueOrder(a+b, u, v), a))
	})
}

// Values come in their order, and those that are equal next to one another.
func TestValueOrderSortsByValue(t *testing.T) {
	values := []string{"a", "a b", "a!", "ab", "aé", "b", "日", "日本", "🎼"}
	var orders []string
	for _, v := range values {
		orders = append(orders, ValueOrder(v, "f", "u"), ValueOrder(v, "g", "a"))
	}
	assert.True(t, sort.StringsAreSorted(orders))
}

func TestTagsSpreadOverShards(t *testing.T) {
	used := map[int]int{}
	for i := range 4_000 {
		used[TagShard("u", fmt.Sprint("file ", i), 16)]++
	}
	require.Len(t, used, 16)
	for of, n := range used {
		assert.Greater(t, n, 100, "shard %d", of)
	}
	assert.Zero(t, TagShard("u", "f", 1))
}
