package scores

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// pageRecord is a page as the document keeps it: lists are in the order of their "i".
type pageRecord struct {
	at   int
	of   score.ID // of which it is a page
	page score.Page
}

// pageRows are the attributes of a page. An item of the score itself does not tell of which score it is.
var pageRows = dynamo.LayoutOf(
	dynamo.OfWhole("i", func(r *pageRecord) *int { return &r.at }),
	dynamo.OfID("it", func(r *pageRecord) *score.ItemID { return &r.page.Item }),
	dynamo.Where(func(r *pageRecord) bool { return r.page.ItemScore != r.of },
		dynamo.OfID("s", func(r *pageRecord) *score.ID { return &r.page.ItemScore })),
	dynamo.OfText("o", func(r *pageRecord) *string { return &r.page.Object }),
	dynamo.OfText("p", func(r *pageRecord) *string { return &r.page.Label }),
)

// annotationRecord is an annotation as the document keeps it.
type annotationRecord struct {
	at   int
	hash string
}

// annotationRows are the attributes of an annotation.
var annotationRows = dynamo.LayoutOf(
	dynamo.OfWhole("i", func(r *annotationRecord) *int { return &r.at }),
	dynamo.OfText("h", func(r *annotationRecord) *string { return &r.hash }),
)

// scoreRecord is a score as its row keeps it.
type scoreRecord struct {
	*score.Score
	pages       []pageRecord
	annotations []annotationRecord
}

// recordOf returns how a score is kept.
func recordOf(s *score.Score) *scoreRecord {
	r := &scoreRecord{Score: s}
	for i, p := range s.Pages {
		r.pages = append(r.pages, pageRecord{i, s.ID, p})
	}
	for i, hash := range s.Annotations {
		r.annotations = append(r.annotations, annotationRecord{i, hash})
	}
	return r
}

// whole is a list which is empty where the row has none of its elements, and nil where it was not read.
func whole(a dynamo.RowAttribute[scoreRecord], begin func(*scoreRecord)) dynamo.RowAttribute[scoreRecord] {
	read := a.Read
	a.Read = func(r *scoreRecord, v dynamo.Value) error {
		begin(r)
		return read(r, v)
	}
	return a
}

// dataRows are the document's "data".
var dataRows = dynamo.LayoutOf(
	dynamo.OfText("title", func(r *scoreRecord) *string { return &r.Title }),
	dynamo.OfText("des_h", func(r *scoreRecord) *string { return &r.DescriptionHash }),
	dynamo.RowAttribute[scoreRecord]{
		Name:  "v",
		Write: func(*scoreRecord) types.AttributeValue { return dynamo.Str(strconv.Itoa(dataVersion)) },
		Read: func(_ *scoreRecord, v dynamo.Value) error {
			version, err := v.Str()
			if err != nil {
				return err
			}
			return knownData(version)
		},
	},
	dynamo.RowAttribute[scoreRecord]{
		Name:  "p_count",
		Write: func(r *scoreRecord) types.AttributeValue { return dynamo.Number(int64(len(r.pages))) },
		Read:  func(r *scoreRecord, v dynamo.Value) (err error) { r.PageCount, err = v.Int(); return err },
	},
	whole(dynamo.OfMaps("page", func(r *scoreRecord) *[]pageRecord { return &r.pages }, pageRows), func(r *scoreRecord) { r.pages = []pageRecord{} }),
	dynamo.RowAttribute[scoreRecord]{
		Name:  "a_count",
		Write: func(r *scoreRecord) types.AttributeValue { return dynamo.Number(int64(len(r.annotations))) },
		Read:  func(r *scoreRecord, v dynamo.Value) (err error) { r.AnnotationCount, err = v.Int(); return err },
	},
	whole(dynamo.OfMaps("anno", func(r *scoreRecord) *[]annotationRecord { return &r.annotations }, annotationRows), func(r *scoreRecord) { r.annotations = []annotationRecord{} }),
)

// scoreData is the document's "data".
func scoreData(s score.Score) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: dataRows.Row(recordOf(&s))}
}

