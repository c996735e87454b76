package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

const noSuchItem = "there is no such item"

// itemType is the type of items, of which each project has very many.
const itemType = "ProjectItem"

func itemID(id project.ItemID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: itemType, ID: id.ID}
}

// statusEntry is the name of the index, and the key in it, under which an item is listed.
func statusEntry(i project.Item) (name, key string) {
	shard := keys.Shard(i.ID)
	return keys.IndexName(keys.StatusIndex, shard), keys.StatusKey(string(i.Status), shard, i.Seq)
}

// itemRecord is an item as its row keeps it.
type itemRecord struct {
	*project.Item
	header   header
	metadata types.AttributeValue
	counted  bool // its efforts were, by a move
}

// itemRows are the attributes of items. Light reads leave out the metadata, and what only the next move needs.
var itemRows = layoutOf(append(bigOnes(headerOf(func(r *itemRecord) *header { return &r.header }), "_index_entries"),
	optional(ofText("external_id", func(r *itemRecord) *string { return &r.ExternalID })),
	optional(ofText("name", func(r *itemRecord) *string { return &r.Name })),
	optional(ofText("type", func(r *itemRecord) *string { return &r.Type })),
	optional(ofText("url", func(r *itemRecord) *string { return &r.URL })),
	big(rowAttribute[itemRecord]{
		name:  "metadata",
		write: func(r *itemRecord) types.AttributeValue { return r.metadata },
		read: func(r *itemRecord, v value) error {
			of, err := v.any()
			r.Metadata, _ = of.(map[string]any)
			return err
		},
	}),
	optional(ofText("status", func(r *itemRecord) *project.Status { return &r.Status })),
	optional(ofText("seq", func(r *itemRecord) *string { return &r.Seq })),
	optional(ofText("category", func(r *itemRecord) *string { return &r.Category })),
	optional(ofText("subcategory", func(r *itemRecord) *string { return &r.Subcategory })),
	optional(ofTexts("keywords", func(r *itemRecord) *[]string { return &r.Keywords })),
	ofWhole("efforts", func(r *itemRecord) *int { return &r.Efforts }),
	rowAttribute[itemRecord]{ // moves write it
		name: effortsMade,
		read: func(r *itemRecord, v value) (err error) { r.EffortsMade, err = v.int(); r.counted = true; return err },
	},
	optional(ofText("last_effort", func(r *itemRecord) *string { return &r.LastEffort })),
	big(rowAttribute[itemRecord]{
		name: "last_transition",
		write: func(r *itemRecord) types.AttributeValue {
			if r.LastTransition.ID == "" {
				return nil
			}
			return str(timed(r.LastTransition.At.UnixMilli(), r.LastTransition.ID))
		},
		read: func(r *itemRecord, v value) error {
			last, err := v.str()
			at, id := parseTimed(last)
			r.LastTransition = project.TransitionRef{ID: id, At: time.UnixMilli(at).UTC()}
			return err
		},
	}),
	optional(ofText("claim_user", func(r *itemRecord) *project.UserID { return &r.Claim.User })),
	optional(ofText("claim_token", func(r *itemRecord) *string { return &r.Claim.Token })),
	optional(ofInstant("claim_since", func(r *itemRecord) *time.Time { return &r.Claim.Since })),
	optional(ofInstant("claim_until", func(r *itemRecord) *time.Time { return &r.Claim.Until })),
	optional(ofText("returned_to", func(r *itemRecord) *project.UserID { return &r.ReturnedTo })),
	optional(ofText("import", func(r *itemRecord) *string { return &r.Import })),
	ofWhole("line", func(r *itemRecord) *int { return &r.Line }),
	rowAttribute[itemRecord]{
		name: "original",
		write: func(r *itemRecord) types.AttributeValue {
			if r.Original.ID == "" {
				return nil
			}
			return str(originalKey(r.Original))
		},
		read: func(r *itemRecord, v value) (err error) { r.Original, err = readOriginal(v); return err },
	},
)...)

// itemRow is the item without its entry of the index.
func itemRow(i project.Item) (attrs, error) {
	id := itemID(i.ItemID)
	name, key := statusEntry(i)
	r := itemRecord{Item: &i, header: header{
		ID: id, Version: i.Version, Created: i.CreatedAt, Updated: i.UpdatedAt, Index: map[string][]string{name: {key}}, key: shardedKey(id),
	}}
	if len(i.Metadata) > 0 {
		var err error
		if r.metadata, err = attribute(i.Metadata); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the metadata of %q holds something that cannot be kept", i.ExternalID)
		}
	}
	return itemRows.row(&r), nil
}

func decodeItem(item []byte, i *project.Item) error {
	r := itemRows.take()
	defer itemRows.give(r)
	r.Item = i
	err := itemRows.decode(item, r)
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

func readOriginal(v value) (project.OriginalID, error) {
	s, err := v.str()
	if err != nil {
		return project.OriginalID{}, err
	}
	return parseOriginal(s)
}

// readOriginals reads a list of them.
func readOriginals(v value) ([]project.OriginalID, error) {
	var all []project.OriginalID
	err := v.list(func(s string) error {
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

// wantItem reads an item.
func wantItem(id project.ItemID, into *project.Item) want {
	return want{entitiesMaster, shardedKey(itemID(id)), func(item []byte) error { return decodeItem(item, into) }}
}

// ItemsByID reads items, and with them the memberships of the user in their projects.
//
// Index: primary. Key: _id = <item> AND _scope_type_key = <project>:ProjectItem~<shard>; of each project
// _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈(n + projects)/100⌉ BatchGetItem.
func (db Projects) ItemsByID(ctx context.Context, user project.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	items := make([]project.Item, len(ids))
	wants := make([]want, 0, len(ids)+1)
	var projects []project.ID
	at := map[project.ID]int{}
	for i, id := range ids {
		wants = append(wants, wantItem(id, &items[i]))
		if _, seen := at[id.Project]; !seen && user != "" {
			at[id.Project] = len(projects)
			projects = append(projects, id.Project)
		}
	}
	found := make([]project.Member, len(projects))
	for n, id := range projects {
		wants = append(wants, want{relationshipEntries, projectMemberKey(id, user), func(item []byte) error { return decodeProjectMember(item, &found[n]) }})
	}
	all := db.batchGet(ctx, wants)
	errs, unknown := all[:len(ids)], all[len(ids):]
	members := make(map[project.ID]project.Member, len(projects))
	for n, id := range projects {
		if unknown[n] == nil {
			members[id] = found[n]
		}
	}
	for i, id := range ids {
		n, asked := at[id.Project]
		if asked && errs[i] == nil && unknown[n] != errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = unknown[n]
		}
	}
	return items, members, missing(errs, noSuchItem)
}

// linkIndex orders the items of a label: by when they came into the project, and by line within the millisecond. It is made of
// what never changes about an item, so that the link can be found again when it is to be removed.
func linkIndex(i project.Item) int64 { return i.CreatedAt.UnixMilli()*1_000 + int64(i.Line%1_000) }

// labelled is that an item was found to be a label; false when it was not.
func labelled(i project.Item, kind project.Kind) (entity.Relation, bool) {
	label := i.Category
	if kind == project.Subcategory {
		label = i.Subcategory
	}
	return entity.Relation{
		Subject: itemID(i.ItemID), Predicate: linkPredicate(kind), Index: linkIndex(i),
		Object: labelID(project.LabelID{Project: i.Project, Kind: kind, ID: label}),
	}, label != ""
}

func linkPredicate(kind project.Kind) string {
	if kind == project.Subcategory {
		return "subcategory"
	}
	return "category"
}
