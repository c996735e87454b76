package project

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ItemIDOf returns the id of the item with this external id: the same one always, so that an item is there once however
// often it is imported.
func ItemIDOf(project ID, externalID string) ItemID {
	space, err := uuid.Parse(string(project))
	if err != nil {
		// Projects have UUIDs; whatever else a client asks for is a space of its own, in which there is nothing.
		space = uuid.NewSHA1(uuid.Nil, []byte(project))
	}
	return ItemID{Project: project, ID: uuid.NewSHA1(space, []byte(externalID)).String()}
}

// Imported is an item as a line of an import tells it.
type Imported struct {
	Line       int // from 1
	ExternalID string
	Name       string
	Type       string
	URL        string
	Metadata   map[string]any // JSON: string, json.Number, bool, nil, []any, map[string]any
	Original   OriginalID     // of what it is made; without an owner, who is that of the import; zero for a line of a client's file
}

// Item returns the item that the line describes, a NEW one. Invalid when the line breaks a rule; Field is the name of what
// is wrong, as it is in a file of items: "externalId".
func (i Import) Item(r Imported, now time.Time) (Item, error) {
	if err := checkExternalID("externalId", r.ExternalID); err != nil {
		return Item{}, err
	}
	name, err := parseLine("name", "a name", r.Name, MaxItemNameRunes)
	if err != nil {
		return Item{}, err
	}
	typ, err := parseOptional("type", "a type", r.Type, MaxItemTypeRunes)
	if err != nil {
		return Item{}, err
	}
	url, err := parseURL("url", r.URL)
	if err != nil {
		return Item{}, err
	}
	if err := checkMetadata("metadata", r.Metadata); err != nil {
		return Item{}, err
	}
	now = now.UTC().Truncate(time.Millisecond)
	item := Item{
		ItemID: ItemIDOf(i.Project, r.ExternalID), ExternalID: r.ExternalID, Name: name, Type: typ, URL: url,
		Status: New, Seq: seq(i.CreatedAt, r.Line), Version: 1, CreatedAt: now, UpdatedAt: now, Import: i.ID, Line: r.Line,
	}
	if len(r.Metadata) > 0 {
		item.Metadata = r.Metadata
	}
	if r.Original.ID != "" {
		item.Original = r.Original
		item.Original.Owner = i.CreatedBy
	}
	return item, nil
}

// seq returns the place of an item: imports by when they were created, and their lines. It sorts as text until the year 2286.
func seq(created time.Time, line int) string {
	return fmt.Sprintf("%013d%07d", created.UnixMilli(), line)
}
