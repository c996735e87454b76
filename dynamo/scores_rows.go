package dynamo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-faster/jx"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// dataVersion is the structure of a score's data, as the document spells it. Rows of a higher one were written by a newer
// server and are refused.
const dataVersion = 1

func scoreKey(ref score.Ref) rowKey {
	return rowKey{keys.ScoresPK(string(ref.Owner)), keys.ScoreSK(string(ref.ID))}
}

func publicScoreKey(ref score.Ref) rowKey {
	return rowKey{keys.ScoresPK(string(ref.Owner)), keys.PublicScoreSK(string(ref.ID))}
}

func scoreCountKey(owner score.UserID) rowKey {
	return rowKey{keys.ScoresPK(string(owner)), keys.CountsSK}
}

func textKey(id score.TextID) rowKey {
	key := rowKey{PK: keys.TextsPK(string(id.Score.Owner))}
	switch id.Kind {
	case score.DescriptionText:
		key.SK = keys.DescriptionSK(string(id.Score.ID), id.Hash)
	default:
		key.SK = keys.AnnotationSK(string(id.Score.ID), id.Hash)
	}
	return key
}

func snapshotKey(id score.SnapshotID) rowKey {
	return rowKey{keys.ScoresPK(string(id.Score.Owner)), keys.SnapshotSK(string(id.Score.ID), id.ID)}
}

func snapshotNameKey(ref score.Ref, name string) rowKey {
	return rowKey{keys.ScoresPK(string(ref.Owner)), keys.SnapshotNameSK(string(ref.ID), name)}
}

func itemKey(item score.ItemRef) rowKey {
	return rowKey{keys.ItemsPK(string(item.Owner)), keys.ItemSK(string(item.Score), string(item.ID))}
}

func itemUseKey(item score.ItemRef, user string) rowKey {
	return rowKey{keys.ItemUsesPK(string(item.Owner)), keys.ItemUseSK(string(item.ID), user)}
}

// accesses are spelled as in the document.
var accesses = map[score.Access]string{score.Private: "private", score.Limited: "limited", score.Public: "public"}

func accessOf(s string) (score.Access, error) {
	for a, spelled := range accesses {
		if s == spelled {
			return a, nil
		}
	}
	return score.Private, fmt.Errorf("%q is no access", s)
}

// scoreData is the document's "data".
func scoreData(s score.Score) types.AttributeValue {
	pages := make([]types.AttributeValue, len(s.Pages))
	for i, p := range s.Pages {
		page := attrs{"i": number(int64(i)), "it": str(keys.EncodeUUID(string(p.Item))), "o": str(p.Object), "p": str(p.Label)}
		if p.ItemScore != s.ID {
			page["s"] = str(keys.EncodeUUID(string(p.ItemScore)))
		}
		pages[i] = &types.AttributeValueMemberM{Value: page}
	}
	annotations := make([]types.AttributeValue, len(s.Annotations))
	for i, hash := range s.Annotations {
		annotations[i] = &types.AttributeValueMemberM{Value: attrs{"i": number(int64(i)), "h": str(hash)}}
	}
	return &types.AttributeValueMemberM{Value: attrs{
		"title": str(s.Title), "des_h": str(s.DescriptionHash), "v": str(strconv.Itoa(dataVersion)),
		"p_count": number(int64(len(s.Pages))), "page": &types.AttributeValueMemberL{Value: pages},
		"a_count": number(int64(len(s.Annotations))), "anno": &types.AttributeValueMemberL{Value: annotations},
	}}
}

// scoreRow is the row of a new score.
func scoreRow(s score.Score) attrs {
	row := scoresTable.key(scoreKey(s.Ref))
	row["d_hash"], row["access"], row["data"] = str(s.Hash), str(accesses[s.Access]), scoreData(s)
	row["create_at"], row["update_at"] = str(keys.Instant(s.CreatedAt)), str(keys.Instant(s.UpdatedAt))
	row["s_count"], row["version"] = number(int64(s.Snapshots)), number(int64(s.Version))
	return row
}

// refOf reads the score from the keys of its row; what follows the score in the sort key are the rest, n ids.
func refOf(key rowKey, prefix string, n int) (ref score.Ref, rest []string, err error) {
	owner, err := keys.SplitIDs(key.PK, "sc:", 1)
	if err != nil {
		return ref, nil, err
	}
	ids, err := keys.SplitIDs(key.SK, prefix, 1+n)
	if err != nil {
		return ref, nil, err
	}
	return score.Ref{Owner: score.UserID(owner[0]), ID: score.ID(ids[0])}, ids[1:], nil
}

// decodePublic reads which score is public.
func decodePublic(item []byte, ref *score.Ref) error {
	key, err := keyOf(item, scoresTable)
	if err == nil {
		*ref, _, err = refOf(key, keys.PublicScorePrefix, 0)
	}
	return err
}

