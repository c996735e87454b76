package keys

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var due = time.Date(2026, 12, 24, 18, 30, 0, 0, time.UTC)

// The formats of the document, byte for byte; what it leaves open (instants, padding, rows of our own) as decided.
func TestSpelling(t *testing.T) {
	for want, got := range map[string]string{
		"USER#u1":                               UserPK("u1"),
		"PROFILE":                               ProfileSK,
		"EMAIL#ada@example.com":                 EmailPK("ada@example.com"),
		"UNIQUE_EMAILS":                         UniqueEmailsSK,
		"NOTE#2026-12-24T18:30:00.000Z#n1":      NoteSK(due, "n1"),
		"NOTE#~#n1":                             NoteSK(time.Time{}, "n1"),
		"TAG#work#NOTE#n1":                      TagSK("work", "n1"),
		"TAG#c%23#NOTE#n1":                      TagSK("c#", "n1"),
		"SHARED#n1":                             SharedSK("n1"),
		"NOTE_HISTORY#n1":                       NoteHistoryPK("n1"),
		"VER#0000000012":                        VersionSK(12),
		"USER#u2":                               NoteOfUserSK("u2"),
		"NOTE#n1":                               NotePK("n1"),
		"LOCATOR":                               LocatorSK,
		"SHARED#u2":                             NoteSharedSK("u2"),
		"OWNER#u1":                              OwnerPK("u1"),
		"NOTE#n1#SHARED#u2":                     OwnerShareSK("n1", "u2"),
		"SHARED_ENDED#n1":                       EndedShareSK("n1"),
		"TOMBSTONE#n1":                          TombstoneSK("n1"),
		"2026-12-24T18:30:00.000Z#n1":           ChangedSK(due, "n1"),
		"IDEM#u1":                               IdempotencyPK("u1"),
		"a%3Ab%25%00":                           IdempotencySK("a:b%\x00"),
		"SUBJECT#https%3A//issuer.example#ada1": SubjectPK("https://issuer.example", "ada1"),
		"USER":                                  SubjectSK,
		"REVOKED":                               RevokedSK,
		"GIVEN#u%231":                           GivenSK("u#1"),
		"BLOCKED#u%231":                         BlockedSK("u#1"),
		"REVOCATIONS#2026-12-24":                RevocationsPK(due),
		"2026-12-24T17:30:00.000Z#u%231":        RevocationSK(due.Add(-time.Hour), "u#1"),
		"CLEANUP#2026-12-24#00":                 CleanupPK(due, "n1"),
		"CLEANUP#2026-12-24#09":                 CleanupPK(due, "n2"),
	} {
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "NOTE#n1", CleanupSK("n1"))
	assert.Equal(t, "OUTBOX#00", OutboxPK("n1"))
	assert.Contains(t, OutboxPKs(), OutboxPK("n2"))
	assert.Len(t, OutboxPKs(), 16)
	assert.Equal(t, "2026-12-24T18:30:00.000Z#note#n%231#SHARED#u1", OutboxSK(due, "note", "n#1", "SHARED", "u1"))
	assert.Equal(t, "NOTE#2026-12-24T17:30:00.000Z#n1", NoteSK(due.In(time.FixedZone("", 3600)).Add(-time.Hour), "n1"), "in UTC")
}

// Every order is in one of the partitions of its day, and they sort by day.
func TestCleanupsAreInTheShardsOfTheirDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, id := instant.Draw(t, "at"), part.Draw(t, "id")
		all := CleanupPKs(at)
		require.Len(t, all, 16)
		require.True(t, sort.StringsAreSorted(all))
		require.Contains(t, all, CleanupPK(at, id))
		if at.Year() < 9999 {
			require.Less(t, all[15], CleanupPKs(at.Add(24 * time.Hour))[0])
		}
	})
	used := map[string]bool{}
	for i := range 400 {
		used[CleanupPK(due, fmt.Sprint("note ", i))] = true
	}
	assert.Len(t, used, 16, "deletions spread over all of them")
}

