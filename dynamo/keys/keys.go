// Package keys spells the keys of the tables.
//
// It knows the formats of the source documents, byte for byte, and how parts
// that users choose are escaped. It must not know rows, clients or rules. Start
// reading at [UserPK].
package keys

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// escape keeps the separators of keys out of the parts that users choose. "%" is escaped so that it stays reversible.
var escape = strings.NewReplacer("%", "%25", "#", "%23", ":", "%3A", "\x00", "%00").Replace

var unescape = strings.NewReplacer("%25", "%", "%23", "#", "%3A", ":", "%00", "\x00").Replace

// The sort keys without parts.
const (
	ProfileSK      = "PROFILE"
	UniqueEmailsSK = "UNIQUE_EMAILS"
	LocatorSK      = "LOCATOR"
	SubjectSK      = "USER"
	RevokedSK      = "REVOKED"
	ErasureSK      = "ERASURE"
	CountSK        = "COUNT"
)

// UserPK is USER#<user_id>: profile, since when it is revoked, notes, tag rows, shares to the user, from whom they are, whom the user blocked, tombstones.
func UserPK(user string) string { return UserPrefix + escape(user) }

// GivenSK is GIVEN#<user_id>, in the partition of the user with whom this one shares notes: how many, and whether the user has opened any.
func GivenSK(by string) string { return "GIVEN#" + escape(by) }

// PseudonymSK is PSEUDONYM#<project>, in the partition of a user who is being erased.
func PseudonymSK(project string) string { return "PSEUDONYM#" + escape(project) }

// BlockedSK is BLOCKED#<user_id>, in the partition of the user who blocked this one.
func BlockedSK(user string) string { return BlockedPrefix + escape(user) }

// BlockedPrefix begins the sort keys of everybody whom a user has blocked.
const BlockedPrefix = "BLOCKED#"

// RevocationsPK is REVOCATIONS#<day>: whose tokens were revoked on a day, so that servers can follow.
func RevocationsPK(at time.Time) string { return "REVOCATIONS#" + at.UTC().Format(time.DateOnly) }

// RevocationSK is <instant>#<user_id>; without a user it sorts before all of its instant.
func RevocationSK(at time.Time, user string) string { return Instant(at) + "#" + escape(user) }

// EmailPK is EMAIL#<email>: the lock that keeps a folded address unique, and GSI1PK of the profile.
func EmailPK(folded string) string { return "EMAIL#" + escape(folded) }

// SubjectPK is SUBJECT#<issuer>#<subject>: which user signed up with an identity.
func SubjectPK(issuer, subject string) string {
	return SubjectPrefix + escape(issuer) + "#" + escape(subject)
}

// SubjectPrefix begins the partitions of all identities.
const SubjectPrefix = "SUBJECT#"

// IdempotencyPK is IDEM#<viewer>; the sort key is the client's key.
func IdempotencyPK(viewer string) string { return "IDEM#" + escape(viewer) }

// CountPK is COUNT#<kind>#<of>: how many things of a kind a scope, a project or an author has, about.
func CountPK(kind, of string) string { return "COUNT#" + escape(kind) + "#" + escape(of) }

// IdempotencySK is the client's key.
func IdempotencySK(key string) string { return escape(key) }

// deadlineForm is UTC and fixed width, so that instants sort as strings.
const deadlineForm = "2006-01-02T15:04:05.000Z"

// noDeadline sorts behind every instant.
const noDeadline = "~"

// Instant spells a point in time, to the millisecond, so that it sorts.
func Instant(t time.Time) string {
	var b [len(deadlineForm)]byte
	return string(appendInstant(b[:0], t))
}

// appendInstant appends an instant. The library writes RFC 3339 faster than other forms.
func appendInstant(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(b, time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// ParseInstant reads what [Instant] wrote; the zero time for "".
func ParseInstant(s string) (time.Time, error) { return ReadInstant([]byte(s)) }

// ReadInstant is ParseInstant of bytes that are in hand already. It allocates nothing for what [Instant] wrote.
func ReadInstant(b []byte) (time.Time, error) {
	n := len(b)
	if n == 0 {
		return time.Time{}, nil
	}
	if n == len(deadlineForm) && b[n-1] == 'Z' && b[n-5] == '.' {
		var t time.Time
		if t.UnmarshalText(b) == nil { // for which the library has a shorter way
			return t, nil
		}
	}
	return time.Parse(deadlineForm, string(b))
}

func appendDeadline(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, noDeadline...)
	}
	return appendInstant(b, t)
}