func decodeScore(item []byte, s *score.Score) error {
	key, err := keyOf(item, scoresTable)
	if err != nil {
		return err
	}
	if s.Ref, _, err = refOf(key, keys.ScorePrefix, 0); err != nil {
		return err
	}
	err = attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "d_hash":
			s.Hash, err = v.str()
		case "create_at":
			s.CreatedAt, err = v.instant()
		case "update_at":
			s.UpdatedAt, err = v.instant()
		case "access":
			var spelled string
			if spelled, err = v.str(); err == nil {
				s.Access, err = accessOf(spelled)
			}
		case "s_count":
			s.Snapshots, err = v.int()
		case "version":
			s.Version, err = v.int()
		case "data":
			err = decodeData(v, s)
		default:
			err = v.skip()
		}
		return err
	})
	s.Version, s.Snapshots = versionOr(s.Version), max(s.Snapshots, 0)
	return err
}

// decodeData reads the document's "data". Lists are in the order of their "i".
func decodeData(v value, s *score.Score) error {
	return v.object(func(name []byte, v value) (err error) {
		switch string(name) {
		case "v":
			var version string
			if version, err = v.str(); err == nil {
				err = knownData(version)
			}
		case "title":
			s.Title, err = v.str()
		case "des_h":
			s.DescriptionHash, err = v.str()
		case "p_count":
			s.PageCount, err = v.int()
		case "a_count":
			s.AnnotationCount, err = v.int()
		case "page":
			s.Pages, err = ordered(v, func(name string, v value, p *score.Page) (err error) {
				switch name {
				case "it":
					p.Item, err = idOf[score.ItemID](v)
				case "s":
					p.ItemScore, err = idOf[score.ID](v)
				case "o":
					p.Object, err = v.str()
				case "p":
					p.Label, err = v.str()
				default:
					err = v.skip()
				}
				return err
			})
			for i := range s.Pages {
				if s.Pages[i].ItemScore == "" {
					s.Pages[i].ItemScore = s.ID
				}
			}
		case "anno":
			s.Annotations, err = ordered(v, func(name string, v value, hash *string) (err error) {
				if name != "h" {
					return v.skip()
				}
				*hash, err = v.str()
				return err
			})
		default:
			err = v.skip()
		}
		return err
	})
}

// knownData returns nil when data of this version can be read. There was none before the first.
func knownData(version string) error {
	v, err := strconv.Atoi(version)
	if err != nil {
		return fmt.Errorf("the version of a score's data: %w", err)
	}
	if v > dataVersion {
		return fault.New(fault.Unavailable, "this score was written by a newer version of Taggie")
	}
	return nil
}

func idOf[ID ~string](v value) (ID, error) {
	s, err := v.str()
	if err != nil {
		return "", err
	}
	id, err := keys.DecodeUUID(s)
	return ID(id), err
}

// ordered reads a list of maps, which have their index as "i".
func ordered[T any](v value, each func(name string, v value, of *T) error) ([]T, error) {
	type indexed struct {
		i  int
		of T
	}
	all := []indexed{}
	err := v.maps(func(v value) error {
		var one indexed
		err := v.object(func(name []byte, v value) (err error) {
			if string(name) == "i" {
				one.i, err = v.int()
				return err
			}
			return each(string(name), v, &one.of)
		})
		all = append(all, one)
		return err
	})
	slices.SortStableFunc(all, func(a, b indexed) int { return cmp.Compare(a.i, b.i) })
	list := make([]T, len(all))
	for i, one := range all {
		list[i] = one.of
	}
	return list, err
}

// maps reads a list of maps.
func (v value) maps(each func(v value) error) error {
	it, err := v.open("L")
	if err != nil {
		return err
	}
	if err := v.d.Arr(func(d *jx.Decoder) error { return each(value{d}) }); err != nil {
		return err
	}
	return end(&it)
}

func snapshotRow(s score.Snapshot) attrs {
	row := scoresTable.key(snapshotKey(s.SnapshotID))
	row["create_at"], row["update_at"], row["snapname"] = str(keys.Instant(s.CreatedAt)), str(keys.Instant(s.UpdatedAt)), str(s.Name)
	return row
}

func decodeSnapshot(item []byte, s *score.Snapshot) error {
	key, err := keyOf(item, scoresTable)
	if err != nil {
		return err
	}
	ref, rest, err := refOf(key, keys.SnapshotPrefix, 1)
	if err != nil {
		return err
	}
	s.Score, s.ID = ref, rest[0]
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "snapname":
			s.Name, err = v.str()
		case "create_at":
			s.CreatedAt, err = v.instant()
		case "update_at":
			s.UpdatedAt, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
}

// newestFirst orders snapshots by when they were taken.
func newestFirst(snapshots []score.Snapshot) {
	slices.SortFunc(snapshots, func(a, b score.Snapshot) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}
