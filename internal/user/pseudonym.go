package user

import (
	"context"

	"github.com/google/uuid"
)

// Erased stands in others' rows for users who were erased, where nothing needs to tell them apart: as the author of a version of a note, or
// as who created a project. There is no profile with this id.
const Erased ID = "00000000-0000-8000-8000-000000000000"

// pseudonyms is the version of UUIDs that only [Erased] and pseudonyms have.
const pseudonyms = 8

// Pseudonym makes of a random UUID the id under which a project keeps what an erased user did. It tells nothing about the user, and there
// is no profile with this id.
func Pseudonym(random uuid.UUID) ID {
	random[6] = random[6]&0x0f | pseudonyms<<4
	random[8] = random[8]&0x3f | 0x80 // as in every UUID of RFC 9562
	return ID(random.String())
}

// Pseudonyms returns the pseudonym of a user in a project; the same each time it is asked, for as long as the user is being erased.
type Pseudonyms func(ctx context.Context, id ID, project string) (ID, error)

// IsErased reports whether an id is [Erased] or a pseudonym: it needs no read to know that there is no profile with it.
func IsErased(id ID) bool {
	const at = len("00000000-0000-")
	return len(id) == len(Erased) && id[at] == '0'+pseudonyms
}
