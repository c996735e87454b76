package filetags

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

func tagsMoved(dynamo.Attrs) error { return filetag.ErrMoved }

// PutSet replaces a set, and writes what differs of the rows that follow from it. Where that is too much for one transaction the
// counts wait: the set says what is counted, and a task counts the rest if nobody else does.
//
// Index: primary. Key: tagId = #<file> AND valueHash = <author> on condition of its version; tagId = ~public#<file> AND valueHash =
// <author>; tagId = <author>#<file> AND valueHash = <hash>; tagId = ~set#<owner>#<set> AND valueHash = <author> and ~; tagId =
// ~value#<letter>#<author>[#~] and ~value#<letter>[#~<nn>] AND valueHash = <value>; a task or two; o = it:<owner> AND s = <score><item> and o = sc:<owner> AND s = main:<score> as
// conditions. Cost: 1 TransactWriteItems of 1 or 2 rows, 1 or 2 per tag that came or went, with the counts 1 or 2 more per tag and 1 or 2
// per set; with tags that went 1 BatchGetItem, and 1 TransactWriteItems for those that nobody uses any more.
func (db Store) PutSet(ctx context.Context, before, after filetag.Set, proof filetag.Proof, once idempotency.Key) (filetag.Set, error) {
	was := before.Index
	if before.Counted != nil {
		was = *before.Counted
	}
	counts := changedTallies(tagTallies(before.Key, was), tagTallies(after.Key, after.Index))
	after.Counted = nil
	rows := changedRows(fileTagRows(before.Key, before.Index), fileTagRows(after.Key, after.Index))
	if len(rows)+len(counts) == 0 && before.Counted == nil && sameRow(before, after) {
		return before, db.Transact(ctx, nil, once)
	}
	actions := append(tagProof(after, proof), rows...)
	if !proof.Item && len(after.Tags) == 0 && len(before.Found()) > 0 { // nobody has looked whether projects use the item
		proof.Placing = score.FollowingUses(string(after.Item.ID)+"-"+after.Version, db.Now(), after.Item)
	}
	if proof.Placing.ID != "" {
		actions = append(actions, dynamo.TaskAction(proof.Placing))
	}
	// The row of the set, a task and the key of the client are to come.
	if len(actions)+len(counts)+3 > dynamo.MaxActions {
		after.Counted, counts = &was, nil
		if proof.Task.ID == "" {
			proof.Task = score.Following(after.Item, db.Now().Add(task.Lease))
		}
	}
	if proof.Task.ID != "" {
		actions = append(actions, dynamo.TaskAction(proof.Task))
	}
	actions = append([]dynamo.Action{replacedSet(before, after)}, append(actions, counts...)...)
	err := db.Spend(allowedFileTags, string(after.Author), len(after.Tags)-len(before.Tags), func() error { return db.Transact(ctx, actions, once) })
	if err != nil {
		return filetag.Set{}, err
	}
	db.forgetValues(ctx, counts)
	return after, nil
}

// ForgetTask removes a task, unless somebody works on it.
//
// Index: primary. Key: that of the task. Cost: 1 TransactWriteItems of 1 row.
func (db Store) ForgetTask(ctx context.Context, t task.Task) error {
	err := db.Transact(ctx, []dynamo.Action{{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(t), Remove: true, Condition: "attribute_not_exists(#token)",
		Names: dynamo.TaskNames("token"), Failed: tagsMoved}}, idempotency.Key{})
	if errors.Is(err, filetag.ErrMoved) {
		return nil
	}
	return err
}

// sameRow reports whether both are kept alike but for the version.
func sameRow(before, after filetag.Set) bool {
	if len(before.Tags)+len(after.Tags) == 0 {
		return true
	}
	after.Version, after.Counted = before.Version, before.Counted
	a, b := tagSetRow(before), tagSetRow(after)
	return string(dynamo.RowJSON(a)) == string(dynamo.RowJSON(b))
}

// replacedSet puts the row of the set, or removes it with the last tag, once that is counted.
func replacedSet(before, after filetag.Set) dynamo.Action {
	a := dynamo.Action{Table: dynamo.TagsTable, Key: tagSetKey(after.Key), Condition: "attribute_not_exists(#id)", Names: map[string]string{"#id": dynamo.TagsTable.PK}, Failed: tagsMoved}
	if before.Version != "" {
		a.Condition, a.Names, a.Values = "#version = :before", dynamo.Reserved("version"), dynamo.Attrs{":before": dynamo.Str(before.Version)}
	}
	if len(after.Tags) == 0 && after.Counted == nil {
		a.Remove = true
	} else {
		a.Item = tagSetRow(after)
	}
	return a
}

