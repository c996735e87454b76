package keys

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// keptAt is when a score was kept.
var keptAt = time.Date(2026, 11, 28, 12, 34, 56, 789e6, time.UTC)

// The ids of the document's examples.
const (
	exampleOwner = "a5a3cceb-de61-43e4-849c-deafbf750bd7"
	exampleScore = "9e97ad6b-c5fe-4a6e-8f25-0b265b59017a"
	exampleItem  = "8f64ed24-7122-42d6-aeb9-c6eddc93b389"
)

// Every UUID of the document with its Base64.
func TestUUIDsOfTheDocument(t *testing.T) {
	for id, want := range map[string]string{
		exampleOwner:                           "68yjpWHe5EOEnN6vv3UL1w==",
		exampleScore:                           "a62Xnv7FbkqPJQsmW1kBeg==",
		exampleItem:                            "JO1kjyJx1kKuucbt3JOziQ==",
		"2b81d88e-9004-41cd-9441-fbe25eba46ee": "jtiBKwSQzUGUQfviXrpG7g==",
		"c56b0b81-d45a-4974-b4a0-395feed1eeef": "gQtrxVrUdEm0oDlf7tHu7w==",
		LibraryScore:                           "AAAAAAAAAAAAAAAAAAAAAA==",
	} {
		assert.Equal(t, want, EncodeUUID(id))
		back, err := DecodeUUID(want)
		require.NoError(t, err)
		assert.Equal(t, id, back)
	}
}

// Every key of the document. Its ids of snapshots and hashes are Base64 only.
func TestScoreKeysOfTheDocument(t *testing.T) {
	first, err := DecodeUUID("G83UGGM9UUS4Ky8gsKmxRg==")
	require.NoError(t, err)
	second, err := DecodeUUID("HdVwA45SOUacxgvNTADESA==")
	require.NoError(t, err)
	const description, annotation = "s2hRmHZaGkOC7PDFrXzypw==", "ouWfeVUe4keu21CyOIZ0jg=="
	for _, key := range [][2]string{
		{"sc:68yjpWHe5EOEnN6vv3UL1w==", ScoresPK(exampleOwner)},
		{"summary", CountsSK},
		{"main:a62Xnv7FbkqPJQsmW1kBeg==", ScoreSK(exampleScore)},
		{"pub:a62Xnv7FbkqPJQsmW1kBeg==", PublicScoreSK(exampleScore)},
		{"snap:a62Xnv7FbkqPJQsmW1kBeg==G83UGGM9UUS4Ky8gsKmxRg==", SnapshotSK(exampleScore, first)},
		{"snap:a62Xnv7FbkqPJQsmW1kBeg==HdVwA45SOUacxgvNTADESA==", SnapshotSK(exampleScore, second)},
		{"44K144Oz44OX44OrMQ==", EncodeSnapshotName("サンプル1")},
		{"44K144Oz44OX44OrMg==", EncodeSnapshotName("サンプル2")},
		{"name:a62Xnv7FbkqPJQsmW1kBeg==44K144Oz44OX44OrMQ==", SnapshotNameSK(exampleScore, "サンプル1")},
		{"keep:68yjpWHe5EOEnN6vv3UL1w==a62Xnv7FbkqPJQsmW1kBeg==", KeptSK(exampleOwner, exampleScore)},
		{"kept:2026-11-28T12:34:56.789Z68yjpWHe5EOEnN6vv3UL1w==a62Xnv7FbkqPJQsmW1kBeg==", KeptAtSK(keptAt, exampleOwner, exampleScore)},
		{"ld:68yjpWHe5EOEnN6vv3UL1w==", TextsPK(exampleOwner)},
		{"anno:a62Xnv7FbkqPJQsmW1kBeg==ouWfeVUe4keu21CyOIZ0jg==", AnnotationSK(exampleScore, annotation)},
		{"desc:a62Xnv7FbkqPJQsmW1kBeg==s2hRmHZaGkOC7PDFrXzypw==", DescriptionSK(exampleScore, description)},
		{"it:68yjpWHe5EOEnN6vv3UL1w==", ItemsPK(exampleOwner)},
		{"a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ==", ItemSK(exampleScore, exampleItem)},
		{"AAAAAAAAAAAAAAAAAAAAAA==JO1kjyJx1kKuucbt3JOziQ==", ItemSK(LibraryScore, exampleItem)},
		{"si:68yjpWHe5EOEnN6vv3UL1w==", ItemUsesPK(exampleOwner)},
		{"JO1kjyJx1kKuucbt3JOziQ==a62Xnv7FbkqPJQsmW1kBeg==", ItemUseSK(exampleItem, exampleScore)},
		{"JO1kjyJx1kKuucbt3JOziQ==G83UGGM9UUS4Ky8gsKmxRg==", ItemUseSK(exampleItem, first)},
		{"todo:a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ==", IntentSK(exampleScore, exampleItem)},
	} {
		assert.Equal(t, key[0], key[1])
	}
	for _, prefix := range []string{AnnotationPrefix, DescriptionPrefix} {
		assert.Len(t, prefix, 5, "the document wants 5 characters")
	}
	assert.Len(t, SnapshotSK(exampleScore, first), len(SnapshotPrefix)+2*IDWidth)
}

