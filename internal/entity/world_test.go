package entity_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

// watched is the store of the server, which lets a test look at what is asked of it and do something in between.
type watched struct {
	entity.Store
	calls  []string
	tasks  []task.Task        // that were recorded
	racing func()             // runs once, before a write
	faster bool               // somebody else changes each entity just before it is put
	step   func(entities int) // runs after each step of a rebuild
}

// world is a service over a watched store with two scopes, "s" and "other", and their people.
type world struct {
	*entity.Service
	*watched
	clock  *storetest.Clock
	db     *dynamo.DB
	faults *faultinject.Injector
	t      *testing.T
}

const (
	owner    entity.UserID = "owner"
	writer   entity.UserID = "writer"
	reader   entity.UserID = "reader"
	nobody   entity.UserID = "nobody" // is no user
	somebody entity.UserID = "somebody"
)

// began is what the clocks show at first.
var began = storetest.NewClock().Now()

func newWorld(t *testing.T) *world {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	for _, id := range []entity.UserID{owner, writer, reader, somebody} {
		signUp := user.User{ID: id, Name: string(id), Email: string(id) + "@example.org", Version: 1, CreatedAt: began, UpdatedAt: began}
		require.NoError(t, users.Store{DB: db}.CreateUser(t.Context(), signUp, "i", string(id), idempotency.Key{}))
	}
	w := &world{watched: &watched{Store: entities.Store{DB: db}}, clock: clock, db: db, faults: inj, t: t}
	made := 0
	w.Service = entity.NewService(entity.Options{Store: w.watched, People: people{"reader@example.org": reader}, Now: clock.Now, NewID: func() string {
		made++
		return fmt.Sprint("made-", made)
	}})
	w.addScope("s", owner, crew)
	w.addScope("other", somebody, map[entity.UserID]entity.Role{writer: entity.WriterRole})
	t.Cleanup(func() { require.Empty(t, inj.Recorder().Violations()) })
	return w
}

// crew are who is in a scope besides its owner.
var crew = map[entity.UserID]entity.Role{writer: entity.WriterRole, reader: entity.ReaderRole}

// addScope stores a scope with its members.
func (w *world) addScope(id string, first entity.UserID, others map[entity.UserID]entity.Role) {
	w.t.Helper()
	created := began.Add(-time.Hour)
	scope, who := entity.Scope{ID: id, Name: "first", Version: 1, CreatedAt: created, UpdatedAt: created}, entity.Member{Scope: id, User: first, Role: entity.OwnerRole, AddedAt: created}
	require.NoError(w.t, w.Store.PutScope(w.t.Context(), nil, scope, &who, nil, idempotency.Key{}))
	for who, role := range others {
		require.NoError(w.t, w.Store.PutMember(w.t.Context(), "", entity.Member{Scope: id, User: who, Role: role, AddedAt: created}, idempotency.Key{}))
	}
}

type people map[string]entity.UserID

func (p people) Lookup(_ context.Context, email string) (entity.UserID, error) {
	if id, ok := p[email]; ok {
		return id, nil
	}
	return "", fault.New(fault.NotFound, "there is no such user")
}

func as(t *testing.T, id entity.UserID) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: string(id)}, UserID: id})
}

// until moves the clock to a time.
func (w *world) until(at time.Time) { w.clock.Advance(at.Sub(w.clock.Now())) }

// scope returns a scope as it is stored.
func (w *world) scope(id string) entity.Scope {
	w.t.Helper()
	found, err := domain.First(w.Store.ScopesByID(w.t.Context(), "", []string{id}))
	require.NoError(w.t, err)
	return found
}

