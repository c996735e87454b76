package projects

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
)

// The attributes that name a user in rows of projects.
const (
	effortUser     = "user"
	effortReviewer = "reviewed_by"
	itemClaim      = "claim_user"
	itemReturned   = "returned_to"
	itemOriginal   = "original"

	importOriginals = "originals"
)

// whoDid are the attributes of those who did something to a project or scope, where nothing needs to tell them apart.
var whoDid = []string{"created_by", "deleted_by", "updated_by"}

// tracedEntities are the rows that name a user: efforts and items, and what tells who made or changed it. Rows of clients have attributes of these names, too:
// they are theirs, and stay as they are.
func tracedEntities(id user.ID) dynamo.Traced {
	return dynamo.Traced{
		Table: dynamo.EntitiesMaster, Attributes: append([]string{effortUser, effortReviewer, itemClaim, itemReturned}, whoDid...),
		Unless: dynamo.EntitiesByScope.PK,
		Or:     "begins_with(#original, :owner)", Names: map[string]string{"#original": itemOriginal}, Values: dynamo.Attrs{":owner": dynamo.Str(keys.EncodeUUID(string(id)))},
	}
}

// tracedTypes are the types of these rows.
var tracedTypes = []string{EffortType, ItemType, "Project", "Scope", "Guidelines", importType, exportType, removalType}

// partOf returns the scope and the type of a row of entities_master, without its shard.
func partOf(key dynamo.Key) (in project.ID, typ string) {
	parts := keys.Split(key.SK)
	if len(parts) != 2 {
		return "", ""
	}
	typ, _, _ = strings.Cut(parts[1], "~")
	return project.ID(parts[0]), typ
}

// EraseTraces erases on one page of the table, from a position on, what the rows of projects and scopes say about a user, and returns how many rows it met that
// name the user, and where to go on; "" at the end. Efforts, reviews and items get the pseudonym that the user has in their project. Who created, changed or
// deleted something is [user.Erased] from then on. What clients keep in their own entities stays.
//
// Index: primary, by Scan. Key: all rows of entities_master. Each row is changed on condition that it names the user still; efforts as in eraseEffort, items as
// in eraseItem. Cost: 1 consistent Scan of up to 1 MB; for each row that it shows 1 TransactWriteItems of 1 row, for items and efforts 1 BatchGetItem or
// TransactGetItems and 1 TransactWriteItems of up to 6 rows; for each project the first time a pseudonym.
func (db Store) EraseTraces(ctx context.Context, id user.ID, position string, pseudonyms user.Pseudonyms) (met int, next string, err error) {
	found, next, err := db.Traces(ctx, tracedEntities(id), string(id), position)
	if err != nil {
		return 0, "", err
	}
	ours := found[:0]
	for _, t := range found {
		if _, typ := partOf(t.Key); slices.Contains(tracedTypes, typ) {
			ours = append(ours, t)
		}
	}
	return len(ours), next, dynamo.EraseEach(db.DB, ours, func(t dynamo.Trace) error {
		in, typ := partOf(t.Key)
		if typ != EffortType && typ != ItemType {
			a := t.Replacing(dynamo.EntitiesMaster, string(id), string(user.Erased))
			if typ == importType { // of items of who created it, which are gone
				a.Update += " REMOVE " + importOriginals
			}
			return db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
		}
		as, err := pseudonyms(ctx, id, string(in))
		switch {
		case err != nil:
			return err
		case typ == EffortType:
			return db.eraseEffort(ctx, project.EffortID{Project: in, ID: t.Key.PK}, id, as)
		}
		return db.eraseItem(ctx, project.ItemID{Project: in, ID: t.Key.PK}, id, as)
	})
}

// eraseEffort puts a pseudonym in the place of who finished or reviewed something. The item gets another version with it: whoever has read both before reads
// them again. Nothing happens when neither is the user any more. An effort whose item is missing is in no list of the user afterwards, nor of the pseudonym.
//
// Index: primary. Key: <effort>/<project>:ProjectItemEffort~<shard>; <item>/<project>:ProjectItem~<shard> on condition of its version;
// <project>:User:<user>/effort:… and /review:… of the user and of the pseudonym. Cost: 1 BatchGetItem, 1 TransactGetItems of 2 rows and 1 TransactWriteItems of
// 1 to 6 rows; more when the item changes meanwhile.
func (db Store) eraseEffort(ctx context.Context, id project.EffortID, of, as user.ID) error {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	for idle := 0; ; idle++ {
		known, errs := db.EffortsByID(ctx, []project.EffortID{id})
		if errs != nil && errs[0] != nil {
			return unlessMissing(errs[0])
		}
		before, item, err := db.effortWithItem(ctx, known[0])
		if err == nil {
			err = db.Transact(ctx, effortOfAnother(before, item, of, as), idempotency.Key{})
		}
		if errors.Is(err, dynamo.ErrMissing) {
			return nil
		}
		if !errors.Is(err, dynamo.ErrMoved) || !db.Pause(ctx, idle) {
			return err
		}
	}
}

