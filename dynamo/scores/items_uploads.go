package scores

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// FindUpload reads an upload.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item>. Cost: 1 GetItem.
func (db Items) FindUpload(ctx context.Context, ref score.ItemRef) (score.Upload, bool, error) {
	var u score.Upload
	found, err := db.Get(ctx, dynamo.ScoresTable, uploadKey(ref), func(item dynamo.Item) error { return decodeUpload(item, &u) })
	return u, found, err
}

// keptAttribute is on the row of an upload that counts among those that are kept: that of a deleted item does not.
const keptAttribute = "kept"

// OpenUpload puts an upload, and claims its bytes on condition that there is room for them.
//
// Index: primary. Key: o = it:<owner> AND s = summary, and s = upload:<score><item> on condition that there is none. Cost: 1
// TransactWriteItems of 2 rows and the tasks.
func (db Items) OpenUpload(ctx context.Context, u score.Upload, quota int64, follow []task.Task, once idempotency.Key) error {
	claim := roomFor(countedItems(u.Owner, itemCounts{claimed: u.Size, uploads: 1, Kept: 1, items: 1}), quota, u.Size)
	claim.Condition += " AND (attribute_not_exists(#kept) OR #kept < :most) AND (attribute_not_exists(#items) OR #items < :mostItems)"
	claim.Values[":most"], claim.Values[":mostItems"] = dynamo.Number(score.MaxUploads), dynamo.Number(score.MaxItems)
	full := claim.Failed
	claim.Failed = func(row dynamo.Attrs) error {
		switch {
		case dynamo.Count(row["kept"]) >= score.MaxUploads:
			busy := fault.New(fault.Exhausted, "at most %d uploads of a user may be under way, or have ended within some hours without an item; complete some, or wait", score.MaxUploads)
			busy.RetryAfter = score.UploadsEvery
			return busy
		case dynamo.Count(row["items"]) >= score.MaxItems:
			return fault.New(fault.Exhausted, "a user has at most %d items: delete others first", score.MaxItems)
		}
		return full(row)
	}
	row := uploadRow(u)
	row[keptAttribute] = dynamo.Number(1)
	return db.Transact(ctx, append([]dynamo.Action{
		{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(s)", Failed: overUpload},
		claim,
	}, dynamo.TaskActions(follow)...), once)
}

// roomFor lets what is claimed grow by so many bytes on condition that it stays within the quota: *[score.QuotaReached].
func roomFor(a dynamo.Action, quota, more int64) dynamo.Action {
	// As in countedItems, what is claimed is what the items have where the row does not tell.
	a.Condition = "(#claimed <= :room OR attribute_not_exists(#claimed) AND #size <= :room"
	if more <= quota { // otherwise there is no room for it in an empty account either
		a.Condition += " OR attribute_not_exists(#claimed) AND attribute_not_exists(#size)"
	}
	a.Condition += ")"
	a.Values[":room"] = dynamo.Number(quota - more)
	a.Failed = func(row dynamo.Attrs) error {
		reached := &score.QuotaReached{Quota: quota}
		if row != nil {
			if err := decodeUsage(dynamo.ItemOf(row), &reached.Usage); err != nil {
				return err
			}
		}
		return reached
	}
	return a
}

func overUpload(dynamo.Attrs) error { return score.ErrUploadOver }

// whileOpen makes an action conditional on the upload being open.
func whileOpen(a dynamo.Action) dynamo.Action {
	a.Table, a.Condition, a.Failed = dynamo.ScoresTable, "#state = :open", overUpload
	if a.Names == nil {
		a.Names = map[string]string{}
	}
	if a.Values == nil {
		a.Values = dynamo.Attrs{}
	}
	a.Names["#state"], a.Values[":open"] = "state", dynamo.Str(string(score.UploadOpen))
	return a
}

// BeginUpload keeps the id of an upload in parts. The same id again is kept already.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open. Cost: 1 TransactWriteItems of 1 row.
func (db Items) BeginUpload(ctx context.Context, ref score.ItemRef, multipart string) error {
	a := whileOpen(dynamo.Action{Key: uploadKey(ref), Update: "SET multipart = :id", Values: dynamo.Attrs{":id": dynamo.Str(multipart)}})
	a.Condition += " AND (attribute_not_exists(multipart) OR multipart = :id)"
	return db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
}

// SignUpload keeps until when the file of an upload can be put.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open. Cost: 1 TransactWriteItems of 1 row
// and the tasks.
func (db Items) SignUpload(ctx context.Context, ref score.ItemRef, until time.Time, follow []task.Task) error {
	a := whileOpen(dynamo.Action{Key: uploadKey(ref), Update: "SET #signed = :until", Names: dynamo.Reserved(signedAttribute), Values: dynamo.Attrs{":until": dynamo.Str(keys.Instant(until))}})
	return db.Transact(ctx, append([]dynamo.Action{a}, dynamo.TaskActions(follow)...), idempotency.Key{})
}

// CompleteUpload replaces an upload by its item. The file of one that can be put once more counts once all the same: what the
// upload claimed is the item's now, and would be claimed again if that were deleted before.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item> on condition that there is none, s = upload:<score><item> on condition
// that it is open, and s = summary on condition of the quota. Cost: 1 TransactWriteItems of 3 rows.
func (db Items) CompleteUpload(ctx context.Context, u score.Upload, i score.Item, quota int64, once idempotency.Key) error {
	more := i.Total - u.Size // the file was claimed before, the thumbnail was not
	end := whileOpen(dynamo.Action{Key: uploadKey(u.ItemRef), Remove: true})
	if !i.Signed.IsZero() {
		end = whileOpen(dynamo.Action{Key: uploadKey(u.ItemRef), Update: "SET #state = :done REMOVE #kept", Names: map[string]string{"#kept": keptAttribute},
			Values: dynamo.Attrs{":done": dynamo.Str(string(score.UploadDone))}})
	}
	return db.Transact(ctx, []dynamo.Action{
		end,
		{Table: dynamo.ScoresTable, Item: ScoreItemRow(i), Condition: "attribute_not_exists(s)", Failed: overUpload},
		roomFor(countedItems(u.Owner, itemCounts{size: i.Total, claimed: more, uploads: -1, Kept: -1}), quota, more),
	}, once)
}

// errClosed says that an upload was closed before.
var errClosed = errors.New("the upload was closed before")

// CloseUpload ends an upload, and leaves its bytes claimed.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open, and s = summary. Cost: 1
// TransactWriteItems of 2 rows and the tasks.
func (db Items) CloseUpload(ctx context.Context, u score.Upload, follow []task.Task, once idempotency.Key) error {
	end := whileOpen(dynamo.Action{
		Key: uploadKey(u.ItemRef), Update: "SET #state = :closed, #until = :until, #claim = :claim", Names: map[string]string{"#until": "until", "#claim": claimAttribute},
		Values: dynamo.Attrs{":closed": dynamo.Str(string(score.UploadClosed)), ":until": dynamo.Str(keys.Instant(u.ExpiresAt)), ":claim": dynamo.Number(u.Size)},
	})
	end.Failed = func(row dynamo.Attrs) error {
		if dynamo.Text(row["state"]) == string(score.UploadClosed) {
			return errClosed
		}
		return score.ErrUploadOver
	}
	err := db.Transact(ctx, append([]dynamo.Action{end, countedItems(u.Owner, itemCounts{uploads: -1, items: -1})}, dynamo.TaskActions(follow)...), once)
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// ReleaseUpload gives back what a closed upload claims.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it claims something, and s = summary. Cost: 1
// TransactWriteItems of 2 rows.
func (db Items) ReleaseUpload(ctx context.Context, u score.Upload) error {
	end := dynamo.Action{
		Table: dynamo.ScoresTable, Key: uploadKey(u.ItemRef), Update: "REMOVE #claim", Condition: "#state = :closed AND #claim = :claim",
		Names: map[string]string{"#state": "state", "#claim": claimAttribute}, Values: dynamo.Attrs{":closed": dynamo.Str(string(score.UploadClosed)), ":claim": dynamo.Number(u.Claim)},
		Failed: func(dynamo.Attrs) error { return errClosed }, // and given back
	}
	err := db.Transact(ctx, []dynamo.Action{end, countedItems(u.Owner, itemCounts{claimed: -u.Claim})}, idempotency.Key{})
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// errOfItem says that an upload does not count among those that are kept.
var errOfItem = errors.New("the upload is that of an item, which may be deleted")

// endedUpload is the condition of an upload that claims nothing that is not its item's.
const endedUpload = "(#state = :done OR #state = :closed AND attribute_not_exists(#claim))"

// ForgetUpload removes an upload that is closed or done.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is closed or done, and s = summary. Cost: 1
// TransactWriteItems of 2 rows; that of an item one more of 1 row.
func (db Items) ForgetUpload(ctx context.Context, ref score.ItemRef) error {
	forget := dynamo.Action{
		Table: dynamo.ScoresTable, Key: uploadKey(ref), Remove: true, Condition: endedUpload + " AND attribute_exists(#kept)",
		Names:  map[string]string{"#state": "state", "#kept": keptAttribute, "#claim": claimAttribute},
		Values: dynamo.Attrs{":closed": dynamo.Str(string(score.UploadClosed)), ":done": dynamo.Str(string(score.UploadDone))},
		Failed: func(row dynamo.Attrs) error {
			switch {
			case row == nil:
				return errClosed // and forgotten
			case dynamo.Text(row["state"]) == string(score.UploadOpen) || row[claimAttribute] != nil:
				return score.ErrUploadOver
			}
			return errOfItem
		},
	}
	err := db.Transact(ctx, []dynamo.Action{forget, countedItems(ref.Owner, itemCounts{Kept: -1})}, idempotency.Key{})
	if errors.Is(err, errOfItem) {
		forget.Condition, forget.Names = endedUpload, map[string]string{"#state": "state", "#claim": claimAttribute}
		err = db.Transact(ctx, []dynamo.Action{forget}, idempotency.Key{})
	}
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}
