package scores

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/score"
)

func usageKey(owner score.UserID) dynamo.Key {
	return dynamo.Key{PK: keys.ItemsPK(string(owner)), SK: keys.CountsSK}
}

// The attributes that tell until when a file can be put with what was signed, and what a closed upload still claims.
const (
	signedAttribute = "signed"
	claimAttribute  = "claim"
)

func uploadKey(ref score.ItemRef) dynamo.Key {
	return dynamo.Key{PK: keys.ItemsPK(string(ref.Owner)), SK: keys.UploadSK(string(ref.Score), string(ref.ID))}
}

// itemRecord is an item as its row keeps it. The document's type is the first part of the media type, which is kept whole beside it.
type itemRecord struct {
	*score.Item
	class string
}

// itemRows are the attributes of the document's row it: of an item, besides its key.
var itemRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("obj_name", func(r *itemRecord) *string { return &r.Object })),
	dynamo.Optional(dynamo.OfText("type", func(r *itemRecord) *string { return &r.class })),
	dynamo.Optional(dynamo.OfText("media_type", func(r *itemRecord) *string { return &r.Type })),
	dynamo.Optional(dynamo.OfText("org_name", func(r *itemRecord) *string { return &r.Name })),
	dynamo.Optional(dynamo.OfText("set_name", func(r *itemRecord) *string { return &r.SetName })),
	dynamo.Optional(dynamo.OfText("sha256", func(r *itemRecord) *string { return &r.SHA256 })),
	dynamo.OfWhole("size", func(r *itemRecord) *int64 { return &r.Size }),
	dynamo.OfWhole("t_size", func(r *itemRecord) *int64 { return &r.Total }),
	dynamo.OfInstant("at", func(r *itemRecord) *time.Time { return &r.CreatedAt }),
	dynamo.Optional(dynamo.OfInstant(signedAttribute, func(r *itemRecord) *time.Time { return &r.Signed })),
	dynamo.Optional(dynamo.OfInstant(uses.WithdrawnAttribute, func(r *itemRecord) *time.Time { return &r.Withdrawn })),
	dynamo.RowAttribute[itemRecord]{
		Name:  uses.ImportedAttribute,
		Write: func(r *itemRecord) types.AttributeValue { return dynamo.OneWhen(r.Imported) },
		Read:  func(r *itemRecord, _ dynamo.Value) error { r.Imported = true; return nil },
	},
	dynamo.Optional(dynamo.OfWhole("width", func(r *itemRecord) *int { return &r.Width })),
	dynamo.Optional(dynamo.OfWhole("height", func(r *itemRecord) *int { return &r.Height })),
	dynamo.OfWhole(uses.RefsAttribute, func(r *itemRecord) *int { return &r.Refs }),
	dynamo.Where(func(r *itemRecord) bool { return r.Thumbnail.Object != "" },
		dynamo.OfMap("thumbnail", func(r *itemRecord) *score.Thumbnail { return &r.Thumbnail }, thumbnailRows)),
)

// thumbnailRows are what an item keeps of its thumbnail.
var thumbnailRows = dynamo.LayoutOf(
	dynamo.OfText("obj_name", func(t *score.Thumbnail) *string { return &t.Object }),
	dynamo.OfWhole("size", func(t *score.Thumbnail) *int64 { return &t.Size }),
	dynamo.OfText("media_type", func(t *score.Thumbnail) *string { return &t.Type }),
	dynamo.OfWhole("width", func(t *score.Thumbnail) *int { return &t.Width }),
	dynamo.OfWhole("height", func(t *score.Thumbnail) *int { return &t.Height }),
)

// ScoreItemRow is the row of an item.
func ScoreItemRow(i score.Item) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(uses.ItemKey(i.ItemRef))
	itemRows.Write(&itemRecord{&i, i.Class()}, row)
	return row
}