func TestKeptScoresComeBack(t *testing.T) {
	at, owner, score, err := KeptOf(KeptAtSK(keptAt, exampleOwner, exampleScore))
	require.NoError(t, err)
	assert.Equal(t, []any{keptAt, exampleOwner, exampleScore}, []any{at, owner, score})
	for _, foreign := range []string{"", KeptAtPrefix, KeptSK(exampleOwner, exampleScore), "kept:2026-11-28T12:34:56.789Z", "kept:2026-11-28T12:34:56.78!Z" + EncodeUUID(exampleOwner) + EncodeUUID(exampleScore)} {
		_, _, _, err := KeptOf(foreign)
		require.Error(t, err, foreign)
	}
}

func TestUUIDsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "ids")
		ids, key := make([]string, n), "snap:"
		for i := range ids {
			ids[i] = uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")).String()
			key += EncodeUUID(ids[i])
		}
		require.Len(t, key, 5+n*IDWidth)
		back, err := SplitIDs(key, "snap:", n)
		require.NoError(t, err)
		require.Equal(t, ids, back)
		_, err = SplitIDs(key, "snap:", n+1)
		require.Error(t, err)
		_, err = SplitIDs(key+"=", "snap:", n)
		require.Error(t, err)
		_, err = SplitIDs(key, "main:", n)
		require.Error(t, err)
	})
}

// What is no UUID in its one spelling makes keys that no row has, and never the prefix of one.
func TestWhatIsNoUUIDHasNoKey(t *testing.T) {
	for _, id := range []string{"", "u1", "A5A3CCEB-DE61-43E4-849C-DEAFBF750BD7", "{" + exampleOwner + "}", "urn:uuid:" + exampleOwner,
		"a5a3ccebde6143e4849cdeafbf750bd7", "summary", exampleOwner + exampleOwner, "\x00", "68yjpWHe5EOEnN6vv3UL1w=="} {
		assert.Equal(t, noID, EncodeUUID(id), "%q", id)
	}
	assert.Len(t, noID, IDWidth)
	_, err := DecodeUUID(noID)
	require.Error(t, err)
	for _, s := range []string{"", "68yjpWHe5EOEnN6vv3UL1w", "68yjpWHe5EOEnN6vv3UL1x==", "68yjpWHe5EOEnN6vv3UL\n1w==", "68yjpWHe5EOEnN6vv3UL1wAA"} {
		_, err := DecodeUUID(s)
		require.Error(t, err, "%q", s)
	}
}
