package score

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// NewPage is a page that is to be made.
type NewPage struct {
	Item   ItemRef // an item of the score's owner
	Object string  // see [Page]
	Label  string
}

// Create is the input of [Service.Create].
type Create struct {
	Title          string
	Description    string // "" for none
	Access         Access
	Pages          []NewPage
	Annotations    []string
	IdempotencyKey *string `json:"-"`
}

// PagesChange is one step of a change of pages; one of the three is set. Indexes count from 0, in the list as the steps before
// left it.
type PagesChange struct {
	Insert *InsertPages
	Move   *Move
	Remove *Range
}

// InsertPages inserts pages so that the first one has the index At.
type InsertPages struct {
	At    int
	Pages []NewPage
}

// Move takes out what has the index From, and puts it so that it has the index To afterwards.
type Move struct{ From, To int }

// Range is Count elements from the index At on.
type Range struct{ At, Count int }

// AnnotationsChange is one step of a change of annotations; one of the four is set. Indexes as in [PagesChange].
type AnnotationsChange struct {
	Insert *InsertAnnotations
	Edit   *EditAnnotation
	Move   *Move
	Remove *Range
}

// InsertAnnotations inserts annotations so that the first one has the index At.
type InsertAnnotations struct {
	At    int
	Texts []string
}

// EditAnnotation replaces the text of the annotation with the index At.
type EditAnnotation struct {
	At   int
	Text string
}

// Update is the input of [Service.Update]; nil leaves a piece as it is. Steps are carried out in their order, all of them or
// none.
type Update struct {
	Score       Ref
	Title       *string
	Description *string // "" removes it
	Access      *Access
	Pages       []PagesChange
	Annotations []AnnotationsChange
	// ShowEarlier lets everybody who may read the score see all its snapshots. Otherwise, if more may read it from now on, those that there are
	// stay the owner's.
	ShowEarlier     bool `json:",omitempty"`
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Create creates a score of the viewer. It returns *[UnknownItem] as an expected outcome.
func (s *Service) Create(ctx context.Context, in Create) (Score, error) {
	owner, err := domain.Self(ctx)
	if err != nil {
		return Score{}, err
	}
	id := ID(s.o.NewID())
	d := newDraft(Score{Ref: Ref{owner, id}, Access: in.Access, Version: 1, shown: true})
	if d.Title, err = parseTitle(in.Title); err != nil {
		return Score{}, err
	}
	if d.DescriptionHash, err = parseDescription(in.Description, d.texts, d.Ref); err != nil {
		return Score{}, err
	}
	if err := d.insertPages("", "input.pages", 0, in.Pages, false); err != nil {
		return Score{}, err
	}
	if err := d.insertAnnotations("", "input.annotations", 0, in.Annotations); err != nil {
		return Score{}, err
	}
	return once(ctx, s, "createScore", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Score, error) {
		made := d.Score
		made.CreatedAt = domain.Later(s.o.Now, time.Time{})
		made.UpdatedAt = made.CreatedAt
		made = made.seal()
		err := s.o.Store.CreateScore(ctx, made, d.missing(Score{}), key.With(string(made.Owner), string(made.ID)))
		if err == nil {
			s.tell(ctx, Score{}, made)
		}
		return made, err
	}, s.reread)
}

// reread returns the score of an earlier result, the zero Score when it is gone meanwhile.
func (s *Service) reread(ctx context.Context, result []string) (Score, error) {
	return domain.Gone(domain.First(guarded(ctx, s.o.Store, Ref{UserID(result[0]), ID(result[1])})))
}

// Update changes a score of the viewer. It returns *[VersionConflict] and *[UnknownItem] as expected outcomes. What is the same
// afterwards is not written.
func (s *Service) Update(ctx context.Context, in Update) (Score, error) {
	// Texts, and what is independent of the score, are checked before it is read.
	checked := newDraft(Score{Ref: in.Score})
	if err := checked.apply(in, true); err != nil {
		return Score{}, err
	}
	return once(ctx, s, "updateScore", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Score, error) {
		return s.rewrite(ctx, in.Score, in.ExpectedVersion, key, func(d *draft) error {
			d.showEarlier = in.ShowEarlier
			return d.apply(in, false)
		})
	}, s.reread)
}