// itemRefOf reads which item the row is about.
func itemRefOf(item dynamo.Item, prefix string) (ref score.ItemRef, err error) {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return ref, err
	}
	owner, err := keys.SplitIDs(key.PK, "it:", 1)
	if err != nil {
		return ref, err
	}
	ids, err := keys.SplitIDs(key.SK, prefix, 2)
	if err != nil {
		return ref, err
	}
	return score.ItemRef{Owner: score.UserID(owner[0]), Score: score.ID(ids[0]), ID: score.ItemID(ids[1])}, nil
}

func decodeScoreItem(item dynamo.Item, i *score.Item) (err error) {
	if i.ItemRef, err = itemRefOf(item, ""); err != nil {
		return err
	}
	r := itemRows.Take()
	defer itemRows.Give(r)
	r.Item = i
	err = itemRows.Decode(item, r)
	if i.Type == "" { // a row of the source document
		i.Type = r.class
	}
	return err
}

// usageRecord is what somebody uses as the row tells it.
type usageRecord struct {
	score.Usage
	items   int  // with the uploads that may become items
	claimed bool // the row tells what is claimed
}

// usageRows are the attributes of a row that counts what somebody uses. Only updates write them.
var usageRows = dynamo.LayoutOf(
	dynamo.OfWhole("size", func(r *usageRecord) *int64 { return &r.Size }),
	dynamo.RowAttribute[usageRecord]{
		Name: "claimed",
		Read: func(r *usageRecord, v dynamo.Value) error {
			n, err := v.Int()
			r.Claimed, r.claimed = int64(n), true
			return err
		},
	},
	dynamo.OfWhole("uploads", func(r *usageRecord) *int { return &r.Uploads }),
	dynamo.OfWhole("items", func(r *usageRecord) *int { return &r.items }),
	dynamo.OfWhole("quota", func(r *usageRecord) *int64 { return &r.Quota }),
)

func decodeUsage(item dynamo.Item, u *score.Usage) error {
	var r usageRecord
	err := usageRows.Decode(item, &r)
	if !r.claimed {
		r.Claimed = r.Size
	}
	r.Items = max(0, r.items-r.Uploads) // the deletion of an item that another program put counts down, too
	*u = r.Usage
	return err
}

// uploadRows are the attributes of an upload besides its key.
var uploadRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("media_type", func(u *score.Upload) *string { return &u.Type })),
	dynamo.Optional(dynamo.OfText("org_name", func(u *score.Upload) *string { return &u.Name })),
	dynamo.Optional(dynamo.OfText("set_name", func(u *score.Upload) *string { return &u.SetName })),
	dynamo.Optional(dynamo.OfText("sha256", func(u *score.Upload) *string { return &u.SHA256 })),
	dynamo.Optional(dynamo.OfWhole("part_size", func(u *score.Upload) *int64 { return &u.PartSize })),
	dynamo.Optional(dynamo.OfText("multipart", func(u *score.Upload) *string { return &u.Multipart })),
	dynamo.Optional(dynamo.OfText("state", func(u *score.Upload) *score.UploadState { return &u.State })),
	dynamo.OfWhole("size", func(u *score.Upload) *int64 { return &u.Size }),
	dynamo.OfInstant("at", func(u *score.Upload) *time.Time { return &u.CreatedAt }),
	dynamo.OfInstant("until", func(u *score.Upload) *time.Time { return &u.ExpiresAt }),
	dynamo.Optional(dynamo.OfInstant(signedAttribute, func(u *score.Upload) *time.Time { return &u.Signed })),
	dynamo.Optional(dynamo.OfWhole(claimAttribute, func(u *score.Upload) *int64 { return &u.Claim })),
)

func uploadRow(u score.Upload) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(uploadKey(u.ItemRef))
	uploadRows.Write(&u, row)
	return row
}

func decodeUpload(item dynamo.Item, u *score.Upload) (err error) {
	if u.ItemRef, err = itemRefOf(item, keys.UploadPrefix); err != nil {
		return err
	}
	return uploadRows.Decode(item, u)
}
