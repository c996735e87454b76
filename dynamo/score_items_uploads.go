package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// FindUpload reads an upload.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item>. Cost: 1 GetItem.
func (db ScoreItems) FindUpload(ctx context.Context, ref score.ItemRef) (score.Upload, bool, error) {
	var u score.Upload
	found, err := db.get(ctx, scoresTable, uploadKey(ref), func(item []byte) error { return decodeUpload(item, &u) })
	return u, found, err
}

// keptAttribute is on the row of an upload that counts among those that are kept: that of a deleted item does not.
const keptAttribute = "kept"

// OpenUpload puts an upload, and claims its bytes on condition that there is room for them.
//
// Index: primary. Key: o = it:<owner> AND s = summary, and s = upload:<score><item> on condition that there is none. Cost: 1
// TransactWriteItems of 2 rows and the tasks.
func (db ScoreItems) OpenUpload(ctx context.Context, u score.Upload, quota int64, follow []task.Task, once idempotency.Key) error {
	claim := roomFor(countedItems(u.Owner, itemCounts{claimed: u.Size, uploads: 1, kept: 1, items: 1}), quota, u.Size)
	claim.condition += " AND (attribute_not_exists(#kept) OR #kept < :most) AND (attribute_not_exists(#items) OR #items < :mostItems)"
	claim.values[":most"], claim.values[":mostItems"] = number(score.MaxUploads), number(score.MaxItems)
	full := claim.failed
	claim.failed = func(row attrs) error {
		switch {
		case count(row["kept"]) >= score.MaxUploads:
			return fault.New(fault.Exhausted, "at most %d uploads of a user may be under way, or have ended within some hours without an item; complete some, or wait", score.MaxUploads)
		case count(row["items"]) >= score.MaxItems:
			return fault.New(fault.Exhausted, "a user has at most %d items: delete others first", score.MaxItems)
		}
		return full(row)
	}
	row := uploadRow(u)
	row[keptAttribute] = number(1)
	return db.transact(ctx, append([]action{
		{table: scoresTable, item: row, condition: "attribute_not_exists(s)", failed: overUpload},
		claim,
	}, tasks(follow)...), once)
}

// roomFor lets what is claimed grow by so many bytes on condition that it stays within the quota: *[score.QuotaReached].
func roomFor(a action, quota, more int64) action {
	// As in countedItems, what is claimed is what the items have where the row does not tell.
	a.condition = "(#claimed <= :room OR attribute_not_exists(#claimed) AND #size <= :room"
	if more <= quota { // otherwise there is no room for it in an empty account either
		a.condition += " OR attribute_not_exists(#claimed) AND attribute_not_exists(#size)"
	}
	a.condition += ")"
	a.values[":room"] = number(quota - more)
	a.failed = func(row attrs) error {
		reached := &score.QuotaReached{Quota: quota}
		if row != nil {
			if err := decodeUsage(rowJSON(row), &reached.Usage); err != nil {
				return err
			}
		}
		return reached
	}
	return a
}

func overUpload(attrs) error { return score.ErrUploadOver }

// whileOpen makes an action conditional on the upload being open.
func whileOpen(a action) action {
	a.table, a.condition, a.failed = scoresTable, "#state = :open", overUpload
	if a.names == nil {
		a.names = map[string]string{}
	}
	if a.values == nil {
		a.values = attrs{}
	}
	a.names["#state"], a.values[":open"] = "state", str(string(score.UploadOpen))
	return a
}

// BeginUpload keeps the id of an upload in parts. The same id again is kept already.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open. Cost: 1 TransactWriteItems of 1 row.
func (db ScoreItems) BeginUpload(ctx context.Context, ref score.ItemRef, multipart string) error {
	a := whileOpen(action{key: uploadKey(ref), update: "SET multipart = :id", values: attrs{":id": str(multipart)}})
	a.condition += " AND (attribute_not_exists(multipart) OR multipart = :id)"
	return db.transact(ctx, []action{a}, idempotency.Key{})
}

// SignUpload keeps until when the file of an upload can be put.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open. Cost: 1 TransactWriteItems of 1 row
// and the tasks.
func (db ScoreItems) SignUpload(ctx context.Context, ref score.ItemRef, until time.Time, follow []task.Task) error {
	a := whileOpen(action{key: uploadKey(ref), update: "SET #signed = :until", names: reserved(signedAttribute), values: attrs{":until": str(keys.Instant(until))}})
	return db.transact(ctx, append([]action{a}, tasks(follow)...), idempotency.Key{})
}

