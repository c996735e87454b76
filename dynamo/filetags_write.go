package dynamo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

func tagsMoved(attrs) error { return filetag.ErrMoved }

// PutSet replaces a set, and writes what differs of the rows that follow from it. Where that is too much for one transaction the
// counts wait: the set says what is counted, and a task counts the rest if nobody else does.
//
// Index: primary. Key: tagId = #<file> AND valueHash = <author> on condition of its version; tagId = ~public#<file> AND valueHash =
// <author>; tagId = <author>#<file> AND valueHash = <hash>; tagId = ~set#<owner>#<set> AND valueHash = <author> and ~; tagId =
// ~value#<letter>#<author>[#~] and ~value#<letter>[#~<nn>] AND valueHash = <value>; a task; o = it:<owner> AND s = <score><item> and o = sc:<owner> AND s = main:<score> as
// conditions. Cost: 1 TransactWriteItems of 1 or 2 rows, 1 or 2 per tag that came or went, with the counts 1 or 2 more per tag and 1 or 2
// per set; with tags that went 1 BatchGetItem, and 1 TransactWriteItems for those that nobody uses any more.
func (db FileTags) PutSet(ctx context.Context, before, after filetag.Set, proof filetag.Proof, once idempotency.Key) (filetag.Set, error) {
	was := before.Index
	if before.Counted != nil {
		was = *before.Counted
	}
	counts := changedTallies(tagTallies(before.Key, was), tagTallies(after.Key, after.Index))
	after.Counted = nil
	rows := changedRows(fileTagRows(before.Key, before.Index), fileTagRows(after.Key, after.Index))
	if len(rows)+len(counts) == 0 && before.Counted == nil && sameRow(before, after) {
		return before, db.transact(ctx, nil, once)
	}
	actions := append(tagProof(after, proof), rows...)
	// The row of the set, a task and the key of the client are to come.
	if len(actions)+len(counts)+3 > maxActions {
		after.Counted, counts = &was, nil
		if proof.Task.ID == "" {
			proof.Task = score.Following(after.Item, db.now().Add(task.Lease))
		}
	}
	if proof.Task.ID != "" {
		actions = append(actions, taskAction(proof.Task))
	}
	actions = append([]action{replacedSet(before, after)}, append(actions, counts...)...)
	err := db.tallies.spend(allowedFileTags, string(after.Author), len(after.Tags)-len(before.Tags), func() error { return db.transact(ctx, actions, once) })
	if err != nil {
		return filetag.Set{}, err
	}
	db.forgetValues(ctx, counts)
	return after, nil
}

// ForgetTask removes a task, unless somebody works on it.
//
// Index: primary. Key: that of the task. Cost: 1 TransactWriteItems of 1 row.
func (db FileTags) ForgetTask(ctx context.Context, t task.Task) error {
	err := db.transact(ctx, []action{{table: relationshipEntries, key: taskKey(t), remove: true, condition: "attribute_not_exists(#token)",
		names: taskNames("token"), failed: tagsMoved}}, idempotency.Key{})
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
	return string(rowJSON(a)) == string(rowJSON(b))
}

// replacedSet puts the row of the set, or removes it with the last tag, once that is counted.
func replacedSet(before, after filetag.Set) action {
	a := action{table: tagsTable, key: tagSetKey(after.Key), condition: "attribute_not_exists(#id)", names: map[string]string{"#id": tagsTable.pk}, failed: tagsMoved}
	if before.Version != "" {
		a.condition, a.names, a.values = "#version = :before", reserved("version"), attrs{":before": str(before.Version)}
	}
	if len(after.Tags) == 0 && after.Counted == nil {
		a.remove = true
	} else {
		a.item = tagSetRow(after)
	}
	return a
}

// tagProof are the conditions under which the rows of a set are what they have to be.
func tagProof(s filetag.Set, p filetag.Proof) []action {
	var checks []action
	if p.Item {
		a := action{table: scoresTable, key: itemKey(s.Item), condition: "attribute_exists(s) AND set_name = :set", values: attrs{":set": str(p.SetName)}, failed: tagsMoved}
		if p.SetName == "" {
			a.condition, a.values = "attribute_exists(s) AND attribute_not_exists(set_name)", nil
		}
		checks = append(checks, a)
	}
	if s.Via != "" && p.Version > 0 {
		checks = append(checks, action{table: scoresTable, key: scoreKey(score.Ref{Owner: s.Item.Owner, ID: s.Via}), condition: "#version = :version",
			names: reserved("version"), values: attrs{":version": number(int64(p.Version))}, failed: tagsMoved})
	}
	return checks
}

// byKey orders rows, so that transactions of the same rows are the same.
func byKey(a, b rowKey) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK)) }

// changedRows are the actions that make one set of rows the other; what stays is not touched.
func changedRows(before, after map[rowKey]attrs) (actions []action) {
	for _, key := range slices.SortedFunc(maps.Keys(after), byKey) {
		if was, there := before[key]; !there || !bytes.Equal(rowJSON(was), rowJSON(after[key])) {
			actions = append(actions, action{table: tagsTable, item: after[key]})
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(before), byKey) {
		if _, stays := after[key]; !stays {
			actions = append(actions, action{table: tagsTable, key: key, remove: true})
		}
	}
	return actions
}

// changedTallies are the actions that count what has changed.
func changedTallies(before, after map[rowKey]tagTally) (actions []action) {
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
func (db FileTags) forgetValues(ctx context.Context, counts []action) {
	var fewer []rowKey
	for _, a := range counts {
		if n, is := a.values[":tags"].(*types.AttributeValueMemberN); is && n.Value[0] == '-' {
			fewer = append(fewer, a.key)
		}
	}
	if len(fewer) == 0 {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	left, wants := make([]tagTally, len(fewer)), make([]want, len(fewer))
	for i, key := range fewer {
		wants[i] = want{tagsTable, key, func(item []byte) error { return decodeTally(item, &left[i]) }}
	}
	var unused []action
	for i, err := range db.batchGet(ctx, wants) {
		if err == nil && left[i].Tags == 0 {
			unused = append(unused, action{table: tagsTable, key: fewer[i], remove: true, condition: "#tags = :none", names: reserved("tags"),
				values: attrs{":none": number(0)}, failed: tagsMoved})
		}
	}
	_ = db.transact(ctx, unused, idempotency.Key{}) // somebody uses one of them again, or the next who drops it removes it
}
