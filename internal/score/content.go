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
	_, err := s.o.Contents.Upload(ctx, SnapshotKey(id), "application/json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(kept)
	})
	return err
}

// maxContent bounds what is read of a content: texts may be six times as long in JSON.
const maxContent = 6*(MaxAnnotations*MaxAnnotation+MaxDescription) + 1<<20

// contentAt reads the content of a snapshot. It waits while others take up too much.
func (s *Service) contentAt(ctx context.Context, id SnapshotID) (Content, error) {
	if err := s.reading.Acquire(ctx, maxContent); err != nil {
		return Content{}, fault.Wrap(fault.Unavailable, err, "there are too many snapshots to read; ask again")
	}
	defer s.reading.Release(maxContent)
	r, err := s.o.Contents.Open(ctx, SnapshotKey(id), 0)
	if fault.Is(err, fault.NotFound) {
		return Content{}, snapshotNotFound() // it is being deleted
	}
	if err != nil {
		return Content{}, err
	}
	c, err := parseContent(ctx, io.LimitReader(r, maxContent))
	return c, errors.Join(err, r.Close())
}

func parseContent(ctx context.Context, r io.Reader) (Content, error) {
	source := &source{r: r, ended: ctx.Err}
	var kept contentJSON
	err := json.NewDecoder(source).Decode(&kept)
	switch {
	case source.failure() != nil:
		return Content{}, fault.Wrap(fault.Unavailable, source.failure(), "the snapshot could not be read")
	case kept.Version > contentVersion: // of a newer one nothing else is known
		return Content{}, fault.New(fault.Unavailable, "this snapshot was written by a newer version of Taggie")
	case err != nil:
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

// size is how much the content takes up, in bytes.
func (c Content) size() int64 {
	n := len(c.Title) + len(c.Description) + 200*len(c.Pages)
	for _, text := range c.Annotations {
		n += len(text)
	}
	return int64(n)
}