var part = rapid.OneOf(rapid.String(), rapid.StringMatching(`[#:%0-9A-F\x00$!~ ]{0,8}`), rapid.SampledFrom([]string{"", "#", "%23", "%2523", "a#NOTE#b", "\x00"}))

func TestPartsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := part.Draw(t, "a"), part.Draw(t, "b")
		require.Equal(t, a, Part(UserPK(a), 1))
		require.Equal(t, a, Part(TagSK(a, b), 1))
		require.Equal(t, b, Part(TagSK(a, b), 3))
		require.Equal(t, "", Part(TagSK(a, b), 4))
		require.Equal(t, a, Part(OwnerShareSK(a, b), 1))
		require.Equal(t, b, Part(OwnerShareSK(a, b), 3))
		require.Equal(t, a, Part(NoteSK(due, a), 2))
		require.NotContains(t, EmailPK(a)[len("EMAIL#"):], "#")
		require.NotContains(t, EmailPK(a), "\x00")
	})
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "#", "%", "%23", "%2523", ":", "\x00", "日本#語", "a%", "%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := escape(s)
		if unescape(e) != s {
			t.Fatalf("%q is escaped as %q and read as %q", s, e, unescape(e))
		}
		if strings.ContainsAny(e, "#:\x00") {
			t.Fatalf("%q is escaped as %q", s, e)
		}
	})
}

// Two keys of different parts, or of different kinds in one partition, are never equal.
func TestKeysDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ a, b string }
		x := pair{part.Draw(t, "a"), part.Draw(t, "b")}
		y := pair{part.Draw(t, "c"), part.Draw(t, "d")}
		two := map[string]func(a, b string) string{"tag": TagSK, "owner share": OwnerShareSK, "subject": SubjectPK}
		for name, key := range two {
			require.Equal(t, x == y, key(x.a, x.b) == key(y.a, y.b), name)
		}
		when := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "when"))
		kinds := []string{ // all the sort keys in a user's partition
			ProfileSK, NoteSK(when, x.a), TagSK(x.a, x.b), SharedSK(x.a), EndedShareSK(x.a), TombstoneSK(x.a), LocatorSK, UniqueEmailsSK, SubjectSK, RevokedSK, VersionSK(7),
		}
		partitions := []string{UserPK(x.a), EmailPK(x.a), NotePK(x.a), NoteHistoryPK(x.a), OwnerPK(x.a), IdempotencyPK(x.a), SubjectPK(x.a, x.b), CleanupPK(when, x.a), OutboxPK(x.a)}
		for _, keys := range [][]string{kinds, partitions} {
			for i, k := range keys {
				for _, other := range keys[:i] {
					require.NotEqual(t, other, k)
				}
			}
		}
	})
}

var instant = rapid.Custom(func(t *rapid.T) time.Time {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	return time.UnixMilli(rapid.Int64Range(first.UnixMilli(), last.UnixMilli()).Draw(t, "ms"))
})

func TestDeadlinesSortAsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := instant.Draw(t, "a"), instant.Draw(t, "b")
		id := part.Draw(t, "id")
		require.Len(t, Instant(a), len("2006-01-02T15:04:05.000Z"))
		require.Equal(t, a.Before(b), NoteSK(a, id) < NoteSK(b, id))
		require.Equal(t, a.Before(b), ChangedSK(a, id) < ChangedSK(b, id))
		require.Less(t, NoteSK(a, id), NoteSK(time.Time{}, ""), "a note without a deadline is last")
		read, err := ParseInstant(Instant(a))
		require.NoError(t, err)
		require.True(t, a.Equal(read))
	})
	zero, err := ParseInstant("")
	require.NoError(t, err)
	assert.True(t, zero.IsZero())
	_, err = ParseInstant("tomorrow")
	assert.Error(t, err)
}

func TestVersionsSortAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(0, 9_999_999_999).Draw(t, "a"), rapid.IntRange(0, 9_999_999_999).Draw(t, "b")
		require.Equal(t, a < b, VersionSK(a) < VersionSK(b))
		read, err := strconv.Atoi(strings.TrimPrefix(VersionSK(a), VersionPrefix))
		require.NoError(t, err)
		require.Equal(t, a, read)
	})
}

