package dynamo

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// projection makes reads return some attributes only. It saves bytes on the wire and their decoding, not read units. The
// zero projection returns everything.
type projection struct {
	expression *string
	names      map[string]string // attribute names, since some are reserved words
}

// withoutContent leaves out the one attribute that may be large; every other attribute of the rows of the notes table that
// is read is here.
var withoutContent = project("PK", "SK", "note_id", "user_id", "owner_id", "title", "deadline", "tags", "tag", "version",
	"snapshot", "created_at", "updated_at", "deleted_at", "permission", "shared_at")

// keysOnly is for rows that are only to be found.
var keysOnly = project("PK", "SK")

func project(attributes ...string) projection {
	p := projection{names: make(map[string]string, len(attributes))}
	aliases := make([]string, len(attributes))
	for i, attribute := range attributes {
		aliases[i] = "#" + strconv.Itoa(i)
		p.names[aliases[i]] = attribute
	}
	p.expression = aws.String(strings.Join(aliases, ", "))
	return p
}

// WithoutContent returns the store for reads that do not need the content of notes and versions: it may have 350 KB each.
// What it returns must not be written back.
func (db Notes) WithoutContent() Notes {
	light := *db.DB
	light.project = withoutContent
	return Notes{DB: &light}
}
