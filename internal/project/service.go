package project

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

// Service carries out what may be asked about projects.
type Service struct {
	o     Options
	shows ItemReader // what is shown; changes begin with what the store has
	turns *retry.Turns
}

// People finds users by what else names them.
type People interface {
	// Lookup returns the holder of an exact e-mail address, or NotFound. It tells that the address is in use, and is bounded:
	// Exhausted.
	Lookup(ctx context.Context, email string) (UserID, error)
}

// Uploads tells what clients uploaded.
type Uploads interface {
	// Size returns how many bytes are kept under the key, or NotFound.
	Size(ctx context.Context, key string) (int64, error)
}

// Options says what a [Service] works with. Store, Now and NewID are needed.
type Options struct {
	Store     Store
	People    People    // to add by address
	Uploads   Uploads   // where files are uploaded; without it no import can be started
	Originals Originals // items of users to import; without them none can be
	Observer  Observer  // hears of changes; without one nobody is told
	Secrets   [][]byte  // make the tokens of invitations, the first those of new ones; without any nobody can be invited
	Now       func() time.Time
	NewID     func() string // makes UUIDs
}

// NewService returns a service.
func NewService(o Options) *Service { return &Service{o: o, shows: o.Store, turns: &retry.Turns{}} }

// Showing returns the service that shows items as another view of the same store has them, one that leaves out what the caller
// does not need. Changes never begin with these.
func (s *Service) Showing(view ItemReader) *Service {
	with := *s
	with.shows = view
	return &with
}

// ListByID returns the project or the error of each id, in the order of ids. What the viewer is no member of is NotFound: this
// is the one guard of projects.
func (s *Service) ListByID(ctx context.Context, ids []ID) ([]Project, []error) {
	me := viewer.From(ctx).UserID
	if me == "" {
		return make([]Project, len(ids)), repeat(notFound("project"), len(ids))
	}
	projects, errs := s.o.Store.ProjectsByID(ctx, me, ids)
	for i := range projects {
		if errs != nil && errs[i] != nil {
			continue
		}
		if !projects[i].Member.Type.May(Taggie) {
			if errs == nil {
				errs = make([]error, len(ids))
			}
			projects[i], errs[i] = Project{}, notFound("project")
			continue
		}
		projects[i] = shownTo(projects[i])
	}
	return projects, errs
}

// shownTo gives the viewer's own membership the proof that the project itself is.
func shownTo(p Project) Project {
	p.Member.as = proof(p.Member.Type)
	return p
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// get returns the project when the viewer may do what needs the given role: NotFound for who is no member, Forbidden for
// members who may not do this.
func (s *Service) get(ctx context.Context, id ID, need TeamType) (Project, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Project{}, err
	}
	projects, errs := s.ListByID(ctx, []ID{id})
	if errs != nil && errs[0] != nil {
		return Project{}, errs[0]
	}
	return projects[0], allow(proof(projects[0].Member.Type), need, "project")
}

// allow returns nil when who was shown something may do what needs the role; NotFound without a proof.
func allow(as proof, need TeamType, what string) error {
	switch {
	case as == "":
		return notFound(what)
	case TeamType(as).May(need):
		return nil
	}
	return fault.New(fault.Forbidden, "only a %s of the project may do this", need)
}