// CompleteUpload replaces an upload by its item. The file of one that can be put once more counts once all the same: what the
// upload claimed is the item's now, and would be claimed again if that were deleted before.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item> on condition that there is none, s = upload:<score><item> on condition
// that it is open, and s = summary on condition of the quota. Cost: 1 TransactWriteItems of 3 rows.
func (db ScoreItems) CompleteUpload(ctx context.Context, u score.Upload, i score.Item, quota int64, once idempotency.Key) error {
	more := i.Total - u.Size // the file was claimed before, the thumbnail was not
	end := whileOpen(action{key: uploadKey(u.ItemRef), remove: true})
	if !i.Signed.IsZero() {
		end = whileOpen(action{key: uploadKey(u.ItemRef), update: "SET #state = :done REMOVE #kept", names: map[string]string{"#kept": keptAttribute},
			values: attrs{":done": str(string(score.UploadDone))}})
	}
	return db.transact(ctx, []action{
		end,
		{table: scoresTable, item: scoreItemRow(i), condition: "attribute_not_exists(s)", failed: overUpload},
		roomFor(countedItems(u.Owner, itemCounts{size: i.Total, claimed: more, uploads: -1, kept: -1}), quota, more),
	}, once)
}

// errClosed says that an upload was closed before.
var errClosed = errors.New("the upload was closed before")

// CloseUpload ends an upload, and leaves its bytes claimed.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it is open, and s = summary. Cost: 1
// TransactWriteItems of 2 rows and the tasks.
func (db ScoreItems) CloseUpload(ctx context.Context, u score.Upload, follow []task.Task, once idempotency.Key) error {
	end := whileOpen(action{
		key: uploadKey(u.ItemRef), update: "SET #state = :closed, #until = :until, #claim = :claim", names: map[string]string{"#until": "until", "#claim": claimAttribute},
		values: attrs{":closed": str(string(score.UploadClosed)), ":until": str(keys.Instant(u.ExpiresAt)), ":claim": number(u.Size)},
	})
	end.failed = func(row attrs) error {
		if text(row["state"]) == string(score.UploadClosed) {
			return errClosed
		}
		return score.ErrUploadOver
	}
	err := db.transact(ctx, append([]action{end, countedItems(u.Owner, itemCounts{uploads: -1, items: -1})}, tasks(follow)...), once)
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// ReleaseUpload gives back what a closed upload claims.
//
// Index: primary. Key: o = it:<owner> AND s = upload:<score><item> on condition that it claims something, and s = summary. Cost: 1
// TransactWriteItems of 2 rows.
func (db ScoreItems) ReleaseUpload(ctx context.Context, u score.Upload) error {
	end := action{
		table: scoresTable, key: uploadKey(u.ItemRef), update: "REMOVE #claim", condition: "#state = :closed AND #claim = :claim",
		names: map[string]string{"#state": "state", "#claim": claimAttribute}, values: attrs{":closed": str(string(score.UploadClosed)), ":claim": number(u.Claim)},
		failed: func(attrs) error { return errClosed }, // and given back
	}
	err := db.transact(ctx, []action{end, countedItems(u.Owner, itemCounts{claimed: -u.Claim})}, idempotency.Key{})
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
func (db ScoreItems) ForgetUpload(ctx context.Context, ref score.ItemRef) error {
	forget := action{
		table: scoresTable, key: uploadKey(ref), remove: true, condition: endedUpload + " AND attribute_exists(#kept)",
		names:  map[string]string{"#state": "state", "#kept": keptAttribute, "#claim": claimAttribute},
		values: attrs{":closed": str(string(score.UploadClosed)), ":done": str(string(score.UploadDone))},
		failed: func(row attrs) error {
			switch {
			case row == nil:
				return errClosed // and forgotten
			case text(row["state"]) == string(score.UploadOpen) || row[claimAttribute] != nil:
				return score.ErrUploadOver
			}
			return errOfItem
		},
	}
	err := db.transact(ctx, []action{forget, countedItems(ref.Owner, itemCounts{kept: -1})}, idempotency.Key{})
	if errors.Is(err, errOfItem) {
		forget.condition, forget.names = endedUpload, map[string]string{"#state": "state", "#claim": claimAttribute}
		err = db.transact(ctx, []action{forget}, idempotency.Key{})
	}
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}
