package contents

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

type scoreLine struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Access      string     `json:"access"`
	Description string     `json:"description"`
	Pages       []pageLine `json:"pages"`
	Annotations []string   `json:"annotations"`
	Version     int        `json:"version"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
}

type pageLine struct {
	Item  string `json:"item"`
	Name  string `json:"name,omitempty"`
	Label string `json:"label,omitempty"`
}

type snapshotLine struct {
	Score       string     `json:"score"`
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	CreatedAt   time.Time  `json:"createdAt"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Pages       []pageLine `json:"pages"`
	Annotations []string   `json:"annotations"`
}

func itemGID(i score.ItemRef) string {
	return gid.Of("Item", string(i.Owner), string(i.Score), string(i.ID)).String()
}

func pagesOf(owner score.UserID, pages []score.Page) []pageLine {
	lines := make([]pageLine, len(pages))
	for i, p := range pages {
		lines[i] = pageLine{itemGID(p.ItemOf(owner)), p.Object, p.Label}
	}
	return lines
}

// eachScore shows each score, as far as it is not deleted meanwhile.
func (s Sources) eachScore(ctx context.Context, id archive.UserID, do func(score.Score) error) error {
	return each(few, func(w page.Window) (page.Slice[score.Score], error) { return s.Scores.List(ctx, id, w) }, func(all []score.Score) error {
		for _, one := range all {
			if err := do(one); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		return nil
	})
}

func (s Sources) scores(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachScore(ctx, id, func(in score.Score) error {
		line, err := s.score(ctx, in)
		if err != nil {
			return err
		}
		return emit(line)
	})
}

// score reads a score with its texts.
func (s Sources) score(ctx context.Context, in score.Score) (scoreLine, error) {
	line := scoreLine{scoreGID(in.Ref), in.Title, accesses[in.Access], "", pagesOf(in.Owner, in.Pages), []string{}, in.Version, in.CreatedAt, in.UpdatedAt}
	var requests []score.TextRequest
	for i := range in.Annotations {
		requests = append(requests, in.Annotation(i))
	}
	description, described := in.Description()
	if described {
		requests = append(requests, description)
	}
	texts, errs := s.Scores.Texts(ctx, requests)
	for _, err := range errs {
		if err != nil {
			return line, err
		}
	}
	if described {
		line.Description, texts = texts[len(texts)-1], texts[:len(texts)-1]
	}
	line.Annotations = append(line.Annotations, texts...)
	return line, nil
}

func scoreGID(r score.Ref) string { return gid.Of("Score", string(r.Owner), string(r.ID)).String() }

// snapshots tells the snapshots of scores, and reads one content at a time: they are large.
func (s Sources) snapshots(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachScore(ctx, id, func(in score.Score) error {
		all, errs := s.Scores.ListSnapshots(ctx, []score.SnapshotsRequest{in.ListSnapshots()})
		if err := of(errs, 0); err != nil {
			return err
		}
		for _, snapshot := range all[0] {
			contents, errs := s.Scores.History().ScoresAt(ctx, []score.ContentRequest{snapshot.Content()})
			if err := of(errs, 0); fault.Is(err, fault.NotFound) {
				continue
			} else if err != nil {
				return err
			}
			c := contents[0]
			if err := emit(snapshotLine{
				scoreGID(in.Ref), gid.Of("Snapshot", string(in.Owner), string(in.ID), snapshot.SnapshotID.ID).String(), snapshot.Name, snapshot.CreatedAt,
				c.Title, c.Description, pagesOf(in.Owner, c.Pages), append([]string{}, c.Annotations...),
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

type keptLine struct {
	Score  string    `json:"score"`
	Title  *string   `json:"title"`
	KeptAt time.Time `json:"keptAt"`
}

// keptScores tells the scores of others that the user keeps, also those that are gone or private now.
func (s Sources) keptScores(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return each(few, func(w page.Window) (page.Slice[score.Kept], error) { return s.Scores.ListKept(ctx, id, w) }, func(all []score.Kept) error {
		refs := make([]score.Ref, len(all))
		for i, k := range all {
			refs[i] = k.Score
		}
		scores, errs := s.Scores.ListByID(ctx, refs)
		for i, k := range all {
			line := keptLine{scoreGID(k.Score), &scores[i].Title, k.At.UTC()}
			if err := of(errs, i); fault.Is(err, fault.NotFound) {
				line.Title = nil
			} else if err != nil {
				return err
			}
			if err := emit(line); err != nil {
				return err
			}
		}
		return nil
	})
}

type itemLine struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	SetName   string     `json:"setName"`
	Type      string     `json:"type"`
	Size      int64      `json:"size"`
	CreatedAt time.Time  `json:"createdAt"`
	Withdrawn *time.Time `json:"withdrawnAt"`
	File      string     `json:"file"`
}

func (s Sources) eachItems(ctx context.Context, id archive.UserID, limit int, do func([]score.Item) error) error {
	return each(limit, func(w page.Window) (page.Slice[score.Item], error) {
		slices, errs := s.Items.ListItems(ctx, []score.ItemsRequest{score.AllItems(id, w)})
		return slices[0], of(errs, 0)
	}, do)
}

func (s Sources) items(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachItems(ctx, id, page.Max, func(all []score.Item) error {
		for _, item := range all {
			line := itemLine{itemGID(item.ItemRef), item.Name, item.SetName, item.Type, item.Size, item.CreatedAt, when(item.Withdrawn), ""}
			if item.Object != "" { // rows of other programs may lack it
				line.File = pathOf(item)
			}
			if err := emit(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// files shows the bytes of the items.
func (s Sources) files(ctx context.Context, id archive.UserID, each func(archive.File) error) error {
	return s.eachItems(ctx, id, page.Max, func(all []score.Item) error {
		for _, item := range all {
			if err := each(archive.File{Key: item.Object, Path: pathOf(item)}); err != nil {
				return err
			}
		}
		return nil
	})
}

type itemTagLine struct {
	Item   string `json:"item"`
	Author string `json:"author"`
	Value  string `json:"value"`
	Public bool   `json:"public"`
}

func (s Sources) itemTags(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	tagged := lists[filetag.TagsRequest, filetag.ItemTag]{
		width: few, window: func(r *filetag.TagsRequest) *page.Window { return &r.Window },
		list: func(rs []filetag.TagsRequest) ([]page.Slice[filetag.ItemTag], []error) {
			return s.Tags.ListTags(ctx, rs)
		},
	}
	return s.eachItems(ctx, id, few, func(all []score.Item) error {
		requests := make([]filetag.TagsRequest, len(all))
		for i, item := range all {
			requests[i] = filetag.OfItem(item, "", page.Window{Limit: few})
		}
		return tagged.each(requests, func(i int, some []filetag.ItemTag) error {
			for _, t := range some {
				if err := emit(itemTagLine{itemGID(all[i].ItemRef), userGID(t.Author), t.Value, t.Public}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// What of the name of an item its path has at most. File systems take 255 bytes.
const (
	nameInPath  = 80 // characters
	bytesInPath = 200
)

// pathOf is the path of the bytes of an item: no part of its name means anything to a file system.
func pathOf(i score.Item) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("-_. ", r) {
			return r
		}
		return '_'
	}, i.Name)
	if runes := []rune(name); len(runes) > nameInPath { // its end tells the type
		name = string(runes[len(runes)-nameInPath:])
	}
	for len(name) > bytesInPath {
		_, first := utf8.DecodeRuneInString(name)
		name = name[first:]
	}
	if name = strings.Trim(name, ". "); name == "" {
		name = "file"
	}
	return "files/" + string(i.ID) + "/" + name
}

type putLine struct {
	Item    string `json:"item"`
	SetName string `json:"setName"`
	Value   string `json:"value"`
	Public  bool   `json:"public"`
}

func (s Sources) tagsPut(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.Tags.EachPut(ctx, id, func(tags []filetag.ItemTag) error {
		for _, t := range tags {
			if err := emit(putLine{itemGID(t.Item.ItemRef), t.SetName, t.Value, t.Public}); err != nil {
				return err
			}
		}
		return nil
	})
}