// List lists the projects of which the user is a member. Forbidden for everybody else.
func (s *Service) List(ctx context.Context, user UserID, w page.Window) (page.Slice[Project], error) {
	if !viewer.From(ctx).Is(user) {
		return page.Slice[Project]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	slice, err := s.o.Store.ListProjects(ctx, user, w)
	for i := range slice.Items {
		slice.Items[i] = shownTo(slice.Items[i])
	}
	return slice, err
}

// ListLabels lists both lists of each project, categories first. NotFound for who is no member.
func (s *Service) ListLabels(ctx context.Context, refs []Ref[ID]) ([][]Label, []error) {
	return byRef(ctx, s, refs, Taggie, "project", s.o.Store.ListLabels, func(labels *[]Label, as proof) {
		for i := range *labels {
			(*labels)[i].as = as
		}
	})
}

// Of returns the labels of one list, of what ListLabels returned.
func (k Kind) Of(labels []Label) []Label {
	var of []Label
	for _, l := range labels {
		if l.Kind == k {
			of = append(of, l)
		}
	}
	return of
}

// ListTeams lists the teams of each project. NotFound for who is no member.
func (s *Service) ListTeams(ctx context.Context, refs []Ref[ID]) ([][]Team, []error) {
	return byRef(ctx, s, refs, Taggie, "project", s.o.Store.ListTeams, func(teams *[]Team, as proof) {
		for i := range *teams {
			(*teams)[i].as = as
		}
	})
}

// LabelsByID returns the label or the error of each, in the order of refs. NotFound for who is no member.
func (s *Service) LabelsByID(ctx context.Context, refs []Ref[LabelID]) ([]Label, []error) {
	return byRef(ctx, s, refs, Taggie, "category", s.o.Store.LabelsByID, func(l *Label, as proof) { l.as = as })
}

// TeamsByID returns the team or the error of each, in the order of refs. NotFound for who is no member.
func (s *Service) TeamsByID(ctx context.Context, refs []Ref[TeamID]) ([]Team, []error) {
	return byRef(ctx, s, refs, Taggie, "team", s.o.Store.TeamsByID, func(t *Team, as proof) { t.as = as })
}

// EffortsByID returns the effort or the error of each, in the order of refs. NotFound for who is no member.
func (s *Service) EffortsByID(ctx context.Context, refs []Ref[EffortID]) ([]Effort, []error) {
	efforts, errs := byRef(ctx, s, refs, Taggie, "effort", s.o.Store.EffortsByID, func(e *Effort, as proof) { e.as = as })
	for i, e := range efforts {
		if !e.RemovedAt.IsZero() {
			efforts[i], errs[i] = Effort{}, notFound("effort")
		}
	}
	return efforts, errs
}

// ItemsByID returns the item or the error of each, in the order of refs. NotFound for who is no member.
func (s *Service) ItemsByID(ctx context.Context, refs []Ref[ItemID]) ([]Item, []error) {
	// The store reads memberships along with the items; nobody's when all of the items hang on something that was shown.
	me := UserID("")
	for _, r := range refs {
		if r.as == "" {
			if me = viewer.From(ctx).UserID; me == "" {
				return make([]Item, len(refs)), repeat(notFound("item"), len(refs))
			}
			break
		}
	}
	ids := make([]ItemID, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	items, members, failed := s.shows.ItemsByID(ctx, me, ids)
	values, errs := make([]Item, len(refs)), make([]error, len(refs))
	for i, r := range refs {
		if r.as == "" {
			r.as = proof(members[r.ID.Project].Type)
		}
		if failed != nil {
			errs[i] = failed[i]
		}
		if errs[i] == nil {
			errs[i] = allow(r.as, Taggie, "item")
		}
		if errs[i] == nil && items[i].Status.Hidden() {
			errs[i] = notFound("item")
		}
		if errs[i] == nil {
			values[i] = items[i]
			values[i].as = r.as
		}
	}
	return values, errs
}

// FirstShown returns the first of the items that the viewer may read and that counts, false when there is none: one look-up of the memberships, and a
// read of each few items of projects of which the viewer is a member.
func (s *Service) FirstShown(ctx context.Context, ids []ItemID, counts func(Item) bool) (Item, bool, error) {
	const atOnce = 10 // an item may be large
	projects := make([]ID, len(ids))
	for i, id := range ids {
		projects[i] = id.Project
	}
	of, failed := s.proofs(ctx, projects)
	var refs []Ref[ItemID]
	for _, id := range ids {
		if err := failed[id.Project]; err != nil {
			return Item{}, false, err
		}
		if as := of[id.Project]; allow(as, Taggie, "item") == nil {
			refs = append(refs, Ref[ItemID]{ID: id, as: as})
		}
	}
	for some := range slices.Chunk(refs, atOnce) {
		items, errs := s.ItemsByID(ctx, some)
		for i, item := range items {
			if errs[i] != nil && !fault.Is(errs[i], fault.NotFound) {
				return Item{}, false, errs[i]
			}
			if errs[i] == nil && counts(item) {
				return item, true, nil
			}
		}
	}
	return Item{}, false, nil
}

// edit reads the project, lets store make and keep its next state, and starts again when somebody else was faster; *[VersionConflict]
// when the caller expected another version. It returns the project after the change.
func (s *Service) edit(ctx context.Context, id ID, expected *int, store func(before Project) (Project, error)) (Project, error) {
	return domain.Edit[*VersionConflict](s.turns.Until(ctx, string(id)), "this project", func() (Project, error) {
		before, err := s.get(ctx, id, Manager)
		if err == nil && expected != nil && *expected != before.Version {
			err = &VersionConflict{Current: before}
		}
		return before, err
	}, store)
}

// once runs a mutation of the viewer at most once per idempotency key.
func once[T any](ctx context.Context, s *Service, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	return domain.Once(ctx, idempotency.Guard{Store: s.o.Store, Now: s.o.Now}, mutation, key, input, effect, reread)
}
