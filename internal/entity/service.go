package entity

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
)

// Service carries out what may be asked about scopes and their entities.
type Service struct {
	o     Options
	shows Reader // what is shown; changes begin with what the store has
	turns *retry.Turns
}

// People finds users by what else names them.
type People interface {
	// Lookup returns the holder of an exact e-mail address, or NotFound. It tells that the address is in use, and is bounded:
	// Exhausted.
	Lookup(ctx context.Context, email string) (UserID, error)
}

// Options says what a [Service] works with. Store, Now and NewID are needed.
type Options struct {
	Store  Store
	People People // to take into scopes by address
	Now    func() time.Time
	NewID  func() string // makes UUIDs
}

// NewService returns a service.
func NewService(o Options) *Service { return &Service{o: o, shows: o.Store, turns: &retry.Turns{}} }

// Showing returns the service that shows entities as another view of the same store has them, one that leaves out what the
// caller does not need. Changes never begin with these.
func (s *Service) Showing(view Reader) *Service {
	with := *s
	with.shows = view
	return &with
}

// ListByID returns the entity or the error of each id, in the order of ids; see [Service.ListIn].
func (s *Service) ListByID(ctx context.Context, ids []ID) ([]Entity, []error) {
	return s.ListIn(ctx, s.ScopesByID, ids)
}

// ListIn returns the entity or the error of each id, in the order of ids. What is in a scope of which the viewer is no member
// is NotFound: this is the one guard of entities that are reached by id. scopes returns scopes as the viewer is shown them:
// [Service.ScopesByID], or what remembers its results.
func (s *Service) ListIn(ctx context.Context, scopes func(context.Context, []string) ([]Scope, []error), ids []ID) ([]Entity, []error) {
	var in []string
	at := map[string]int{}
	for _, id := range ids {
		if _, asked := at[id.Scope]; !asked && mayExist(id) {
			at[id.Scope], in = len(in), append(in, id.Scope)
		}
	}
	var shown []Scope
	var failed []error
	if len(in) > 0 {
		shown, failed = scopes(ctx, in)
	}
	return domain.Allowed(ids, func(id ID) error {
		n, asked := at[id.Scope]
		switch {
		case !asked || !mayExist(id):
			return notFound()
		case failed != nil && failed[n] != nil && !fault.Is(failed[n], fault.NotFound):
			return failed[n]
		case failed != nil && failed[n] != nil || shown[n].Role < ReaderRole:
			return notFound()
		}
		return nil
	}, func(ids []ID) ([]Entity, []error) {
		entities, errs := s.shows.EntitiesByID(ctx, ids)
		for i := range entities {
			if errs == nil || errs[i] == nil {
				shown[at[ids[i].Scope]].show(&entities[i])
			}
		}
		return entities, errs
	})
}

// ListRequest asks for one page of the entities of a type; see [Scope.Entities].
type ListRequest struct {
	Scope  string
	Type   string
	Window page.Window
	in     *Scope
}

// Entities asks for a page of the entities of a type.
func (s *Scope) Entities(typ string, w page.Window) ListRequest {
	return ListRequest{Scope: s.ID, Type: typ, Window: w, in: s}
}

// List lists the entities of a type, the newest first, in a scope that the viewer was shown; NotFound for others.
func (s *Service) List(ctx context.Context, r ListRequest) (page.Slice[Entity], error) {
	if r.in == nil || r.in.Role < ReaderRole {
		return page.Slice[Entity]{}, noScope()
	}
	if err := checkName("type", "a type", r.Type); err != nil {
		return page.Slice[Entity]{}, err
	}
	slice, err := s.shows.ListEntities(ctx, r.Scope, r.Type, r.Window)
	for i := range slice.Items {
		r.in.show(&slice.Items[i])
	}
	return slice, err
}

// EachEntity shows all entities of a scope that the viewer was shown, page by page, those of a type together; NotFound for other scopes. What was created
// in the last moments may be missing.
func (s *Service) EachEntity(ctx context.Context, in Scope, page func([]Entity) error) error {
	if in.Role < ReaderRole {
		return noScope()
	}
	return s.o.Store.EachEntity(ctx, in.ID, func(all []Entity) error {
		for i := range all {
			in.show(&all[i])
		}
		return page(all)
	})
}