// rewrite makes the next state of a score and keeps it.
func (s *Service) rewrite(ctx context.Context, ref Ref, expected *int, key idempotency.Key, change func(*draft) error) (Score, error) {
	return s.edit(ctx, ref, expected, func(before Score) (Score, error) {
		d := newDraft(before)
		d.Pages, d.Annotations = slices.Clone(before.Pages), slices.Clone(before.Annotations)
		if err := change(&d); err != nil {
			return Score{}, err
		}
		after := before
		switch {
		case d.showEarlier:
			d.ShownFrom, d.Hidden = 0, 0
		case d.Access > before.Access:
			d.ShownFrom, d.Hidden = before.Version+1, before.Snapshots
		}
		if !sameContent(before, d.Score) || before.Access != d.Access || before.ShownFrom != d.ShownFrom {
			after = d.seal()
			after.Version, after.UpdatedAt = before.Version+1, domain.Later(s.o.Now, before.UpdatedAt)
		}
		err := s.o.Store.UpdateScore(ctx, before, after, d.missing(before), key.With(string(after.Owner), string(after.ID)))
		if err == nil {
			s.tell(ctx, before, after)
		}
		return after, err
	})
}

// Delete is the input of [Service.Delete].
type Delete struct {
	Score           Ref
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Delete deletes a score of the viewer with all its snapshots. It returns *[VersionConflict] as an expected outcome. Its items
// stay; they are used no more as soon as what is left of the score is removed, which a crash may delay.
func (s *Service) Delete(ctx context.Context, in Delete) error {
	_, err := once(ctx, s, "deleteScore", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (struct{}, error) {
		var left Intent
		_, err := s.edit(ctx, in.Score, in.ExpectedVersion, func(before Score) (Score, error) {
			var err error
			left, err = s.o.Store.DeleteScore(ctx, before, key.With(string(before.Owner), string(before.ID)))
			if err == nil {
				s.tell(ctx, before, Score{})
			}
			return before, err
		})
		if err == nil {
			s.settleSoon(ctx, left)
		}
		return struct{}{}, err
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}

// draft is a score that is being made.
type draft struct {
	Score
	showEarlier bool              // see [Update]
	texts       map[TextID]string // that came
	items       map[ItemID]ID     // that are or were pages, and to which score each was uploaded: an item has one key
}

func newDraft(of Score) draft {
	d := draft{Score: of, texts: map[TextID]string{}, items: map[ItemID]ID{}}
	for _, p := range of.Pages {
		d.items[p.Item] = p.ItemScore
	}
	return d
}

// missing returns the texts of the draft that the score before does not have.
func (d draft) missing(before Score) []Text {
	had := map[TextID]bool{}
	for _, id := range before.texts() {
		had[id] = true
	}
	var texts []Text
	for _, id := range d.Score.texts() {
		if text, came := d.texts[id]; came && !had[id] {
			texts = append(texts, Text{id.Kind, id.Hash, text})
		}
	}
	return texts
}

// apply makes the changes. With check it only looks at what is independent of the score.
func (d *draft) apply(in Update, check bool) (err error) {
	if in.Title != nil {
		if d.Title, err = parseTitle(*in.Title); err != nil {
			return err
		}
	}
	if in.Description != nil {
		if d.DescriptionHash, err = parseDescription(*in.Description, d.texts, d.Ref); err != nil {
			return err
		}
	}
	if in.Access != nil {
		d.Access = *in.Access
	}
	for i, step := range in.Pages {
		if err := d.changePages(fmt.Sprintf("input.pages.%d", i), step, check); err != nil {
			return err
		}
	}
	for i, step := range in.Annotations {
		if err := d.changeAnnotations(fmt.Sprintf("input.annotations.%d", i), step, check); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) changePages(field string, c PagesChange, check bool) (err error) {
	switch {
	case c.Insert != nil && c.Move == nil && c.Remove == nil:
		at := c.Insert.At
		if check {
			d.Pages, at = nil, 0
		}
		return d.insertPages(field+".insert.at", field+".insert.pages", at, c.Insert.Pages, check)
	case c.Move != nil && c.Insert == nil && c.Remove == nil:
		if !check {
			d.Pages, err = move(field+".move", "page", d.Pages, *c.Move)
		}
	case c.Remove != nil && c.Insert == nil && c.Move == nil:
		if !check {
			d.Pages, err = remove(field+".remove", "page", d.Pages, *c.Remove)
		}
	default:
		return fault.Invalidf(field, "give one of insert, move and remove")
	}
	return err
}

// insertPages inserts pages; the fields are those of the index and of the list. With check it does not look whose the items are:
// that is for those to know who may change the score.
func (d *draft) insertPages(index, field string, at int, pages []NewPage, check bool) error {
	if at < 0 || at > len(d.Pages) {
		return fault.Invalidf(index, "the score has %d pages: the index is 0 to %d", len(d.Pages), len(d.Pages))
	}
	if len(d.Pages)+len(pages) > MaxPages {
		return fault.Invalidf(field, "a score has at most %d pages: remove some first, or begin another score", MaxPages)
	}
	made := make([]Page, len(pages))
	for i, p := range pages {
		of, there := d.items[p.Item.ID]
		if !check && (p.Item.Owner != d.Owner || there && of != p.Item.Score) { // whether another owner has it is nobody's business
			return &UnknownItem{Item: p.Item}
		}
		d.items[p.Item.ID] = p.Item.Score
		var err error
		made[i] = Page{Item: p.Item.ID, ItemScore: p.Item.Score}
		if made[i].Object, err = parseLine(fmt.Sprintf("%s.%d.name", field, i), "what a page is called", p.Object, MaxObject); err != nil {
			return err
		}
		if made[i].Label, err = parseLine(fmt.Sprintf("%s.%d.label", field, i), "a label", p.Label, MaxLabel); err != nil {
			return err
		}
	}
	d.Pages = slices.Insert(d.Pages, at, made...)
	return nil
}

func (d *draft) changeAnnotations(field string, c AnnotationsChange, check bool) (err error) {
	given := 0
	for _, is := range []bool{c.Insert != nil, c.Edit != nil, c.Move != nil, c.Remove != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return fault.Invalidf(field, "give one of insert, edit, move and remove")
	case c.Insert != nil:
		at := c.Insert.At
		if check {
			d.Annotations, at = nil, 0
		}
		return d.insertAnnotations(field+".insert.at", field+".insert.texts", at, c.Insert.Texts)
	case c.Edit != nil:
		hash, err := parseAnnotation(field+".edit.text", c.Edit.Text, d.texts, d.Ref)
		if err != nil || check {
			return err
		}
		if c.Edit.At < 0 || c.Edit.At >= len(d.Annotations) {
			return outside(field+".edit.at", "annotation", len(d.Annotations))
		}
		d.Annotations[c.Edit.At] = hash
	case check:
	case c.Move != nil:
		d.Annotations, err = move(field+".move", "annotation", d.Annotations, *c.Move)
	case c.Remove != nil:
		d.Annotations, err = remove(field+".remove", "annotation", d.Annotations, *c.Remove)
	}
	return err
}

// insertAnnotations inserts annotations; the fields are those of the index and of the list.
func (d *draft) insertAnnotations(index, field string, at int, texts []string) error {
	if at < 0 || at > len(d.Annotations) {
		return fault.Invalidf(index, "the score has %d annotations: the index is 0 to %d", len(d.Annotations), len(d.Annotations))
	}
	if len(d.Annotations)+len(texts) > MaxAnnotations {
		return fault.Invalidf(field, "a score has at most %d annotations: remove some first", MaxAnnotations)
	}
	hashes := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if hashes[i], err = parseAnnotation(fmt.Sprintf("%s.%d", field, i), text, d.texts, d.Ref); err != nil {
			return err
		}
	}
	d.Annotations = slices.Insert(d.Annotations, at, hashes...)
	return nil
}

// outside says that there is no such index.
func outside(field, what string, n int) error {
	if n == 0 {
		return fault.Invalidf(field, "the score has no %ss", what)
	}
	return fault.Invalidf(field, "the score has %d %ss: the index is 0 to %d", n, what, n-1)
}

func move[T any](field, what string, all []T, m Move) ([]T, error) {
	if m.From < 0 || m.From >= len(all) {
		return nil, outside(field+".from", what, len(all))
	}
	if m.To < 0 || m.To >= len(all) {
		return nil, outside(field+".to", what, len(all))
	}
	one := all[m.From]
	return slices.Insert(slices.Delete(all, m.From, m.From+1), m.To, one), nil
}

func remove[T any](field, what string, all []T, r Range) ([]T, error) {
	if r.At < 0 || r.At >= len(all) {
		return nil, outside(field+".at", what, len(all))
	}
	if r.Count < 1 || r.Count > len(all)-r.At {
		return nil, fault.Invalidf(field+".count", "from there on the score has %d %ss: the count is 1 to %d", len(all)-r.At, what, len(all)-r.At)
	}
	return slices.Delete(all, r.At, r.At+r.Count), nil
}
