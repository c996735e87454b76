package filetag

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Members of a project find its items by the public tags of everybody. The rows by which they do follow from the sets and from which projects use the
// item. They are written behind: each change records a task in its transaction. See docs/decisions/0101.

// SearchProject lists the public tags on the files of a project's items that begin so, ordered by value, file and author. It is eventually
// consistent as [Service.Search] is: no tag is shown that was taken away, nor one on a file that the project does not show. The viewer was shown the
// project; to others it shows nothing.
func (s *Service) SearchProject(ctx context.Context, in project.Project, begin string, w page.Window) (page.Slice[ItemTag], error) {
	sets, files := map[Key]Set{}, map[score.ItemRef]score.ItemRequest{}
	return s.Store.Search(ctx, Query{Begin: begin, Project: in.ID, Items: true}, w, func(ctx context.Context, entries []Entry) ([]ItemTag, error) {
		var keys []Key
		var items []score.ItemRef
		for _, e := range entries {
			keys, items = asked(sets, keys, e.Key), asked(files, items, e.Item)
		}
		var group errgroup.Group
		group.Go(func() error {
			found, errs := s.Store.FindSets(ctx, keys)
			return there(found, errs, func(i int) { sets[keys[i]] = found[i] })
		})
		group.Go(func() error { return s.filesOf(ctx, in, items, files) })
		if err := group.Wait(); err != nil {
			return nil, err
		}
		var tags []ItemTag
		for _, e := range entries {
			set, file := sets[e.Key], files[e.Item]
			if t, is := find(set.Tags, e.Value); is && t.Public && file.Allowed(ctx) {
				tags = append(tags, ItemTag{Item: file, Author: e.Author, SetName: set.SetName, Tag: t})
			}
		}
		return tags, nil
	})
}

// filesOf reads which of the files the project shows to the viewer, with the proof.
func (s *Service) filesOf(ctx context.Context, in project.Project, files []score.ItemRef, shown map[score.ItemRef]score.ItemRequest) error {
	refs := make([]project.Ref[project.ItemID], len(files))
	for i, file := range files {
		refs[i] = in.ItemCalled(file.Original().ExternalID())
	}
	items, errs := s.Projects.ItemsByID(ctx, refs)
	var requests []score.ItemRequest
	var at []score.ItemRef
	if err := there(items, errs, func(i int) {
		if request, is := score.OfProject(items[i]); is && request.Owner == files[i].Owner && request.ID == files[i].ID {
			requests, at = append(requests, request), append(at, files[i])
		}
	}); err != nil || len(requests) == 0 {
		return err
	}
	found, errs := s.Items.ItemsByID(ctx, requests) // not those that are withdrawn
	return there(found, errs, func(i int) { shown[at[i]] = requests[i] })
}

// inProject returns the item as a project shows it to the viewer, who is a member: one of those that are among its first uses. An item that is
// hidden costs as many calls as one that does not exist.
func (s *Service) inProject(ctx context.Context, ref score.ItemRef) (request score.ItemRequest, shown bool, err error) {
	if s.Projects == nil || viewer.From(ctx).UserID == "" {
		return request, false, nil
	}
	uses, err := domain.First(s.Kept.Items.ListUsesOf(ctx, []score.UsesRequest{{Item: ref, Window: page.Window{Limit: page.Max}}}))
	if err != nil {
		return request, false, err
	}
	var ids []project.ItemID
	for _, u := range uses.Items {
		if u.Kind == score.UsedByProject && len(ids) < projectsLooked {
			ids = append(ids, project.ItemIDOf(u.OfProject(), ref.Original().ExternalID()))
		}
	}
	if len(ids) == 0 {
		ids = []project.ItemID{project.ItemIDOf(project.ID(s.NewID()), ref.Original().ExternalID())}
	}
	item, shown, err := s.Projects.FirstShown(ctx, ids, func(i project.Item) bool {
		request, is := score.OfProject(i)
		return is && request.Owner == ref.Owner && request.ID == ref.ID
	})
	if err != nil || !shown {
		return request, false, err
	}
	request, shown = score.OfProject(item)
	return request, shown, nil
}

// projectsLooked is in how many projects an item is looked for, for a member of one who tags it: one batch reads as many memberships.
const projectsLooked = 100

// FollowUses is the handler of [score.FollowUses].
func (s *Service) FollowUses(ctx context.Context, t task.Task) (time.Time, error) {
	items, in := score.UsesFollowed(t)
	return time.Time{}, each(items, func(ref score.ItemRef) error {
		if in != "" {
			return s.FollowUse(ctx, ref, in)
		}
		return s.eachProject(ctx, ref, 0, s.placeAll)
	})
}

// placedNow is in how many projects tags are placed before their change is acknowledged.
const placedNow = 10

// errMany says that a task has more to do than somebody waits for.
var errMany = errors.New("the item is used by many")