// QueryRequest asks for one page of an index; see [Scope.Query].
type QueryRequest struct {
	Scope     Scope
	Index     string
	Condition Condition
	Entries   bool // only entries are asked for: the entities are not read, but for their ids
	Window    page.Window
}

// Query asks for a page of the entities that the index has under the condition.
func (s Scope) Query(index string, c Condition, w page.Window) QueryRequest {
	return QueryRequest{Scope: s, Index: index, Condition: c, Window: w}
}

// Query lists the entities that an index has under a condition, by key, in a scope that the viewer was shown; NotFound for
// others. Invalid for an index that is not declared; Unavailable for one that is still being built.
func (s *Service) Query(ctx context.Context, r QueryRequest) (page.Slice[Indexed], error) {
	if r.Scope.Role < ReaderRole {
		return page.Slice[Indexed]{}, noScope()
	}
	index, declared := r.Scope.index(r.Index)
	if !declared || !index.RemovedAt.IsZero() {
		return page.Slice[Indexed]{}, fault.Invalidf("index", "the scope has no index of this name")
	}
	keys, err := index.keys("key", r.Condition)
	if err != nil {
		return page.Slice[Indexed]{}, err
	}
	if !index.Ready {
		return page.Slice[Indexed]{}, fault.New(fault.Unavailable, "the index %s is still being built: %d entities were looked at so far", index.Name, index.Done)
	}
	list := s.shows.ListByIndex
	if r.Entries {
		list = s.shows.ListEntries
	}
	slice, err := list(ctx, r.Scope.ID, index.Name, keys, r.Window)
	for i := range slice.Items {
		r.Scope.show(&slice.Items[i].Entity)
		slice.Items[i].Value = r.Scope.value(slice.Items[i].IndexEntry)
	}
	return slice, err
}

// get returns the entity, which is in a scope that the viewer may read.
func (s *Service) get(ctx context.Context, id ID) (Entity, error) {
	entities, errs := s.ListByID(ctx, []ID{id})
	if errs != nil && errs[0] != nil {
		return Entity{}, errs[0]
	}
	return entities[0], nil
}

func (s *Service) guard() idempotency.Guard { return idempotency.Guard{Store: s.o.Store, Now: s.o.Now} }

// edit lets change make and store the next state of the entity with this id, in the scope, which the viewer may write. What
// change is given is nil when there is no such entity and it may be created; otherwise that is NotFound. When somebody else was
// faster it starts again, unless the caller expected a version that is no longer the current one.
func (s *Service) edit(ctx context.Context, id ID, expected *int, create bool, change func(in Scope, before *Entity) (Entity, error)) (Entity, error) {
	var scope Scope
	return domain.Edit[*VersionConflict](s.turns.Until(ctx, "entity "+id.Scope+" "+id.Type+" "+id.ID), "this entity", func() (before *Entity, err error) {
		// The declarations are read anew each time: an entity that is written a minute after an index was declared is in it.
		if scope, err = s.scope(ctx, id.Scope, WriterRole); err != nil {
			return nil, err
		}
		if !mayExist(id) {
			return nil, notFound()
		}
		switch before, err = s.find(ctx, scope, id); {
		case err != nil:
			return nil, err
		case before == nil && !create:
			return nil, notFound()
		case expected != nil && *expected != before.version():
			return nil, &VersionConflict{Current: before}
		}
		return before, nil
	}, func(before *Entity) (Entity, error) { return change(scope, before) })
}

// find returns the entity in a scope that the viewer may write, nil when there is none.
func (s *Service) find(ctx context.Context, in Scope, id ID) (*Entity, error) {
	entities, errs := s.o.Store.EntitiesByID(ctx, []ID{id})
	switch {
	case errs == nil || errs[0] == nil:
		in.show(&entities[0])
		return &entities[0], nil
	case fault.Is(errs[0], fault.NotFound):
		return nil, nil
	}
	return nil, errs[0]
}

// version returns the version of an entity, 0 for one that does not exist.
func (e *Entity) version() int {
	if e == nil {
		return 0
	}
	return e.Version
}
