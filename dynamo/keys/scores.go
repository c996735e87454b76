package keys

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The keys of the table scores. Ids are UUIDs, spelled as the Base64 of their 16 bytes in mixed-endian order: 24 characters,
// so that keys of several ids need no separator and are read by width. An id that is no UUID makes a key of no row.

// IDWidth is how many characters an id, or the hash of a text, has in a key.
const IDWidth = 24

// LibraryScore is the score in the keys of items that belong to no score, but to the library of their owner: the nil UUID.
const LibraryScore = "00000000-0000-0000-0000-000000000000"

// noID takes the place of an id that is no UUID. No id is spelled so: they end with "==".
var noID = strings.Repeat("!", IDWidth)

// EncodeUUID spells the bytes of a UUID as Base64, the first three groups little-endian.
func EncodeUUID(id string) string {
	u, err := uuid.Parse(id)
	if err != nil || u.String() != id { // the package reads other spellings, too
		return noID
	}
	swapped := swap(u)
	return base64.StdEncoding.EncodeToString(swapped[:])
}

// IsUUID reports whether an id is a UUID in its canonical form.
func IsUUID(id string) bool { return EncodeUUID(id) != noID }

// DecodeUUID reads what [EncodeUUID] wrote.
func DecodeUUID(s string) (string, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(s) != IDWidth || len(raw) != 16 {
		return "", fmt.Errorf("%q is not the Base64 of a UUID", s)
	}
	return uuid.UUID(swap([16]byte(raw))).String(), nil
}

// swap turns round the bytes of the first three groups of a UUID.
func swap(u [16]byte) [16]byte {
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5] = u[5], u[4]
	u[6], u[7] = u[7], u[6]
	return u
}

// SplitIDs reads ids that were joined, behind the prefix, which may be "". It wants exactly n of them.
func SplitIDs(key, prefix string, n int) ([]string, error) {
	rest, found := strings.CutPrefix(key, prefix)
	if !found || len(rest) != n*IDWidth {
		return nil, fmt.Errorf("%q is not %q and %d ids", key, prefix, n)
	}
	ids := make([]string, n)
	for i := range ids {
		var err error
		if ids[i], err = DecodeUUID(rest[i*IDWidth : (i+1)*IDWidth]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// CountsSK is the sort key of the row that counts: the scores of an owner (sc:), or the bytes of an owner's items (it:).
const CountsSK = "summary"

// The prefixes of sort keys.
const (
	ScorePrefix        = "main:"
	PublicScorePrefix  = "pub:"
	SnapshotPrefix     = "snap:"
	SnapshotNamePrefix = "name:"
	IntentPrefix       = "todo:"
	KeptPrefix         = "keep:"
	KeptAtPrefix       = "kept:"
	AnnotationPrefix   = "anno:"
	DescriptionPrefix  = "desc:"
)

// The beginnings of the partitions of everybody's scores, and of everybody's items.
const (
	ScoresPrefixOfAll = "sc:"
	ItemsPrefixOfAll  = "it:"
)

// ScoresPK is sc:<owner>: scores and snapshots of an owner, which scores are public, the names of snapshots, what is to be
// cleaned up, and which scores of others the owner keeps.
func ScoresPK(owner string) string { return ScoresPrefixOfAll + EncodeUUID(owner) }

// TextsPK is ld:<owner>: descriptions and annotations.
func TextsPK(owner string) string { return "ld:" + EncodeUUID(owner) }

// ItemsPK is it:<owner>: the items of an owner.
func ItemsPK(owner string) string { return ItemsPrefixOfAll + EncodeUUID(owner) }

// ItemUsesPK is si:<owner>: what uses the items of an owner.
func ItemUsesPK(owner string) string { return "si:" + EncodeUUID(owner) }

// ScoreSK is main:<score>.
func ScoreSK(score string) string { return ScorePrefix + EncodeUUID(score) }

// PublicScoreSK is pub:<score>: the row of a score that is listed for everybody.
func PublicScoreSK(score string) string { return PublicScorePrefix + EncodeUUID(score) }

// SnapshotSK is snap:<score><snapshot>.
func SnapshotSK(score, snapshot string) string {
	return SnapshotPrefix + EncodeUUID(score) + EncodeUUID(snapshot)
}

// SnapshotsPrefix begins the sort keys of all snapshots of a score.
func SnapshotsPrefix(score string) string { return SnapshotPrefix + EncodeUUID(score) }

// SnapshotNameSK is name:<score><name>, the name as the Base64 of its UTF-8: the row that keeps it unique in its score.
func SnapshotNameSK(score, name string) string {
	return SnapshotNamePrefix + EncodeUUID(score) + EncodeSnapshotName(name)
}

// EncodeSnapshotName spells a name as the document does: the Base64 of its UTF-8.
func EncodeSnapshotName(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

// IntentSK is todo:<score><intent>: what a change of the score has begun and not ended yet.
func IntentSK(score, intent string) string {
	return IntentPrefix + EncodeUUID(score) + EncodeUUID(intent)
}

// KeptSK is keep:<owner><score>, in the partition of the user who keeps this score of another user.
func KeptSK(owner, score string) string {
	return KeptPrefix + EncodeUUID(owner) + EncodeUUID(score)
}

// KeptAtSK is kept:<instant><owner><score>, beside [KeptSK]: the place of the score in the list.
func KeptAtSK(at time.Time, owner, score string) string {
	return KeptAtPrefix + Instant(at) + EncodeUUID(owner) + EncodeUUID(score)
}

// KeptOf reads a score, its owner, and when it was kept from what [KeptAtSK] wrote.
func KeptOf(sk string) (at time.Time, owner, score string, err error) {
	rest, found := strings.CutPrefix(sk, KeptAtPrefix)
	if !found || len(rest) < len(deadlineForm) {
		return at, "", "", fmt.Errorf("%q does not tell when a score was kept", sk)
	}
	if at, err = ParseInstant(rest[:len(deadlineForm)]); err != nil {
		return at, "", "", err
	}
	ids, err := SplitIDs(rest[len(deadlineForm):], "", 2)
	if err != nil {
		return at, "", "", err
	}
	return at, ids[0], ids[1], nil
}

// AnnotationSK is anno:<score><hash>.
func AnnotationSK(score, hash string) string { return AnnotationPrefix + EncodeUUID(score) + hash }

// DescriptionSK is desc:<score><hash>.
func DescriptionSK(score, hash string) string { return DescriptionPrefix + EncodeUUID(score) + hash }

// ItemSK is <score><item>. Items of the owner's library have [LibraryScore].
func ItemSK(score, item string) string { return EncodeUUID(score) + EncodeUUID(item) }

// ItemsPrefix begins the sort keys of all items of a score.
func ItemsPrefix(score string) string { return EncodeUUID(score) }

// ItemUseSK is <item><user>: the user is a score, a snapshot or a project.
func ItemUseSK(item, user string) string { return EncodeUUID(item) + EncodeUUID(user) }

// ItemUsesPrefix begins the sort keys of all uses of an item.
func ItemUsesPrefix(item string) string { return EncodeUUID(item) }
