package user

import (
	"context"
	"strings"

	"github.com/google/uuid"
)

// Erased stands in others' rows for users who were erased, where nothing needs to tell them apart: as the author of a version of a note, or
// as who created a project. There is no profile with this id.
const Erased ID = "00000000-0000-8000-8000-000000000000"

// Pseudonym makes of a random UUID the id under which a project keeps what an erased user did. It tells nothing about the user, and there
// is no profile with this id: only [Erased] and pseudonyms are UUIDs of version 8 that begin with 48 zeros. 74 bits of it are random.
func Pseudonym(random uuid.UUID) ID {
	copy(random[:6], make([]byte, 6))
	random[6] = random[6]&0x0f | 8<<4
	random[8] = random[8]&0x3f | 0x80 // as in every UUID of RFC 9562
	return ID(random.String())
}

// Pseudonyms returns the pseudonym of a user in a project; the same each time it is asked, for as long as the user is being erased.
type Pseudonyms func(ctx context.Context, id ID, project string) (ID, error)

// IsErased reports whether an id is [Erased] or a pseudonym: it needs no read to know that there is no profile with it.
func IsErased(id ID) bool {
	return len(id) == len(Erased) && strings.HasPrefix(string(id), erasedPrefix)
}

// erasedPrefix is how [Erased] and pseudonyms begin.
const erasedPrefix = "00000000-0000-8"
