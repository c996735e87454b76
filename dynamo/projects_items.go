package dynamo

import (
	"context"
	"time"

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

// itemRow is the item without its entry of the index.
func itemRow(i project.Item) (attrs, error) {
	row := nonEmpty(map[string]string{
		"external_id": i.ExternalID, "name": i.Name, "type": i.Type, "url": i.URL, "status": string(i.Status), "seq": i.Seq,
		"category": i.Category, "subcategory": i.Subcategory, "last_effort": i.LastEffort, "import": i.Import,
		"claim_user": string(i.Claim.User), "claim_token": i.Claim.Token, "claim_since": whenSet(i.Claim.Since), "claim_until": whenSet(i.Claim.Until),
		"returned_to": string(i.ReturnedTo),
	})
	if i.Original.ID != "" {
		row["original"] = str(originalKey(i.Original))
	}
	if last := i.LastTransition; last.ID != "" {
		row["last_transition"] = str(timed(last.At.UnixMilli(), last.ID))
	}
	row["efforts"], row["line"] = number(int64(i.Efforts)), number(int64(i.Line))
	if len(i.Keywords) > 0 {
		row["keywords"] = texts(i.Keywords)
	}
	if len(i.Metadata) > 0 {
		metadata, err := attribute(i.Metadata)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the metadata of %q holds something that cannot be kept", i.ExternalID)
		}
		row["metadata"] = metadata
	}
	name, key := statusEntry(i)
	id := itemID(i.ItemID)
	return entityRow(shardedKey(id), header{ID: id, Version: i.Version, Created: i.CreatedAt, Updated: i.UpdatedAt, Index: map[string][]string{name: {key}}}, row), nil
}

func decodeItem(item []byte, i *project.Item) error {
	var h header
	counted := false
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "external_id":
			i.ExternalID, err = v.str()
		case "name":
			i.Name, err = v.str()
		case "type":
			i.Type, err = v.str()
		case "url":
			i.URL, err = v.str()
		case "metadata":
			var of any
			of, err = v.any()
			i.Metadata, _ = of.(map[string]any)
		case "status":
			err = readText(v, &i.Status)
		case "seq":
			i.Seq, err = v.str()
		case "category":
			i.Category, err = v.str()
		case "subcategory":
			i.Subcategory, err = v.str()
		case "keywords":
			i.Keywords, err = readTexts(v)
		case "efforts":
			i.Efforts, err = v.int()
		case effortsMade:
			i.EffortsMade, err = v.int()
			counted = true
		case "last_effort":
			i.LastEffort, err = v.str()
		case "last_transition":
			var last string
			last, err = v.str()
			at, id := parseTimed(last)
			i.LastTransition = project.TransitionRef{ID: id, At: time.UnixMilli(at).UTC()}
		case "claim_user":
			err = readText(v, &i.Claim.User)
		case "claim_token":
			i.Claim.Token, err = v.str()
		case "claim_since":
			i.Claim.Since, err = v.instant()
		case "claim_until":
			i.Claim.Until, err = v.instant()
		case "returned_to":
			err = readText(v, &i.ReturnedTo)
		case "import":
			i.Import, err = v.str()
		case "line":
			i.Line, err = v.int()
		case "original":
			i.Original, err = readOriginal(v)
		default:
			err = h.read(name, v)
		}
		return err
	})
	i.ItemID, i.Version = project.ItemID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Version
	i.CreatedAt, i.UpdatedAt = h.Created, h.Updated
	if !counted { // no move has touched it: none of its efforts was taken back
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
