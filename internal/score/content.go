package score

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/taggie/taggie/internal/fault"
)

// contentVersion is the structure of a content in S3. A higher one was written by a newer server and is refused, lower ones are
// upgraded when they are read.
const contentVersion = 1

// contentJSON is a content in S3.
type contentJSON struct {
	Version     int               `json:"v"`
	Owner       UserID            `json:"owner"`
	Score       ID                `json:"score"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Pages       []contentPageJSON `json:"pages"`
	Annotations []string          `json:"annotations"`
}

type contentPageJSON struct {
	Item   ItemID `json:"item"`
	Score  ID     `json:"itemScore"`
	Object string `json:"object,omitempty"`
	Label  string `json:"label,omitempty"`
}

// upgrades turn a content of the version of their index into the next one.
var upgrades = []func(*contentJSON){
	func(c *contentJSON) {}, // there was none before the first
}

// keep puts the content of a snapshot into S3.
func (s *Service) keep(ctx context.Context, id SnapshotID, c Content) error {
	kept := contentJSON{Version: contentVersion, Owner: id.Score.Owner, Score: id.Score.ID, Title: c.Title, Description: c.Description,
		Pages: []contentPageJSON{}, Annotations: c.Annotations}
	for _, p := range c.Pages {
		kept.Pages = append(kept.Pages, contentPageJSON{p.Item, p.ItemScore, p.Object, p.Label})
	}
	_, err := s.contents.Upload(ctx, SnapshotKey(id), "application/json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(kept)
	})
	return err
}

// maxContent bounds what is read of a content: texts may be six times as long in JSON.
const maxContent = 6*(MaxAnnotations*MaxAnnotation+MaxDescription) + 1<<20

// contentAt reads the content of a snapshot.
func (s *Service) contentAt(ctx context.Context, id SnapshotID) (Content, error) {
	r, err := s.contents.Open(ctx, SnapshotKey(id), 0)
	if fault.Is(err, fault.NotFound) {
		return Content{}, snapshotNotFound() // it is being deleted
	}
	if err != nil {
		return Content{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxContent))
	if err = errors.Join(err, r.Close()); err != nil {
		return Content{}, fault.Wrap(fault.Unavailable, err, "the snapshot could not be read")
	}
	return parseContent(raw)
}

func parseContent(raw []byte) (Content, error) {
	var structure struct { // of a newer one nothing else is known
		Version int `json:"v"`
	}
	var kept contentJSON
	err := json.Unmarshal(raw, &structure)
	if err == nil && structure.Version > contentVersion {
		return Content{}, fault.New(fault.Unavailable, "this snapshot was written by a newer version of Taggie")
	}
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil {
		return Content{}, fault.Wrap(fault.Internal, err, "the snapshot could not be read")
	}
	for v := max(kept.Version, 0); v < contentVersion; v++ {
		upgrades[v](&kept)
	}
	c := Content{Title: kept.Title, Description: kept.Description, Annotations: kept.Annotations}
	for _, p := range kept.Pages {
		c.Pages = append(c.Pages, Page{Item: p.Item, ItemScore: p.Score, Object: p.Object, Label: p.Label})
	}
	return c, nil
}