// placeNow has an item found in projects by the tags of an author that were changed, if these are few, within half of the time that is left. What it
// does not get done the task does.
func (s *Service) placeNow(ctx context.Context, of Key, follow task.Task) {
	if follow.ID == "" {
		return
	}
	if deadline, is := ctx.Deadline(); is {
		soon, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = soon
	}
	err := s.eachProject(ctx, of.Item, placedNow, func(ctx context.Context, _ score.ItemRef, in project.ID) error {
		return again(ctx, func() error { return s.place(ctx, of, in) })
	})
	if err == nil {
		_ = s.Store.ForgetTask(ctx, follow) // it finds nothing to do
	}
}

// FollowUse has an item found in one of the projects that use it by the tags that it has. It can be run at any time, and again.
func (s *Service) FollowUse(ctx context.Context, ref score.ItemRef, in project.ID) error {
	if usable, err := s.usable(ctx, ref); err != nil || !usable {
		return err
	}
	return s.placeAll(ctx, ref, in)
}

// usable reports whether projects may use an item. Of one that is withdrawn or gone it removes by what it is found in projects.
func (s *Service) usable(ctx context.Context, ref score.ItemRef) (bool, error) {
	item, err := domain.First(s.Kept.Items.ItemsByID(ctx, []score.ItemRef{ref}))
	if fault.Is(err, fault.NotFound) || err == nil && !item.Withdrawn.IsZero() {
		return false, s.Store.Unplace(ctx, ref.ID)
	}
	return err == nil, err
}

// eachProject does something for each project that uses an item; errMany when these are more than most, which are on one page, 0 for no bound.
func (s *Service) eachProject(ctx context.Context, ref score.ItemRef, most int, do func(context.Context, score.ItemRef, project.ID) error) error {
	if usable, err := s.usable(ctx, ref); err != nil || !usable {
		return err
	}
	for w := (page.Window{Limit: page.Max}); ; {
		uses, err := domain.First(s.Kept.Items.ListUsesOf(ctx, []score.UsesRequest{{Item: ref, Window: w}}))
		if err != nil {
			return err
		}
		by := slices.DeleteFunc(uses.Items, func(u score.Use) bool { return u.Kind != score.UsedByProject })
		if most > 0 && (uses.More || len(by) > most) {
			return errMany
		}
		if err := inTurn(by, func(u score.Use) error { return do(ctx, ref, u.OfProject()) }); err != nil || !uses.More {
			return err
		}
		w.From = uses.Positions[len(uses.Positions)-1]
	}
}

// placeAll has an item found in a project by the tags of all authors. The sets are read before what is placed, so that whoever is last writes what
// holds: the sets change only with another version.
func (s *Service) placeAll(ctx context.Context, ref score.ItemRef, in project.ID) error {
	placed := PlacedRequest{Item: ref.ID, Project: in}
	for request := (SetsRequest{Item: ref, Limit: page.Max}); ; {
		sets, err := domain.First(s.Store.ListSets(ctx, []SetsRequest{request}))
		if err != nil {
			return err
		}
		last := len(sets) < request.Limit
		if placed.After, placed.Until = request.From, ""; !last {
			placed.Until = sets[len(sets)-1].Author
		}
		was, err := s.Store.ListPlaced(ctx, placed)
		if err != nil {
			return err
		}
		var found []Set
		for _, set := range sets {
			if set.Item.Owner == ref.Owner {
				found = append(found, set)
			}
		}
		for author := range was {
			if !slices.ContainsFunc(sets, func(set Set) bool { return set.Author == author }) {
				found = append(found, Set{Key: Key{ref, author}}) // whose tags are gone
			}
		}
		if err := inTurn(found, func(set Set) error {
			if err := s.Store.Place(ctx, set, in, was[set.Author]); !errors.Is(err, ErrMoved) {
				return err
			}
			return again(ctx, func() error { return s.place(ctx, set.Key, in) })
		}); err != nil {
			return err
		}
		if last {
			return nil
		}
		request.From, request.Behind = sets[len(sets)-1].Author, true
	}
}

// place has an item found in a project by the tags of an author; [ErrMoved] when somebody changes them meanwhile.
func (s *Service) place(ctx context.Context, of Key, in project.ID) error {
	set, err := domain.First(s.Store.FindSets(ctx, []Key{of}))
	if err != nil {
		return err
	}
	placed, err := s.Store.ListPlaced(ctx, PlacedRequest{Item: of.Item.ID, Project: in, Author: of.Author})
	if err != nil {
		return err
	}
	return s.Store.Place(ctx, set, in, placed[of.Author])
}

// inTurn does the same with all of them, one after the other, whatever becomes of the others. Transactions that have the same item as a condition would
// conflict with one another.
func inTurn[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	for i, one := range all {
		errs[i] = do(one)
	}
	return errors.Join(errs...)
}

// again does something until nobody changes the tags meanwhile.
func again(ctx context.Context, do func() error) error {
	for range retry.Until(ctx) {
		if err := do(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return retry.Busy("the tags of this item")
}
