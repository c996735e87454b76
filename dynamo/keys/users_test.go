package keys_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/keys"
)

func TestUsersAreFoundInTheOrderOfTheTexts(t *testing.T) {
	sorted := []string{
		keys.FoundSK("ada", keys.ByEmail, "u2"), keys.FoundSK("ada", keys.ByName, "u1"), keys.FoundSK("ada b", keys.ByName, "u1"),
		keys.FoundSK("ada#", keys.ByName, "u1"), keys.FoundSK("ada.b@example.com", keys.ByEmail, "u1"), keys.FoundSK("ada@example.com", keys.ByEmail, "u1"),
	}
	assert.IsIncreasing(t, sorted)
	assert.Equal(t, "ada\tEMAIL\tu%231", keys.FoundSK("ada", keys.ByEmail, "u#1"))
}

func TestWhoIsFoundHasARow(t *testing.T) {
	for by, want := range map[string][3]string{
		keys.ByEmail: {"u#1", keys.EmailPK("a#b:c%d@example.com"), keys.UniqueEmailsSK},
		keys.ByName:  {"u#1", keys.UserPK("u#1"), keys.ProfileSK},
	} {
		user, pk, sk := keys.FoundRow(keys.FoundSK("a#b:c%d@example.com", by, "u#1"))
		assert.Equal(t, want, [3]string{user, pk, sk})
	}
}

func TestLongNamesFitIntoAKey(t *testing.T) {
	const symbol = "\U0001D158\U0001D165\U0001D16E" // the normal form of a single character
	long := strings.Repeat(symbol, 100)
	sk := keys.FoundSK(long, keys.ByName, "0190a6f4-6dd1-7000-8000-000000000000")
	assert.LessOrEqual(t, len(sk), 1024)
	assert.True(t, utf8.ValidString(sk))
	assert.True(t, strings.HasPrefix(sk, keys.FoundText(long)))
	assert.True(t, strings.HasPrefix(keys.FoundText(long+"b"), keys.FoundText(long)), "a longer prefix finds it, too")
}

func TestArchivesAreInThePartitionOfTheirUser(t *testing.T) {
	assert.Equal(t, "ARCHIVE#a%231", keys.ArchiveSK("a#1"))
	assert.IsIncreasing(t, []string{keys.ArchivePrefix, keys.ArchiveSK("0190a6f4-6dd1-7000-8000-000000000000"), keys.ArchiveSK("0190a6f4-6dd1-7000-8000-000000000001"), "BLOCKED#"})
}