// scoreRows are the attributes of a score besides its key.
var scoreRows = dynamo.LayoutOf(
	dynamo.OfText("d_hash", func(r *scoreRecord) *string { return &r.Hash }),
	dynamo.RowAttribute[scoreRecord]{
		Name:  "access",
		Write: func(r *scoreRecord) types.AttributeValue { return dynamo.Str(accesses[r.Access]) },
		Read: func(r *scoreRecord, v dynamo.Value) error {
			spelled, err := v.Str()
			if err == nil {
				r.Access, err = accessOf(spelled)
			}
			return err
		},
	},
	dynamo.OfMap("data", func(r *scoreRecord) *scoreRecord { return r }, dataRows),
	dynamo.OfInstant("create_at", func(r *scoreRecord) *time.Time { return &r.CreatedAt }),
	dynamo.OfInstant("update_at", func(r *scoreRecord) *time.Time { return &r.UpdatedAt }),
	dynamo.OfWhole("s_count", func(r *scoreRecord) *int { return &r.Snapshots }),
	dynamo.OfWhole("version", func(r *scoreRecord) *int { return &r.Version }),
	dynamo.Optional(dynamo.OfWhole("shown_from", func(r *scoreRecord) *int { return &r.ShownFrom })),
	dynamo.Optional(dynamo.OfWhole("s_hidden", func(r *scoreRecord) *int { return &r.Hidden })),
	dynamo.IndexKey(dynamo.ScoresByTitle.PK, func(r *scoreRecord) string { return placeOf(r.Score).letter }),
	dynamo.IndexKey(dynamo.ScoresByTitle.SK, func(r *scoreRecord) string { return placeOf(r.Score).order }),
)

// scoreRow is the row of a new score.
func scoreRow(s score.Score) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(ScoreKey(s.Ref))
	scoreRows.Write(recordOf(&s), row)
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
func decodePublic(item dynamo.Item, ref *score.Ref) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err == nil {
		*ref, _, err = refOf(key, keys.PublicScorePrefix, 0)
	}
	return err
}

func decodeScore(item dynamo.Item, s *score.Score) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	if s.Ref, _, err = refOf(key, keys.ScorePrefix, 0); err != nil {
		return err
	}
	r := scoreRows.Take()
	defer scoreRows.Give(r)
	r.Score = s
	err = scoreRows.Decode(item, r)
	s.Version, s.Snapshots, s.Hidden = dynamo.VersionOr(s.Version), max(s.Snapshots, 0), max(s.Hidden, 0)
	slices.SortStableFunc(r.pages, func(a, b pageRecord) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(r.annotations, func(a, b annotationRecord) int { return cmp.Compare(a.at, b.at) })
	if r.pages != nil {
		s.Pages = make([]score.Page, len(r.pages))
	}
	for i, p := range r.pages {
		if p.page.ItemScore == "" {
			p.page.ItemScore = s.ID
		}
		s.Pages[i] = p.page
	}
	if r.annotations != nil {
		s.Annotations = make([]string, len(r.annotations))
	}
	for i, a := range r.annotations {
		s.Annotations[i] = a.hash
	}
	return err
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

// snapshotRows are the attributes of a snapshot besides its key.
var snapshotRows = dynamo.LayoutOf(
	dynamo.OfInstant("create_at", func(s *score.Snapshot) *time.Time { return &s.CreatedAt }),
	dynamo.OfInstant("update_at", func(s *score.Snapshot) *time.Time { return &s.UpdatedAt }),
	dynamo.OfText("snapname", func(s *score.Snapshot) *string { return &s.Name }),
	dynamo.Optional(dynamo.OfWhole("of_version", func(s *score.Snapshot) *int { return &s.Version })),
)

func snapshotRow(s score.Snapshot) dynamo.Attrs {
	row := dynamo.ScoresTable.Key(snapshotKey(s.SnapshotID))
	snapshotRows.Write(&s, row)
	return row
}

func decodeSnapshot(item dynamo.Item, s *score.Snapshot) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	ref, rest, err := refOf(key, keys.SnapshotPrefix, 1)
	if err != nil {
		return err
	}
	s.Score, s.ID = ref, rest[0]
	return snapshotRows.Decode(item, s)
}

// newestFirst orders snapshots by when they were taken.
func newestFirst(snapshots []score.Snapshot) {
	slices.SortFunc(snapshots, func(a, b score.Snapshot) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}
