package score

import (
	"context"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/viewer"
)

var _ project.Originals = (*Items)(nil)

// Original names the item for an import into a project.
func (r ItemRef) Original() project.OriginalID {
	return project.OriginalID{Owner: r.Owner, Score: string(r.Score), ID: string(r.ID)}
}

// RefOf returns where the item is of which an item of a project is made.
func RefOf(id project.OriginalID) ItemRef {
	return ItemRef{Owner: id.Owner, Score: ID(id.Score), ID: ItemID(id.ID)}
}

// OfProject asks for the item of which an item of a project is made, which who was shown that may read; false when there is none.
func OfProject(i project.Item) (ItemRequest, bool) {
	id, ok := i.ShownOriginal()
	return ItemRequest{ItemRef: RefOf(id), shown: shown(ok)}, ok
}

// ProjectsRequest asks for one page of the projects that use an item; see [Item.Projects].
type ProjectsRequest struct {
	Item   ItemRef
	Window page.Window
	shown  shown
}

// Projects asks for the projects that use the item.
func (i Item) Projects(w page.Window) ProjectsRequest {
	return ProjectsRequest{Item: i.ItemRef, Window: w, shown: i.shown}
}

// OfProject returns the project that uses the item.
func (u Use) OfProject() project.ID { return project.ID(u.By) }

// ListProjects lists the projects that use each item and of which the viewer is a member, in the order of the requests. NotFound for
// who was not shown the item.
func (s *Items) ListProjects(ctx context.Context, requests []ProjectsRequest) ([]page.Slice[project.Project], []error) {
	me := viewer.From(ctx).UserID
	return allowed(requests, func(r ProjectsRequest) shown { return r.shown }, noItem, func(requests []ProjectsRequest) ([]page.Slice[project.Project], []error) {
		if me == "" { // who is nobody is a member of nothing
			return make([]page.Slice[project.Project], len(requests)), nil
		}
		slices, errs := s.shows.ListProjectsOf(ctx, me, requests)
		for _, slice := range slices {
			for i, p := range slice.Items {
				slice.Items[i] = project.Shown(ctx, p)
			}
		}
		return slices, errs
	})
}

// OriginalsByID returns what an import needs of each item of the viewer; NotFound for one that is not.
func (s *Items) OriginalsByID(ctx context.Context, ids []project.OriginalID) ([]project.Original, []error) {
	requests := make([]ItemRequest, len(ids))
	for i, id := range ids {
		requests[i] = AnItem(RefOf(id))
	}
	items, errs := s.ItemsByID(ctx, requests)
	originals := make([]project.Original, len(ids))
	for i := range items {
		if originals[i] = items[i].original(); !items[i].Withdrawn.IsZero() {
			errs[i] = noItem()
		}
	}
	return originals, errs
}

func (i Item) original() project.Original {
	return project.Original{OriginalID: i.ItemRef.Original(), Name: i.Name, Type: i.Type}
}

// OwnScore returns nil for a score of the viewer, and NotFound for every other one.
func (s *Items) OwnScore(ctx context.Context, owner UserID, id string) error {
	if !viewer.From(ctx).Is(owner) {
		return fault.New(fault.NotFound, "there is no such score")
	}
	if _, errs := s.scores.ScoresByID(ctx, []Ref{{Owner: owner, ID: ID(id)}}); errs != nil {
		return errs[0]
	}
	return nil
}

// ListOriginals hands on what an import is to bring. It asks nobody who may see that: the items are those of who created it.
func (s *Items) ListOriginals(ctx context.Context, i project.Import, each func(project.Original) error) error {
	switch i.Source {
	case project.FromItems:
		return s.listNamed(ctx, i, each)
	case project.FromScore:
		return s.listAll(ctx, Ref{Owner: i.CreatedBy, ID: ID(i.Score)}, each)
	}
	return s.listAll(ctx, Ref{Owner: i.CreatedBy, ID: Library}, each)
}

func (s *Items) listNamed(ctx context.Context, i project.Import, each func(project.Original) error) error {
	refs := make([]ItemRef, len(i.Items))
	for n, id := range i.Items {
		refs[n] = RefOf(id)
		refs[n].Owner = i.CreatedBy
	}
	items, errs := s.store.ItemsByID(ctx, refs)
	for n := range refs {
		if errs != nil && errs[n] != nil && !fault.Is(errs[n], fault.NotFound) {
			return errs[n]
		}
		if items[n].ItemRef = refs[n]; !items[n].Withdrawn.IsZero() {
			items[n].Name = "" // as of one that is gone
		}
		if err := each(items[n].original()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Items) listAll(ctx context.Context, of Ref, each func(project.Original) error) error {
	for w := (page.Window{Limit: page.Max}); ; {
		lists, errs := s.store.ListItemsOf(ctx, []ItemsRequest{{Of: of, Window: w}})
		if errs != nil && errs[0] != nil {
			return errs[0]
		}
		for _, item := range lists[0].Items {
			if !item.Withdrawn.IsZero() {
				continue
			}
			if err := each(item.original()); err != nil {
				return err
			}
		}
		if !lists[0].More {
			return nil
		}
		w.From = lists[0].Positions[len(lists[0].Positions)-1]
	}
}