// A range holds exactly the notes that are due strictly inside, and no row of another kind.
func TestNoteRangeHoldsNotesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zeroOr := func(name string) time.Time {
			if rapid.Bool().Draw(t, name+" is open") {
				return time.Time{}
			}
			return instant.Draw(t, name)
		}
		after, before, at := zeroOr("after"), zeroOr("before"), instant.Draw(t, "at")
		low, high := NoteRange(after, before)
		in := func(key string) bool { return low <= key && key <= high }
		id, text := part.Draw(t, "id"), part.Draw(t, "text")

		for _, near := range []time.Time{at, after, before, after.Add(time.Millisecond), before.Add(-time.Millisecond)} {
			if near.Year() < 1 || near.Year() > 9999 || near.IsZero() {
				continue
			}
			want := (after.IsZero() || near.After(after)) && (before.IsZero() || near.Before(before))
			require.Equal(t, want, in(NoteSK(near, id)), "due %s, after %s, before %s", near, after, before)
		}
		require.Equal(t, after.IsZero() && before.IsZero(), in(NoteSK(time.Time{}, id)))
		for _, other := range []string{ProfileSK, TagSK(text, id), SharedSK(text), EndedShareSK(text), TombstoneSK(text), UniqueEmailsSK, LocatorSK, RevokedSK, VersionSK(3)} {
			require.False(t, in(other), other)
		}
	})
}

func TestTagRangeHoldsOneTagOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tag, other, id := part.Draw(t, "tag"), part.Draw(t, "other"), part.Draw(t, "id")
		low, high := TagRange(tag)
		require.Less(t, low, TagSK(tag, id))
		require.Less(t, TagSK(tag, id), high)
		require.True(t, strings.HasPrefix(TagSK(tag, id), TagNotesPrefix(tag)))
		require.True(t, strings.HasPrefix(TagSK(tag+other, id), TagPrefix(tag)))
		if k := TagSK(other, id); other != tag {
			require.False(t, low < k && k < high, "the range of %q holds %q", tag, other)
			require.False(t, strings.HasPrefix(k, TagNotesPrefix(tag)))
		}
	})
}

func TestRangesOfIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.StringMatching(`[0-9a-f]{4}`), 3, 3).Draw(t, "ids")
		sort.Strings(ids)
		user := part.Draw(t, "user")
		low, high := OwnerShareRange(ids[0], ids[2])
		for _, id := range ids {
			require.True(t, low <= OwnerShareSK(id, user) && OwnerShareSK(id, user) <= high)
		}
		low, high = OwnerShareRange(ids[1], ids[1])
		require.Equal(t, ids[0] == ids[1], low <= OwnerShareSK(ids[0], user) && OwnerShareSK(ids[0], user) <= high)

		since, at := instant.Draw(t, "since"), instant.Draw(t, "at")
		low, high = ChangedRange(since)
		require.Equal(t, !at.Before(since), low <= ChangedSK(at, user) && ChangedSK(at, user) <= high, "at or after")
		low, high = ChangedRange(time.Time{})
		require.True(t, low <= ChangedSK(at, user) && ChangedSK(at, user) <= high)
	})
}

// The partition of a change is that of its quarter, in UTC, and its sort key tells its time.
func TestHistoriesAreInQuarters(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	assert.Equal(t, "PROJECT_HISTORY#p%231#2026-4", HistoryPK("p#1", at.In(time.FixedZone("", 3600))))
	for month, quarter := range map[time.Month]string{1: "1", 3: "1", 4: "2", 6: "2", 7: "3", 9: "3", 10: "4"} {
		assert.Equal(t, "PROJECT_HISTORY#p#2027-"+quarter, HistoryPK("p", time.Date(2027, month, 30, 0, 0, 0, 0, time.UTC)))
	}
	assert.Equal(t, "2026-12-31T23:30:00.000Z#c1", HistorySK(at, "c1"))
	assert.Equal(t, at, HistoryAt(HistorySK(at, "c1")).UTC())
	assert.Zero(t, HistoryAt("nothing"))
}