// after is the smallest string that sorts behind "#" and everything that follows one.
const after = "$"

// NoteSK is NOTE#<deadline>#<id>. A note without a deadline sorts last.
func NoteSK(due time.Time, note string) string {
	var b [len("NOTE#") + len(deadlineForm) + len("#") + 36]byte // with a UUID, which notes of ours have
	return string(append(append(appendDeadline(append(b[:0], "NOTE#"...), due), '#'), escape(note)...))
}

// NotePrefix begins the sort keys of all notes of an owner.
const NotePrefix = "NOTE#"

// DeadlineOf reads the deadline in the sort key of a note; zero when it has none.
func DeadlineOf(sk string) (time.Time, error) {
	if due := Part(sk, 1); due != noDeadline {
		return ParseInstant(due)
	}
	return time.Time{}, nil
}

// NoteRange returns the sort keys between which all notes lie that are due strictly after and strictly before the given
// instants; a zero instant is an open end. Only a range open at both ends holds notes without a deadline. Both ends are
// closed, so that no row of another kind is in it.
func NoteRange(afterDue, beforeDue time.Time) (low, high string) {
	low, high = "NOTE#", "NOTE#"+noDeadline
	if afterDue.IsZero() && beforeDue.IsZero() {
		return low, high + after
	}
	if !afterDue.IsZero() {
		low = "NOTE#" + Instant(afterDue) + after
	}
	if !beforeDue.IsZero() {
		high = "NOTE#" + Instant(beforeDue)
	}
	return low, high
}

// The beginnings of the keys of rows of one kind.
const (
	UserPrefix        = "USER#"
	TagRowPrefix      = "TAG#"
	TombstonePrefix   = "TOMBSTONE#"
	NoteHistoryPrefix = "NOTE_HISTORY#"
	CleanupPrefix     = "CLEANUP#"
)

// TagSK is TAG#<tag>#NOTE#<id>; tag is the folded form.
func TagSK(tag, note string) string { return TagRowPrefix + escape(tag) + "#NOTE#" + escape(note) }

// TagNotesPrefix begins the sort keys of all notes with exactly this tag.
func TagNotesPrefix(tag string) string { return "TAG#" + escape(tag) + "#NOTE#" }

// TagPrefix begins the sort keys of all tags whose folded form begins with prefix.
func TagPrefix(prefix string) string { return "TAG#" + escape(prefix) }

// TagRange returns the sort keys just before and just behind all rows of one tag.
func TagRange(tag string) (low, high string) {
	return "TAG#" + escape(tag) + "#", "TAG#" + escape(tag) + after
}

// SharedSK is SHARED#<note_id>, in the partition of the user with whom the note is shared.
func SharedSK(note string) string { return "SHARED#" + escape(note) }

// SharedPrefix begins the sort keys of everything that is shared with a user.
const SharedPrefix = "SHARED#"

// EndedShareSK is SHARED_ENDED#<note_id>, in the partition of the user with whom the note was shared. It sorts right behind what is shared.
func EndedShareSK(note string) string { return EndedSharePrefix + escape(note) }

// EndedSharePrefix begins the sort keys of everything that is no longer shared with a user.
const EndedSharePrefix = "SHARED_ENDED#"

// ReceivedRange returns the sort keys between which everything lies that is shared with a user, and that is no longer.
func ReceivedRange() (low, high string) { return SharedPrefix, "SHARED_ENDED" + after }

// TombstoneSK is TOMBSTONE#<note_id>, in the partition of the owner.
func TombstoneSK(note string) string { return TombstonePrefix + escape(note) }

// NotePK is NOTE#<note_id>: the locator, and GSI2PK of a note and its shares.
func NotePK(note string) string { return "NOTE#" + escape(note) }

// NoteOfUserSK is USER#<user_id>: GSI2SK of the note itself, and GSI1SK of a profile.
func NoteOfUserSK(user string) string { return "USER#" + escape(user) }

// NoteOfUserPrefix begins GSI2SK of notes.
const NoteOfUserPrefix = "USER#"

// NoteSharedSK is SHARED#<user_id>: GSI2SK of a share.
func NoteSharedSK(user string) string { return "SHARED#" + escape(user) }

