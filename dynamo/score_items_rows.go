package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/score"
)

func usageKey(owner score.UserID) rowKey { return rowKey{keys.ItemsPK(string(owner)), keys.CountsSK} }

// The attributes that tell until when a file can be put with what was signed, and what a closed upload still claims.
const (
	signedAttribute = "signed"
	claimAttribute  = "claim"
)

func uploadKey(ref score.ItemRef) rowKey {
	return rowKey{keys.ItemsPK(string(ref.Owner)), keys.UploadSK(string(ref.Score), string(ref.ID))}
}

// scoreItemRow is the document's row it: of an item. The document's type is the first part of the media type, which is kept whole
// beside it.
func scoreItemRow(i score.Item) attrs {
	row := nonEmpty(map[string]string{
		"obj_name": i.Object, "type": i.Class(), "media_type": i.Type, "org_name": i.Name, "set_name": i.SetName, "sha256": i.SHA256,
	})
	for name, v := range scoresTable.key(itemKey(i.ItemRef)) {
		row[name] = v
	}
	row[refsAttribute] = number(int64(i.Refs))
	row["size"], row["t_size"], row["at"] = number(i.Size), number(i.Total), str(keys.Instant(i.CreatedAt))
	if !i.Signed.IsZero() {
		row[signedAttribute] = str(keys.Instant(i.Signed))
	}
	if i.Width > 0 {
		row["width"], row["height"] = number(int64(i.Width)), number(int64(i.Height))
	}
	if i.Thumbnail.Object != "" {
		row["thumbnail"] = &types.AttributeValueMemberM{Value: attrs{
			"obj_name": str(i.Thumbnail.Object), "size": number(i.Thumbnail.Size), "media_type": str(i.Thumbnail.Type),
			"width": number(int64(i.Thumbnail.Width)), "height": number(int64(i.Thumbnail.Height)),
		}}
	}
	return row
}

// itemRefOf reads which item the row is about.
func itemRefOf(item []byte, prefix string) (ref score.ItemRef, err error) {
	key, err := keyOf(item, scoresTable)
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
	err = attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "obj_name":
			i.Object, err = v.str()
		case "type":
			class, err = v.str()
		case "media_type":
			i.Type, err = v.str()
		case "org_name":
			i.Name, err = v.str()
		case "set_name":
			i.SetName, err = v.str()
		case "sha256":
			i.SHA256, err = v.str()
		case "size":
			err = readLong(v, &i.Size)
		case "t_size":
			err = readLong(v, &i.Total)
		case "at":
			i.CreatedAt, err = v.instant()
		case signedAttribute:
			i.Signed, err = v.instant()
		case "width":
			i.Width, err = v.int()
		case "height":
			i.Height, err = v.int()
		case "refs":
			i.Refs, err = v.int()
		case "thumbnail":
			err = v.object(func(name []byte, v value) error { return readThumbnail(string(name), v, &i.Thumbnail) })
		default:
			err = v.skip()
		}
		return err
	})
	if i.Type == "" { // a row of the source document
		i.Type = class
	}
	return err
}

func readThumbnail(name string, v value, t *score.Thumbnail) (err error) {
	switch name {
	case "obj_name":
		t.Object, err = v.str()
	case "media_type":
		t.Type, err = v.str()
	case "size":
		err = readLong(v, &t.Size)
	case "width":
		t.Width, err = v.int()
	case "height":
		t.Height, err = v.int()
	default:
		err = v.skip()
	}
	return err
}

func decodeUsage(item []byte, u *score.Usage) error {
	claimed := false
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "size":
			err = readLong(v, &u.Size)
		case "claimed":
			claimed = true
			err = readLong(v, &u.Claimed)
		case "uploads":
			u.Uploads, err = v.int()
		case "quota":
			err = readLong(v, &u.Quota)
		default:
			err = v.skip()
		}
		return err
	})
	if !claimed {
		u.Claimed = u.Size
	}
	return err
}

func uploadRow(u score.Upload) attrs {
	row := nonEmpty(map[string]string{
		"media_type": u.Type, "org_name": u.Name, "set_name": u.SetName, "sha256": u.SHA256, "multipart": u.Multipart, "state": string(u.State),
	})
	for name, v := range scoresTable.key(uploadKey(u.ItemRef)) {
		row[name] = v
	}
	if u.PartSize > 0 {
		row["part_size"] = number(u.PartSize)
	}
	row["size"], row["at"], row["until"] = number(u.Size), str(keys.Instant(u.CreatedAt)), str(keys.Instant(u.ExpiresAt))
	if !u.Signed.IsZero() {
		row[signedAttribute] = str(keys.Instant(u.Signed))
	}
	if u.Claim > 0 {
		row[claimAttribute] = number(u.Claim)
	}
	return row
}

func decodeUpload(item []byte, u *score.Upload) (err error) {
	if u.ItemRef, err = itemRefOf(item, keys.UploadPrefix); err != nil {
		return err
	}
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "media_type":
			u.Type, err = v.str()
		case "org_name":
			u.Name, err = v.str()
		case "set_name":
			u.SetName, err = v.str()
		case "sha256":
			u.SHA256, err = v.str()
		case "part_size":
			err = readLong(v, &u.PartSize)
		case "multipart":
			u.Multipart, err = v.str()
		case "state":
			err = readText(v, &u.State)
		case "size":
			err = readLong(v, &u.Size)
		case "at":
			u.CreatedAt, err = v.instant()
		case "until":
			u.ExpiresAt, err = v.instant()
		case signedAttribute:
			u.Signed, err = v.instant()
		case claimAttribute:
			err = readLong(v, &u.Claim)
		default:
			err = v.skip()
		}
		return err
	})
}
