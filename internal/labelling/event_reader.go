package labelling

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
)

// EventDetails are what an event is about, read once for all who are told of it.
type EventDetails struct {
	Item   *project.Item // nil when it concerns none, or could not be read
	Labels []project.Label
	// Efforts reads a page of the item's efforts, with the first few once for all; nil without an item.
	Efforts func(context.Context, page.Window) (page.Slice[project.Effort], error)
	Team    func(context.Context) (project.Team, bool) // the event's, read once for all when somebody asks; nil for none
	People  []user.User
	Shared  *sync.Map // what those keep for one another who tell of the event; nil where nothing was read
}

// WithoutItem returns the details without the item, which was removed since, and without what those keep for one another who were told of it.
func (d EventDetails) WithoutItem() EventDetails {
	d.Item, d.Labels, d.Efforts = nil, nil, nil
	if d.Shared != nil {
		d.Shared = new(sync.Map)
	}
	return d
}

// EventReader reads what events are about, once for everybody who is told of them: nobody is the viewer.
type EventReader struct {
	Things EventThings
	People People
}

// EventThings reads what events are about.
type EventThings interface {
	ItemsByID(ctx context.Context, user UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error)
	LabelsByID(ctx context.Context, ids []project.LabelID) ([]project.Label, []error)
	ListTeams(ctx context.Context, ids []project.ID) ([][]project.Team, []error)
	ListEffortsOfItems(ctx context.Context, requests []project.ItemEffortsRequest) ([]page.Slice[project.Effort], []error)
}

// People reads users.
type People interface {
	UsersByID(ctx context.Context, ids []user.ID) ([]user.User, []error)
}

// Read returns the details of each of a project's events, in their order. What cannot be read is left out, and read by who needs it.
// Cost: one BatchGetItem for the items and one for their labels per 100, and one for the users. Teams and efforts are read when somebody asks for them.
func (r EventReader) Read(ctx context.Context, p project.ID, events []Event) []EventDetails {
	var group errgroup.Group
	var people map[user.ID]user.User
	var items map[string]project.Item
	var labels map[project.LabelID]project.Label
	group.Go(func() error { people = r.people(ctx, events); return nil })
	group.Go(func() error { items, labels = r.items(ctx, p, events); return nil })
	_ = group.Wait() // what fails is left out
	teams := r.teams(p)
	details := make([]EventDetails, len(events))
	for i, e := range events {
		d := &details[i]
		d.Shared = new(sync.Map)
		for _, id := range []user.ID{e.User, e.Author} {
			if u, ok := people[id]; ok {
				d.People = append(d.People, u)
			}
		}
		if e.Team != "" {
			d.Team = func(ctx context.Context) (project.Team, bool) {
				t, ok := teams(ctx)[e.Team]
				return t, ok
			}
		}
		item, ok := items[e.Item]
		if !ok {
			continue
		}
		d.Item, d.Efforts = &item, r.efforts(item.ItemID)
		for _, ref := range labelsOf(item) {
			if l, ok := labels[ref]; ok {
				d.Labels = append(d.Labels, l)
			}
		}
	}
	return details
}

func labelsOf(i project.Item) (ids []project.LabelID) {
	for _, refers := range []func() (project.Ref[project.LabelID], bool){i.CategoryRef, i.SubcategoryRef} {
		if ref, ok := refers(); ok {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// teams returns what reads the teams of a project, by id, when it is first called. Most subscribers ask for none, and all servers read them in one partition.
func (r EventReader) teams(p project.ID) func(context.Context) map[string]project.Team {
	var once sync.Once
	byID := map[string]project.Team{}
	return func(ctx context.Context) map[string]project.Team {
		once.Do(func() {
			all, errs := r.Things.ListTeams(ctx, []project.ID{p})
			if errs != nil && errs[0] != nil {
				return
			}
			for _, t := range all[0] {
				byID[t.ID] = t
			}
		})
		return byID
	}
}

// firstEfforts is how many efforts a page may have that is kept for all. They may ask for pages of different sizes: ten pages have 55 efforts.
const firstEfforts = 10

// efforts returns what reads a page of the efforts of an item. A page of the first few is read once, when it is first asked for. Whoever asks
// meanwhile gets the same, or the same error.
func (r EventReader) efforts(item project.ItemID) func(context.Context, page.Window) (page.Slice[project.Effort], error) {
	var reading singleflight.Group
	var kept sync.Map
	read := func(ctx context.Context, w page.Window) (page.Slice[project.Effort], error) {
		slices, errs := r.Things.ListEffortsOfItems(ctx, []project.ItemEffortsRequest{{Item: item, Window: w}})
		if errs != nil && errs[0] != nil {
			return page.Slice[project.Effort]{}, errs[0]
		}
		return slices[0], nil
	}
	return func(ctx context.Context, w page.Window) (page.Slice[project.Effort], error) {
		if w.From != "" || w.Backward || w.Limit > firstEfforts {
			return read(ctx, w)
		}
		slice, err, _ := reading.Do(strconv.Itoa(w.Limit), func() (any, error) {
			if slice, known := kept.Load(w); known {
				return slice, nil
			}
			slice, err := read(ctx, w)
			if err == nil {
				kept.Store(w, slice)
			}
			return slice, err
		})
		return slice.(page.Slice[project.Effort]), err //nolint:errcheck,forcetypeassert // nothing else is returned above
	}
}

func (r EventReader) people(ctx context.Context, events []Event) map[user.ID]user.User {
	var ids []user.ID
	for _, e := range events {
		for _, id := range []user.ID{e.User, e.Author} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	return byKey(ids, func(ids []user.ID) ([]user.User, []error) { return r.People.UsersByID(ctx, ids) })
}

func (r EventReader) items(ctx context.Context, p project.ID, events []Event) (map[string]project.Item, map[project.LabelID]project.Label) {
	var ids []project.ItemID
	for _, e := range events {
		if e.Item != "" {
			ids = append(ids, project.ItemID{Project: p, ID: e.Item})
		}
	}
	found := byKey(ids, func(ids []project.ItemID) ([]project.Item, []error) {
		items, _, errs := r.Things.ItemsByID(ctx, "", ids)
		return items, errs
	})
	items := make(map[string]project.Item, len(found))
	var labels []project.LabelID
	for id, item := range found {
		if item.Status.Hidden() {
			continue
		}
		items[id.ID] = item
		labels = append(labels, labelsOf(item)...)
	}
	return items, byKey(labels, func(ids []project.LabelID) ([]project.Label, []error) { return r.Things.LabelsByID(ctx, ids) })
}

// byKey reads what has these ids, each once, and leaves out what cannot be read.
func byKey[K comparable, V any](ids []K, read func([]K) ([]V, []error)) map[K]V {
	seen := make(map[K]bool, len(ids))
	var once []K
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	all := make(map[K]V, len(once))
	if len(once) == 0 {
		return all
	}
	values, errs := read(once)
	for i, id := range once {
		if errs == nil || errs[i] == nil {
			all[id] = values[i]
		}
	}
	return all
}