// OwnerPK is OWNER#<user_id>: GSI1PK of all shares of an owner's notes.
func OwnerPK(owner string) string { return "OWNER#" + escape(owner) }

// OwnerShareSK is NOTE#<note_id>#SHARED#<user_id>: GSI1SK of a share.
func OwnerShareSK(note, user string) string {
	return "NOTE#" + escape(note) + "#SHARED#" + escape(user)
}

// OwnerShareRange returns the GSI1 sort keys between which all shares of the notes first to last lie.
func OwnerShareRange(first, last string) (low, high string) {
	return "NOTE#" + escape(first) + "#", "NOTE#" + escape(last) + after
}

// NoteHistoryPK is NOTE_HISTORY#<note_id>.
func NoteHistoryPK(note string) string { return NoteHistoryPrefix + escape(note) }

// VersionSK is VER#<version>, padded so that versions sort as numbers.
func VersionSK(version int) string { return fmt.Sprintf("VER#%010d", version) }

// PlainVersionSK is VER#<version> without padding, as the document spells it: versions that another program put.
func PlainVersionSK(version int) string { return VersionPrefix + strconv.Itoa(version) }

// PlainVersionRange returns the sort keys between which those of [PlainVersionSK] lie, and none of [VersionSK] that is padded.
func PlainVersionRange() (low, high string) { return VersionPrefix + "1", VersionPrefix + ":" }

// VersionOf reads the number in the sort key of a version.
func VersionOf(sk string) (int, error) { return strconv.Atoi(Part(sk, 1)) }

// VersionPrefix begins the sort keys of all versions.
const VersionPrefix = "VER#"

// ChangedSK is <instant>#<note_id>: LSI1SK of a note or tombstone, by which an owner's changes are ordered.
func ChangedSK(at time.Time, note string) string { return Instant(at) + "#" + escape(note) }

// ChangedRange returns the LSI1 sort keys between which all changes at or after since lie.
func ChangedRange(since time.Time) (low, high string) {
	if since.IsZero() {
		return "0", ":" // every instant begins with a digit
	}
	return Instant(since), ":"
}

// noteShards is how many partitions those rows are spread over that belong to no user: every deletion, or every change, writes one, and a
// partition takes 1,000 writes a second.
const noteShards = 16

func noteShard(note string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(note)) // never fails
	return hash.Sum32() % noteShards
}

// CleanupPK is CLEANUP#<day>#<shard>: what is to be cleaned up on that day (UTC), in the shard of the note.
func CleanupPK(day time.Time, note string) string { return cleanupPK(day, noteShard(note)) }

// CleanupPKs returns the partitions of one day, in order.
func CleanupPKs(day time.Time) []string {
	all := make([]string, noteShards)
	for shard := range all {
		all[shard] = cleanupPK(day, uint32(shard))
	}
	return all
}

func cleanupPK(day time.Time, shard uint32) string {
	return fmt.Sprintf("CLEANUP#%s#%02d", day.UTC().Format(time.DateOnly), shard)
}

// OutboxPrefix begins the partitions of the outbox.
const OutboxPrefix = "OUTBOX#"

// OutboxPK is OUTBOX#<shard>: where the events of a note or a score wait until they were told.
func OutboxPK(of string) string { return outboxPK(noteShard(of)) }

// OutboxPKs returns all partitions of the outbox.
func OutboxPKs() []string {
	all := make([]string, noteShards)
	for shard := range all {
		all[shard] = outboxPK(uint32(shard))
	}
	return all
}

func outboxPK(shard uint32) string { return fmt.Sprintf("%s%02d", OutboxPrefix, shard) }

// OutboxSK is <instant>#<kind>#<id>#<type>#<about>: events sort by when they happened. Two of an object at the same instant differ in their type, or in the
// share or snapshot that they are about.
func OutboxSK(at time.Time, kind, of, typ, about string) string {
	return Instant(at) + "#" + kind + "#" + escape(of) + "#" + typ + "#" + escape(about)
}

// CleanupSK is NOTE#<note_id>.
func CleanupSK(note string) string { return "NOTE#" + escape(note) }

// Part returns the n-th part of a key, unescaped; "" when there are fewer.
func Part(key string, n int) string {
	for range n {
		_, rest, found := strings.Cut(key, "#")
		if !found {
			return ""
		}
		key = rest
	}
	part, _, _ := strings.Cut(key, "#")
	return unescape(part)
}
