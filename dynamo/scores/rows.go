package scores

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-faster/jx"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// dataVersion is the structure of a score's data, as the document spells it. Rows of a higher one were written by a newer
// server and are refused.
const dataVersion = 1

// ScoreKey is the key of the row of a score.
func ScoreKey(ref score.Ref) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(ref.Owner)), SK: keys.ScoreSK(string(ref.ID))}
}

func publicScoreKey(ref score.Ref) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(ref.Owner)), SK: keys.PublicScoreSK(string(ref.ID))}
}

func scoreCountKey(owner score.UserID) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(owner)), SK: keys.CountsSK}
}

func textKey(id score.TextID) dynamo.Key {
	key := dynamo.Key{PK: keys.TextsPK(string(id.Score.Owner))}
	switch id.Kind {
	case score.DescriptionText:
		key.SK = keys.DescriptionSK(string(id.Score.ID), id.Hash)
	default:
		key.SK = keys.AnnotationSK(string(id.Score.ID), id.Hash)
	}
	return key
}

func snapshotKey(id score.SnapshotID) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(id.Score.Owner)), SK: keys.SnapshotSK(string(id.Score.ID), id.ID)}
}

func snapshotNameKey(ref score.Ref, name string) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(ref.Owner)), SK: keys.SnapshotNameSK(string(ref.ID), name)}
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
		page := dynamo.Attrs{"i": dynamo.Number(int64(i)), "it": dynamo.Str(keys.EncodeUUID(string(p.Item))), "o": dynamo.Str(p.Object), "p": dynamo.Str(p.Label)}
		if p.ItemScore != s.ID {
			page["s"] = dynamo.Str(keys.EncodeUUID(string(p.ItemScore)))
		}
		pages[i] = &types.AttributeValueMemberM{Value: page}
	}
	annotations := make([]types.AttributeValue, len(s.Annotations))
	for i, hash := range s.Annotations {
		annotations[i] = &types.AttributeValueMemberM{Value: dynamo.Attrs{"i": dynamo.Number(int64(i)), "h": dynamo.Str(hash)}}
	}
	return &types.AttributeValueMemberM{Value: dynamo.Attrs{
		"title": dynamo.Str(s.Title), "des_h": dynamo.Str(s.DescriptionHash), "v": dynamo.Str(strconv.Itoa(dataVersion)),
		"p_count": dynamo.Number(int64(len(s.Pages))), "page": &types.AttributeValueMemberL{Value: pages},
		"a_count": dynamo.Number(int64(len(s.Annotations))), "anno": &types.AttributeValueMemberL{Value: annotations},
	}}
}

// scoreRow is the row of a new score.
func scoreRow(s score.Score) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(ScoreKey(s.Ref))
	row["d_hash"], row["access"], row["data"] = dynamo.Str(s.Hash), dynamo.Str(accesses[s.Access]), scoreData(s)
	row["create_at"], row["update_at"] = dynamo.Str(keys.Instant(s.CreatedAt)), dynamo.Str(keys.Instant(s.UpdatedAt))
	row["s_count"], row["version"] = dynamo.Number(int64(s.Snapshots)), dynamo.Number(int64(s.Version))
	return row
}

// refOf reads the score from the keys of its row; what follows the score in the sort key are the rest, n ids.
func refOf(key dynamo.Key, prefix string, n int) (ref score.Ref, rest []string, err error) {
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
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err == nil {
		*ref, _, err = refOf(key, keys.PublicScorePrefix, 0)
	}
	return err
}

func decodeScore(item []byte, s *score.Score) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	if s.Ref, _, err = refOf(key, keys.ScorePrefix, 0); err != nil {
		return err
	}
	err = dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "d_hash":
			s.Hash, err = v.Str()
		case "create_at":
			s.CreatedAt, err = v.Instant()
		case "update_at":
			s.UpdatedAt, err = v.Instant()
		case "access":
			var spelled string
			if spelled, err = v.Str(); err == nil {
				s.Access, err = accessOf(spelled)
			}
		case "s_count":
			s.Snapshots, err = v.Int()
		case "version":
			s.Version, err = v.Int()
		case "data":
			err = decodeData(v, s)
		default:
			err = v.Skip()
		}
		return err
	})
	s.Version, s.Snapshots = dynamo.VersionOr(s.Version), max(s.Snapshots, 0)
	return err
}

// decodeData reads the document's "data". Lists are in the order of their "i".
func decodeData(v dynamo.Value, s *score.Score) error {
	return v.Object(func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "v":
			var version string
			if version, err = v.Str(); err == nil {
				err = knownData(version)
			}
		case "title":
			s.Title, err = v.Str()
		case "des_h":
			s.DescriptionHash, err = v.Str()
		case "p_count":
			s.PageCount, err = v.Int()
		case "a_count":
			s.AnnotationCount, err = v.Int()
		case "page":
			s.Pages, err = ordered(v, func(name string, v dynamo.Value, p *score.Page) (err error) {
				switch name {
				case "it":
					p.Item, err = dynamo.IDOf[score.ItemID](v)
				case "s":
					p.ItemScore, err = dynamo.IDOf[score.ID](v)
				case "o":
					p.Object, err = v.Str()
				case "p":
					p.Label, err = v.Str()
				default:
					err = v.Skip()
				}
				return err
			})
			for i := range s.Pages {
				if s.Pages[i].ItemScore == "" {
					s.Pages[i].ItemScore = s.ID
				}
			}
		case "anno":
			s.Annotations, err = ordered(v, func(name string, v dynamo.Value, hash *string) (err error) {
				if name != "h" {
					return v.Skip()
				}
				*hash, err = v.Str()
				return err
			})
		default:
			err = v.Skip()
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

// ordered reads a list of maps, which have their index as "i".
func ordered[T any](v dynamo.Value, each func(name string, v dynamo.Value, of *T) error) ([]T, error) {
	type indexed struct {
		i  int
		of T
	}
	all := []indexed{}
	err := eachMap(v, func(v dynamo.Value) error {
		var one indexed
		err := v.Object(func(name []byte, v dynamo.Value) (err error) {
			if string(name) == "i" {
				one.i, err = v.Int()
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

// eachMap reads a list of maps.
func eachMap(v dynamo.Value, each func(v dynamo.Value) error) error {
	it, err := v.Open("L")
	if err != nil {
		return err
	}
	if err := v.D.Arr(func(d *jx.Decoder) error { return each(dynamo.Value{D: d}) }); err != nil {
		return err
	}
	return dynamo.End(&it)
}

func snapshotRow(s score.Snapshot) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(snapshotKey(s.SnapshotID))
	row["create_at"], row["update_at"], row["snapname"] = dynamo.Str(keys.Instant(s.CreatedAt)), dynamo.Str(keys.Instant(s.UpdatedAt)), dynamo.Str(s.Name)
	return row
}

func decodeSnapshot(item []byte, s *score.Snapshot) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	ref, rest, err := refOf(key, keys.SnapshotPrefix, 1)
	if err != nil {
		return err
	}
	s.Score, s.ID = ref, rest[0]
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "snapname":
			s.Name, err = v.Str()
		case "create_at":
			s.CreatedAt, err = v.Instant()
		case "update_at":
			s.UpdatedAt, err = v.Instant()
		default:
			err = v.Skip()
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