// tagProof are the conditions under which the rows of a set are what they have to be.
func tagProof(s filetag.Set, p filetag.Proof) []dynamo.Action {
	var checks []dynamo.Action
	if p.Item {
		a := dynamo.Action{Table: dynamo.ScoresTable, Key: uses.ItemKey(s.Item), Condition: "attribute_exists(s) AND set_name = :set", Values: dynamo.Attrs{":set": dynamo.Str(p.SetName)}, Failed: tagsMoved}
		if p.SetName == "" {
			a.Condition, a.Values = "attribute_exists(s) AND attribute_not_exists(set_name)", nil
		}
		if !p.Imported {
			a.Condition += " AND attribute_not_exists(" + uses.ImportedAttribute + ")"
		}
		checks = append(checks, a)
	}
	if s.Via != "" && p.Version > 0 {
		checks = append(checks, dynamo.Action{Table: dynamo.ScoresTable, Key: scores.ScoreKey(score.Ref{Owner: s.Item.Owner, ID: s.Via}), Condition: "#version = :version",
			Names: dynamo.Reserved("version"), Values: dynamo.Attrs{":version": dynamo.Number(int64(p.Version))}, Failed: tagsMoved})
	}
	return checks
}

// byKey orders rows, so that transactions of the same rows are the same.
func byKey(a, b dynamo.Key) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK)) }

// changedRows are the actions that make one set of rows the other; what stays is not touched.
func changedRows(before, after map[dynamo.Key]dynamo.Attrs) (actions []dynamo.Action) {
	for _, key := range slices.SortedFunc(maps.Keys(after), byKey) {
		if was, there := before[key]; !there || !bytes.Equal(dynamo.RowJSON(was), dynamo.RowJSON(after[key])) {
			actions = append(actions, dynamo.Action{Table: dynamo.TagsTable, Item: after[key]})
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(before), byKey) {
		if _, stays := after[key]; !stays {
			actions = append(actions, dynamo.Action{Table: dynamo.TagsTable, Key: key, Remove: true})
		}
	}
	return actions
}

// changedTallies are the actions that count what has changed.
func changedTallies(before, after map[dynamo.Key]tagTally) (actions []dynamo.Action) {
	by := maps.Clone(after)
	for key, was := range before {
		t := by[key]
		t.Tags, t.Public = t.Tags-was.Tags, t.Public-was.Public
		by[key] = t
	}
	for _, key := range slices.SortedFunc(maps.Keys(by), byKey) {
		if by[key].Tags != 0 || by[key].Public != 0 {
			actions = append(actions, countsTags(key, by[key]))
		}
	}
	return actions
}

// forgetValues removes the rows of those values that nobody uses any more: a search would have to step over them. It is no
// harm where this is not done.
func (db Store) forgetValues(ctx context.Context, counts []dynamo.Action) {
	var fewer []dynamo.Key
	for _, a := range counts {
		if n, is := a.Values[":tags"].(*types.AttributeValueMemberN); is && n.Value[0] == '-' {
			fewer = append(fewer, a.Key)
		}
	}
	if len(fewer) == 0 {
		return
	}
	ctx, cancel := dynamo.Detached(ctx)
	defer cancel()
	left, wants := make([]tagTally, len(fewer)), make([]dynamo.Want, len(fewer))
	for i, key := range fewer {
		wants[i] = dynamo.Want{Table: dynamo.TagsTable, Key: key, Decode: func(item dynamo.Item) error { return decodeTally(item, &left[i]) }}
	}
	var unused []dynamo.Action
	for i, err := range db.BatchGet(ctx, wants) {
		if err == nil && left[i].Tags == 0 {
			unused = append(unused, dynamo.Action{Table: dynamo.TagsTable, Key: fewer[i], Remove: true, Condition: "#tags = :none", Names: dynamo.Reserved("tags"),
				Values: dynamo.Attrs{":none": dynamo.Number(0)}, Failed: tagsMoved})
		}
	}
	_ = db.Transact(ctx, unused, idempotency.Key{}) // somebody uses one of them again, or the next who drops it removes it
}
