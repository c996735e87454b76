package floor

import (
	"strconv"
	"strings"
)

// The projections with which Taggie reads, and so do those it is compared with. It needs more of a row than the three questions do, since all reads
// of a response share what was read. Notes are read whole.
var (
	Profiles = PartsOf("PK", "SK", "created_at", "email", "name", "updated_at", "user_id", "version")
	Shares   = PartsOf("PK", "SK", "note_id", "owner_id", "permission", "shared_at", "user_id")
	Locators = PartsOf("PK", "SK", "deadline", "permission", "updated_at", "user_id")
	Whole    Parts
)

// Parts are the attributes that a read returns: all when there are none.
type Parts struct {
	Expression string
	Names      map[string]string
}

// PartsOf names attributes.
func PartsOf(attributes ...string) Parts {
	p := Parts{Names: map[string]string{}}
	aliases := make([]string, len(attributes))
	for i, name := range attributes {
		aliases[i] = "#" + strconv.Itoa(i)
		p.Names[aliases[i]] = name
	}
	p.Expression = strings.Join(aliases, ", ")
	return p
}