// effortWithItem reads an effort again, together with its item; nil when that is missing. [dynamo.ErrMissing] when the effort is.
func (db Store) effortWithItem(ctx context.Context, known project.Effort) (e project.Effort, item *project.Item, err error) {
	if known.Item == "" {
		return known, nil, nil
	}
	item = new(project.Item)
	read := db.TransactGet(ctx, []dynamo.Want{WantEffort(known.EffortID, &e), WantItem(project.ItemID{Project: known.Project, ID: known.Item}, item)})
	if errors.Is(read[1], dynamo.ErrMissing) {
		return e, nil, read[0]
	}
	return e, item, errors.Join(read...)
}

// effortOfAnother is the change of an effort, of its item if there is one, and of what links to the effort; nothing where it does not name the user.
func effortOfAnother(before project.Effort, item *project.Item, of, as user.ID) []dynamo.Action {
	after := before
	t := dynamo.Trace{Key: entities.ShardedKey(EffortID(before.EffortID))}
	if before.User == of {
		after.User, t.Attributes = as, append(t.Attributes, effortUser)
	}
	if before.Review.By == of {
		after.Review.By, t.Attributes = as, append(t.Attributes, effortReviewer)
	}
	if len(t.Attributes) == 0 {
		return nil
	}
	actions := []dynamo.Action{t.Replacing(dynamo.EntitiesMaster, string(of), string(as))}
	if item != nil {
		actions = append(actions, nextVersion(*item))
	}
	if before.User != of {
		return actions
	}
	from, to := EffortOf(UserIn(before.Project, before.User), before), EffortOf(UserIn(after.Project, after.User), after)
	actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(from), Remove: true})
	if item != nil && before.RemovedAt.IsZero() { // those of removed items are their members' no longer
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(to, after.FinishedAt, nil)})
	}
	if before.ToReview {
		actions = append(actions, dynamo.Action{Table: dynamo.IndexEntries, Key: ReviewKey(before), Remove: true})
	}
	if item != nil && after.AwaitsReview() {
		actions = append(actions, dynamo.Action{Table: dynamo.IndexEntries, Item: ReviewRow(after)})
	}
	return actions
}

// nextVersion gives an item the version that follows, on condition that it is as it was read.
func nextVersion(i project.Item) dynamo.Action {
	a := dynamo.Action{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(i.ItemID)), Update: "SET #meta.#version = :next",
		Values: dynamo.Attrs{":next": dynamo.Number(int64(i.Version + 1))}, Failed: dynamo.Moved}
	return a.IfVersion(i.Version, "_meta", "version")
}

// eraseItem puts a pseudonym in the place of who has an item, for whom it is kept, and of whose item it was made. The item gets another version.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition of its version. Cost: 1 BatchGetItem and 1 TransactWriteItems of 1 row; more when
// the item changes meanwhile.
func (db Store) eraseItem(ctx context.Context, id project.ItemID, of, as user.ID) error {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	for idle := 0; ; idle++ {
		items, _, errs := db.ItemsByID(ctx, "", []project.ItemID{id})
		if errs != nil && errs[0] != nil {
			return unlessMissing(errs[0])
		}
		a := nextVersion(items[0])
		replace := func(is bool, name, by string) {
			if is {
				a.Update += ", #" + name + " = :" + name
				a.Names["#"+name], a.Values[":"+name] = name, dynamo.Str(by)
			}
		}
		replace(items[0].Claim.User == of, itemClaim, string(as))
		replace(items[0].ReturnedTo == of, itemReturned, string(as))
		original := items[0].Original
		original.Owner = as
		replace(items[0].Original.Owner == of, itemOriginal, originalKey(original))
		if len(a.Names) == len(nextVersion(items[0]).Names) {
			return nil
		}
		err := db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
		if !errors.Is(err, dynamo.ErrMoved) || !db.Pause(ctx, idle) {
			return err
		}
	}
}

// unlessMissing is nil for what is gone.
func unlessMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
