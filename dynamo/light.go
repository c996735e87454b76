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

// projections are the projections of reads, by the full name of the table or index. What has none returns everything.
type projections map[string]projection

// withoutContent leaves out the one attribute that may be large, of all rows of the notes table.
var withoutContent = lightest(noteRows.light(), versionRows.light(), shareRows.light(), taggedRows.light())

// withoutOwn leaves out what clients put into entities.
var withoutOwn = lightest(headerRows.light())

// withoutMetadata leaves out the one attribute of an item that may be large, and what only the next move needs.
var withoutMetadata = lightest(itemRows.light())

func projectionOf(attributes ...string) projection {
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
	return Notes{DB: db.projecting(projections{*db.table(notesTable): withoutContent})}
}

// WithoutAttributes returns the store for reads of entities that do not need their attributes, which may have 350 KB; they
// are empty then. Scopes are entities too, and lack everything: it is good for nothing else.
func (db Entities) WithoutAttributes() Entities {
	return Entities{DB: db.projecting(projections{*db.table(entitiesMaster): withoutOwn, *db.indexName(entitiesByType): withoutOwn})}
}

// WithoutMetadata returns the store for reads of items that do not need their metadata, which may have 100 KB. It is good for
// nothing else.
func (db Projects) WithoutMetadata() Projects {
	return Projects{DB: db.projecting(projections{*db.table(entitiesMaster): withoutMetadata})}
}

func (db *DB) projecting(p projections) *DB {
	light := *db
	light.project = p
	return &light
}