// roles returns the members of a scope as they are stored.
func (w *world) roles(scope string) map[entity.UserID]entity.Role {
	w.t.Helper()
	found, err := w.Store.ListMembers(w.t.Context(), scope, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	roles := map[entity.UserID]entity.Role{}
	for _, m := range found.Items {
		roles[m.User] = m.Role
	}
	return roles
}

// entity returns an entity as it is stored.
func (w *world) entity(id entity.ID) entity.Entity {
	w.t.Helper()
	found, err := domain.First(w.Store.EntitiesByID(w.t.Context(), []entity.ID{id}))
	require.NoError(w.t, err)
	return found
}

// books returns all books of the scope "s" as they are stored.
func (w *world) books() (all []entity.Entity) {
	w.t.Helper()
	storetest.Walk(w.t, page.Max, false, func(win page.Window) (page.Slice[entity.Entity], error) {
		found, err := w.ListEntities(w.t.Context(), "s", "Book", win)
		all = append(all, found.Items...)
		return found, err
	})
	return all
}

// relations counts the relations of a subject.
func (w *world) relations(of entity.ID) int {
	w.t.Helper()
	return len(storetest.Walk(w.t, page.Max, false, func(win page.Window) (page.Slice[entity.Relation], error) {
		return domain.First(w.Store.ListRelations(w.t.Context(), []entity.RelationsRequest{{Entity: of, Window: win}}))
	}))
}

// put stores the next version of an entity without the rules, as another server does.
func (w *world) put(next entity.Entity) {
	w.t.Helper()
	now := w.entity(next.ID)
	next.Version = now.Version + 1
	require.NoError(w.t, w.Store.PutEntity(w.t.Context(), &now, next, nil, idempotency.Key{}))
}

// emit stores other index entries of an entity, as a rebuild does.
func (w *world) emit(id entity.ID, entries ...entity.IndexEntry) {
	w.t.Helper()
	require.NoError(w.t, w.Store.Reindex(w.t.Context(), id.Scope, id.Type, time.Time{}, "", func(e entity.Entity) []entity.IndexEntry {
		if e.ID == id {
			return entries
		}
		return e.Index
	}, func(context.Context, string, int) error { return nil }))
}

func (w *watched) race() {
	if racing := w.racing; racing != nil {
		w.racing = nil
		racing()
	}
}

func (w *watched) ScopesByID(ctx context.Context, user entity.UserID, ids []string) ([]entity.Scope, []error) {
	w.calls = append(w.calls, fmt.Sprint("scopes ", ids))
	return w.Store.ScopesByID(ctx, user, ids)
}

func (w *watched) EntitiesByID(ctx context.Context, ids []entity.ID) ([]entity.Entity, []error) {
	w.calls = append(w.calls, fmt.Sprint("entities ", len(ids)))
	return w.Store.EntitiesByID(ctx, ids)
}

func (w *watched) PutScope(ctx context.Context, before *entity.Scope, after entity.Scope, first *entity.Member, follow []task.Task, once idempotency.Key) error {
	w.race()
	err := w.Store.PutScope(ctx, before, after, first, follow, once)
	if err == nil {
		w.tasks = append(w.tasks, follow...)
	}
	return err
}

func (w *watched) PutEntity(ctx context.Context, before *entity.Entity, after entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error {
	if w.race(); w.faster {
		return &entity.VersionConflict{}
	}
	return w.Store.PutEntity(ctx, before, after, relations, once)
}

func (w *watched) PutFirstEntity(ctx context.Context, in entity.Scope, e entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error {
	w.race()
	return w.Store.PutFirstEntity(ctx, in, e, relations, once)
}

func (w *watched) Reindex(ctx context.Context, scope, typ string, since time.Time, from string, emit entity.Mapper, report func(context.Context, string, int) error) error {
	w.calls = append(w.calls, fmt.Sprintf("reindex %s %q", since.Format(time.TimeOnly), from))
	return w.Store.Reindex(ctx, scope, typ, since, from, emit, func(ctx context.Context, at string, entities int) error {
		if w.step != nil {
			w.step(entities)
		}
		return report(ctx, at, entities)
	})
}
