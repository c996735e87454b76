package projects

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// NoSuchItem is what somebody is told who names an item that is not there.
const NoSuchItem = "there is no such item"

// ItemType is the type of items, of which each project has very many.
const ItemType = "ProjectItem"

// ItemID is an item of a project as an entity.
func ItemID(id project.ItemID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: ItemType, ID: id.ID}
}

// StatusEntry is the name of the index, and the key in it, under which an item is listed.
func StatusEntry(i project.Item) (name, key string) {
	shard := keys.Shard(i.ID)
	return keys.IndexName(keys.StatusIndex, shard), keys.StatusKey(string(i.Status), shard, i.Seq)
}

// itemRecord is an item as its row keeps it.
type itemRecord struct {
	*project.Item
	header   entities.Header
	metadata types.AttributeValue
	place    place
	counted  bool // its efforts were, by a move
}

// itemRows are the attributes of items. Light reads leave out the metadata, and what only the next move needs.
var itemRows = dynamo.LayoutOf(append(dynamo.BigOnes(entities.HeaderOf(func(r *itemRecord) *entities.Header { return &r.header }), "_index_entries"),
	dynamo.Optional(dynamo.OfText("external_id", func(r *itemRecord) *string { return &r.ExternalID })),
	dynamo.Optional(dynamo.OfText("name", func(r *itemRecord) *string { return &r.Name })),
	dynamo.Optional(dynamo.OfText("type", func(r *itemRecord) *string { return &r.Type })),
	dynamo.Optional(dynamo.OfText("url", func(r *itemRecord) *string { return &r.URL })),
	dynamo.Big(dynamo.RowAttribute[itemRecord]{
		Name:  "metadata",
		Write: func(r *itemRecord) types.AttributeValue { return r.metadata },
		Read: func(r *itemRecord, v dynamo.Value) error {
			of, err := v.Any()
			r.Metadata, _ = of.(map[string]any)
			return err
		},
	}),
	dynamo.Optional(dynamo.OfText("status", func(r *itemRecord) *project.Status { return &r.Status })),
	dynamo.Optional(dynamo.OfText("seq", func(r *itemRecord) *string { return &r.Seq })),
	dynamo.Optional(dynamo.OfText("category", func(r *itemRecord) *string { return &r.Category })),
	dynamo.Optional(dynamo.OfText("subcategory", func(r *itemRecord) *string { return &r.Subcategory })),
	dynamo.Optional(dynamo.OfTexts("keywords", func(r *itemRecord) *[]string { return &r.Keywords })),
	dynamo.OfWhole("efforts", func(r *itemRecord) *int { return &r.Efforts }),
	dynamo.RowAttribute[itemRecord]{ // moves write it
		Name: EffortsMade,
		Read: func(r *itemRecord, v dynamo.Value) (err error) {
			r.EffortsMade, err = v.Int()
			r.counted = true
			return err
		},
	},
	dynamo.Optional(dynamo.OfText("last_effort", func(r *itemRecord) *string { return &r.LastEffort })),
	dynamo.Big(dynamo.RowAttribute[itemRecord]{
		Name: "last_transition",
		Write: func(r *itemRecord) types.AttributeValue {
			if r.LastTransition.ID == "" {
				return nil
			}
			return dynamo.Str(timed(r.LastTransition.At.UnixMilli(), r.LastTransition.ID))
		},
		Read: func(r *itemRecord, v dynamo.Value) error {
			last, err := v.Str()
			at, id := parseTimed(last)
			r.LastTransition = project.TransitionRef{ID: id, At: time.UnixMilli(at).UTC()}
			return err
		},
	}),
	dynamo.Optional(dynamo.OfText("claim_user", func(r *itemRecord) *project.UserID { return &r.Claim.User })),
	dynamo.Optional(dynamo.OfText("claim_token", func(r *itemRecord) *string { return &r.Claim.Token })),
	dynamo.Optional(dynamo.OfInstant("claim_since", func(r *itemRecord) *time.Time { return &r.Claim.Since })),
	dynamo.Optional(dynamo.OfInstant("claim_until", func(r *itemRecord) *time.Time { return &r.Claim.Until })),
	dynamo.Optional(dynamo.OfWhole("claim_lease", func(r *itemRecord) *project.Lease { return &r.Claim.Lease })),
	dynamo.Optional(dynamo.OfFlag("claim_unreviewed", func(r *itemRecord) *bool { return &r.Claim.Unreviewed })),
	dynamo.Optional(dynamo.OfText("returned_to", func(r *itemRecord) *project.UserID { return &r.ReturnedTo })),
	dynamo.Optional(dynamo.OfText("was", func(r *itemRecord) *project.Status { return &r.Was })),
	dynamo.Optional(dynamo.OfText("removal", func(r *itemRecord) *string { return &r.Removal })),
	dynamo.Optional(dynamo.OfText("import", func(r *itemRecord) *string { return &r.Import })),
	dynamo.OfWhole("line", func(r *itemRecord) *int { return &r.Line }),
	dynamo.RowAttribute[itemRecord]{
		Name: "original",
		Write: func(r *itemRecord) types.AttributeValue {
			if r.Original.ID == "" {
				return nil
			}
			return dynamo.Str(originalKey(r.Original))
		},
		Read: func(r *itemRecord, v dynamo.Value) (err error) { r.Original, err = readOriginal(v); return err },
	},
	dynamo.IndexKey(dynamo.ItemsByName.PK, func(r *itemRecord) string { return r.place.letter }),
	dynamo.IndexKey(dynamo.ItemsByName.SK, func(r *itemRecord) string { return r.place.order }),
)...)

