package scores

import (
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

// ScoreItemRow is the document's row it: of an item. The document's type is the first part of the media type, which is kept whole
// beside it.
func ScoreItemRow(i score.Item) dynamo.Attrs {
	row := dynamo.NonEmpty(map[string]string{
		"obj_name": i.Object, "type": i.Class(), "media_type": i.Type, "org_name": i.Name, "set_name": i.SetName, "sha256": i.SHA256,
	})
	for name, v := range dynamo.ScoresTable.Key(uses.ItemKey(i.ItemRef)) {
		row[name] = v
	}
	row[uses.RefsAttribute] = dynamo.Number(int64(i.Refs))
	row["size"], row["t_size"], row["at"] = dynamo.Number(i.Size), dynamo.Number(i.Total), dynamo.Str(keys.Instant(i.CreatedAt))
	if !i.Signed.IsZero() {
		row[signedAttribute] = dynamo.Str(keys.Instant(i.Signed))
	}
	if i.Width > 0 {
		row["width"], row["height"] = dynamo.Number(int64(i.Width)), dynamo.Number(int64(i.Height))
	}
	if i.Thumbnail.Object != "" {
		row["thumbnail"] = &types.AttributeValueMemberM{Value: dynamo.Attrs{
			"obj_name": dynamo.Str(i.Thumbnail.Object), "size": dynamo.Number(i.Thumbnail.Size), "media_type": dynamo.Str(i.Thumbnail.Type),
			"width": dynamo.Number(int64(i.Thumbnail.Width)), "height": dynamo.Number(int64(i.Thumbnail.Height)),
		}}
	}
	return row
}

// itemRefOf reads which item the row is about.
func itemRefOf(item []byte, prefix string) (ref score.ItemRef, err error) {
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

func decodeScoreItem(item []byte, i *score.Item) (err error) {
	if i.ItemRef, err = itemRefOf(item, ""); err != nil {
		return err
	}
	var class string
	err = dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "obj_name":
			i.Object, err = v.Str()
		case "type":
			class, err = v.Str()
		case "media_type":
			i.Type, err = v.Str()
		case "org_name":
			i.Name, err = v.Str()
		case "set_name":
			i.SetName, err = v.Str()
		case "sha256":
			i.SHA256, err = v.Str()
		case "size":
			err = dynamo.ReadLong(v, &i.Size)
		case "t_size":
			err = dynamo.ReadLong(v, &i.Total)
		case "at":
			i.CreatedAt, err = v.Instant()
		case signedAttribute:
			i.Signed, err = v.Instant()
		case "width":
			i.Width, err = v.Int()
		case "height":
			i.Height, err = v.Int()
		case "refs":
			i.Refs, err = v.Int()
		case "thumbnail":
			err = v.Object(func(name []byte, v dynamo.Value) error { return readThumbnail(string(name), v, &i.Thumbnail) })
		default:
			err = v.Skip()
		}
		return err
	})
	if i.Type == "" { // a row of the source document
		i.Type = class
	}
	return err
}

func readThumbnail(name string, v dynamo.Value, t *score.Thumbnail) (err error) {
	switch name {
	case "obj_name":
		t.Object, err = v.Str()
	case "media_type":
		t.Type, err = v.Str()
	case "size":
		err = dynamo.ReadLong(v, &t.Size)
	case "width":
		t.Width, err = v.Int()
	case "height":
		t.Height, err = v.Int()
	default:
		err = v.Skip()
	}
	return err
}

func decodeUsage(item []byte, u *score.Usage) error {
	claimed := false
	err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "size":
			err = dynamo.ReadLong(v, &u.Size)
		case "claimed":
			claimed = true
			err = dynamo.ReadLong(v, &u.Claimed)
		case "uploads":
			u.Uploads, err = v.Int()
		case "quota":
			err = dynamo.ReadLong(v, &u.Quota)
		default:
			err = v.Skip()
		}
		return err
	})
	if !claimed {
		u.Claimed = u.Size
	}
	return err
}

func uploadRow(u score.Upload) dynamo.Attrs {
	row := dynamo.NonEmpty(map[string]string{
		"media_type": u.Type, "org_name": u.Name, "set_name": u.SetName, "sha256": u.SHA256, "multipart": u.Multipart, "state": string(u.State),
	})
	for name, v := range dynamo.ScoresTable.Key(uploadKey(u.ItemRef)) {
		row[name] = v
	}
	if u.PartSize > 0 {
		row["part_size"] = dynamo.Number(u.PartSize)
	}
	row["size"], row["at"], row["until"] = dynamo.Number(u.Size), dynamo.Str(keys.Instant(u.CreatedAt)), dynamo.Str(keys.Instant(u.ExpiresAt))
	if !u.Signed.IsZero() {
		row[signedAttribute] = dynamo.Str(keys.Instant(u.Signed))
	}
	if u.Claim > 0 {
		row[claimAttribute] = dynamo.Number(u.Claim)
	}
	return row
}

func decodeUpload(item []byte, u *score.Upload) (err error) {
	if u.ItemRef, err = itemRefOf(item, keys.UploadPrefix); err != nil {
		return err
	}
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "media_type":
			u.Type, err = v.Str()
		case "org_name":
			u.Name, err = v.Str()
		case "set_name":
			u.SetName, err = v.Str()
		case "sha256":
			u.SHA256, err = v.Str()
		case "part_size":
			err = dynamo.ReadLong(v, &u.PartSize)
		case "multipart":
			u.Multipart, err = v.Str()
		case "state":
			err = dynamo.ReadText(v, &u.State)
		case "size":
			err = dynamo.ReadLong(v, &u.Size)
		case "at":
			u.CreatedAt, err = v.Instant()
		case "until":
			u.ExpiresAt, err = v.Instant()
		case signedAttribute:
			u.Signed, err = v.Instant()
		case claimAttribute:
			err = dynamo.ReadLong(v, &u.Claim)
		default:
			err = v.Skip()
		}
		return err
	})
}
