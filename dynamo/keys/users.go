package keys

import (
	"strings"
	"time"
	"unicode/utf8"
)

// UsersPK is USERS: GSI1PK of the locks of all addresses, and GSI2PK of these and of all profiles.
const UsersPK = "USERS"

// What a user is found by.
const (
	ByEmail = "EMAIL"
	ByName  = "NAME"
)

// maxFound is how many bytes of a text a user is found by. The name with the longest folded form has more; DynamoDB allows 1,024 bytes for the
// sort key of an index.
const maxFound = 900

// FoundText returns the part of a folded name or address, or of a prefix of one, that is in a key.
func FoundText(folded string) string {
	if len(folded) <= maxFound {
		return folded
	}
	end := maxFound
	for !utf8.RuneStart(folded[end]) {
		end--
	}
	return folded[:end]
}

// FoundSK is <text>, EMAIL or NAME, and <user_id> with tabs between them: GSI1SK and GSI2SK of the lock of an address, and GSI2SK of a profile.
// Neither addresses nor names have control characters, so that the order is that of the texts.
func FoundSK(folded, by, user string) string {
	return strings.Join([]string{FoundText(folded), by, escape(user)}, orderSeparator)
}

// FoundRow returns which user the row of such a sort key finds, and the primary key of the row.
func FoundRow(sk string) (user, pk, rowSK string) {
	text, rest, _ := strings.Cut(sk, orderSeparator)
	by, id, _ := strings.Cut(rest, orderSeparator)
	user = unescape(id)
	if by == ByEmail {
		return user, EmailPK(text), UniqueEmailsSK
	}
	return user, UserPK(user), ProfileSK
}

// ArchivePrefix begins the sort keys of the archives of a user.
const ArchivePrefix = "ARCHIVE#"

// ArchiveSK is ARCHIVE#<archive_id>, in the partition of the user.
func ArchiveSK(archive string) string { return ArchivePrefix + escape(archive) }

// DeletedUsersPK is DELETED_USERS: GSI2PK of the profiles of deleted users.
const DeletedUsersPK = "DELETED_USERS"

// DeletedUserSK is <instant>#<user_id>: GSI2SK of a deleted user, by the end of the time in which the user can be brought back.
func DeletedUserSK(until time.Time, user string) string { return Instant(until) + "#" + escape(user) }

// DeletedUser returns the user of such a sort key.
func DeletedUser(sk string) string { return Part(sk, 1) }