// ItemRow is the item without its entry of the index.
func ItemRow(i project.Item) (dynamo.Attrs, error) {
	id := ItemID(i.ItemID)
	name, key := StatusEntry(i)
	r := itemRecord{Item: &i, place: placeOf(i), header: entities.Header{
		ID: id, Version: i.Version, Created: i.CreatedAt, Updated: i.UpdatedAt, Index: map[string][]string{name: {key}}, Key: entities.ShardedKey(id),
	}}
	if len(i.Metadata) > 0 {
		var err error
		if r.metadata, err = dynamo.Attribute(i.Metadata); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the metadata of %q holds something that cannot be kept", i.ExternalID)
		}
	}
	return itemRows.Row(&r), nil
}

// DecodeItem reads what [ItemRow] made.
func DecodeItem(item dynamo.Item, i *project.Item) error {
	r := itemRows.Take()
	defer itemRows.Give(r)
	r.Item = i
	err := itemRows.Decode(item, r)
	h := &r.header
	i.ItemID, i.Version = project.ItemID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Version
	i.CreatedAt, i.UpdatedAt = h.Created, h.Updated
	if !r.counted { // no move has touched it: none of its efforts was taken back
		i.EffortsMade = i.Efforts
	}
	return err
}

// originalKey spells an item of a user as the keys of its row, joined: <owner><score><item>.
func originalKey(id project.OriginalID) string {
	return keys.EncodeUUID(string(id.Owner)) + keys.ItemSK(id.Score, id.ID)
}

func readOriginal(v dynamo.Value) (project.OriginalID, error) {
	s, err := v.Str()
	if err != nil {
		return project.OriginalID{}, err
	}
	return parseOriginal(s)
}

// readOriginals reads a list of them.
func readOriginals(v dynamo.Value) ([]project.OriginalID, error) {
	var all []project.OriginalID
	err := v.List(func(s string) error {
		id, err := parseOriginal(s)
		all = append(all, id)
		return err
	})
	return all, err
}

func parseOriginal(s string) (project.OriginalID, error) {
	ids, err := keys.SplitIDs(s, "", 3)
	if err != nil {
		return project.OriginalID{}, err
	}
	return project.OriginalID{Owner: project.UserID(ids[0]), Score: ids[1], ID: ids[2]}, nil
}

// WantItem reads an item.
func WantItem(id project.ItemID, into *project.Item) dynamo.Want {
	return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(id)), Decode: func(item dynamo.Item) error { return DecodeItem(item, into) }}
}

// ItemsByID reads items, and with them the memberships of the user in their projects.
//
// Index: primary. Key: _id = <item> AND _scope_type_key = <project>:ProjectItem~<shard>; of each project
// _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈(n + projects)/100⌉ BatchGetItem.
func (db Store) ItemsByID(ctx context.Context, user project.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	items := make([]project.Item, len(ids))
	wants := make([]dynamo.Want, 0, len(ids)+1)
	var projects []project.ID
	at := map[project.ID]int{}
	for i, id := range ids {
		wants = append(wants, WantItem(id, &items[i]))
		if _, seen := at[id.Project]; !seen && user != "" {
			at[id.Project] = len(projects)
			projects = append(projects, id.Project)
		}
	}
	found := make([]project.Member, len(projects))
	for n, id := range projects {
		wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(id, user), Decode: func(item dynamo.Item) error { return DecodeProjectMember(item, &found[n]) }})
	}
	all := db.BatchGet(ctx, wants)
	errs, unknown := all[:len(ids)], all[len(ids):]
	members := make(map[project.ID]project.Member, len(projects))
	for n, id := range projects {
		if unknown[n] == nil {
			members[id] = found[n]
		}
	}
	for i, id := range ids {
		n, asked := at[id.Project]
		if asked && errs[i] == nil && unknown[n] != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = unknown[n]
		}
	}
	return items, members, dynamo.Missing(errs, NoSuchItem)
}

// linkIndex orders the items of a label: by when they came into the project, and by line within the millisecond. It is made of
// what never changes about an item, so that the link can be found again when it is to be removed.
func linkIndex(i project.Item) int64 { return i.CreatedAt.UnixMilli()*1_000 + int64(i.Line%1_000) }

// Labelled is that an item was found to be a label; false when it was not, or is removed.
func Labelled(i project.Item, kind project.Kind) (entity.Relation, bool) {
	label := i.Category
	if kind == project.Subcategory {
		label = i.Subcategory
	}
	return entity.Relation{
		Subject: ItemID(i.ItemID), Predicate: linkPredicate(kind), Index: linkIndex(i),
		Object: labelID(project.LabelID{Project: i.Project, Kind: kind, ID: label}),
	}, label != "" && !i.Status.Hidden()
}

func linkPredicate(kind project.Kind) string {
	if kind == project.Subcategory {
		return "subcategory"
	}
	return "category"
}
