package entity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// memory is a store of what the rules need: it keeps scopes and entities, and notes what else it was asked for.
type memory struct {
	Store
	scopes    map[string]Scope
	roles     map[string]map[UserID]Role
	members   map[UserID]Member // those that were put
	entities  map[ID]Entity
	relations []Relation
	tasks     []task.Task
	keys      map[string]idempotency.Key
	calls     []string
	racing    func()             // runs before a write
	step      func(entities int) // runs after each entity that is indexed
}

// world is a service over a memory with one scope, "s", and its people.
type world struct {
	*Service
	*memory
	at time.Time
}

const (
	owner  UserID = "owner"
	writer UserID = "writer"
	reader UserID = "reader"
	nobody UserID = "nobody"
)

var began = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newWorld() *world {
	w := &world{at: began, memory: &memory{
		scopes:   map[string]Scope{"s": {ID: "s", Name: "first", Version: 1}, "other": {ID: "other", Version: 1}},
		roles:    map[string]map[UserID]Role{"s": {owner: OwnerRole, writer: WriterRole, reader: ReaderRole}, "other": {"somebody": OwnerRole, writer: WriterRole}},
		entities: map[ID]Entity{}, keys: map[string]idempotency.Key{}, members: map[UserID]Member{},
	}}
	made := 0
	w.Service = NewService(Options{Store: w.memory, People: people{"reader@example.org": reader}, Now: func() time.Time { return w.at }, NewID: func() string {
		made++
		return fmt.Sprint("made-", made)
	}})
	return w
}

type people map[string]UserID

func (p people) Lookup(_ context.Context, email string) (UserID, error) {
	if id, ok := p[email]; ok {
		return id, nil
	}
	return "", fault.New(fault.NotFound, "there is no such user")
}

func as(t *testing.T, id UserID) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: string(id)}, UserID: id})
}

func (m *memory) write(once idempotency.Key) error {
	if racing := m.racing; racing != nil {
		m.racing = nil
		racing()
	}
	if err := m.FindIdempotencyKey(context.Background(), once); err != nil || !once.Given() {
		return err
	}
	m.keys[once.Viewer+" "+once.Key] = once
	return nil
}

func (m *memory) FindIdempotencyKey(_ context.Context, k idempotency.Key) error {
	had, used := m.keys[k.Viewer+" "+k.Key]
	switch {
	case !used:
		return nil
	case string(had.Hash) != string(k.Hash):
		return idempotency.ErrMismatch
	}
	return &idempotency.Replayed{Result: had.Result}
}

func (m *memory) ScopesByID(_ context.Context, user UserID, ids []string) ([]Scope, []error) {
	m.calls = append(m.calls, fmt.Sprint("scopes ", ids))
	scopes, errs := make([]Scope, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		scope, there := m.scopes[id]
		if scopes[i] = scope; !there {
			errs[i] = noScope()
		}
		scopes[i].Role = m.roles[id][user]
	}
	return scopes, errs
}

func (m *memory) PutScope(_ context.Context, before *Scope, after Scope, first *Member, follow []task.Task, once idempotency.Key) error {
	if err := m.write(once); err != nil {
		return err
	}
	if before != nil && before.Version != m.scopes[after.ID].Version {
		return &ScopeConflict{Current: m.scopes[after.ID]}
	}
	m.scopes[after.ID] = after
	if first != nil {
		m.roles[after.ID] = map[UserID]Role{first.User: first.Role}
	}
	m.tasks = append(m.tasks, follow...)
	return nil
}

func (m *memory) PutMember(_ context.Context, in Member, once idempotency.Key) error {
	if in.User == nobody {
		return &UnknownUser{}
	}
	m.roles[in.Scope][in.User], m.members[in.User] = in.Role, in
	return m.write(once)
}

func (m *memory) MemberByID(_ context.Context, _ string, user UserID) (Member, error) {
	member, there := m.members[user]
	if !there {
		return Member{}, notFound()
	}
	return member, nil
}

func (m *memory) DeleteMember(_ context.Context, scope string, user UserID, once idempotency.Key) error {
	delete(m.roles[scope], user)
	return m.write(once)
}

func (m *memory) EntitiesByID(_ context.Context, ids []ID) ([]Entity, []error) {
	m.calls = append(m.calls, fmt.Sprint("entities ", len(ids)))
	entities, errs := make([]Entity, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		e, there := m.entities[id]
		if entities[i] = e; !there {
			errs[i] = notFound()
		}
	}
	return entities, errs
}

func (m *memory) current(before *Entity, id ID) error {
	now, there := m.entities[id]
	if there != (before != nil) || before.version() != now.Version || (there && !slices.EqualFunc(before.Index, now.Index, sameEntry)) {
		return &VersionConflict{}
	}
	return nil
}

func sameEntry(a, b IndexEntry) bool { return a.Name == b.Name && a.Key == b.Key }

func (m *memory) PutEntity(_ context.Context, before *Entity, after Entity, relations map[string][]Object, once idempotency.Key) error {
	if err := m.write(once); err != nil {
		return err
	}
	if err := m.current(before, after.ID); err != nil {
		return err
	}
	after.shown = false
	m.entities[after.ID] = after
	for predicate, objects := range relations {
		for i, o := range objects {
			m.relations = append(m.relations, Relation{Subject: after.ID, Predicate: predicate, Index: int64(i), Object: o.ID, Attributes: o.Attributes})
		}
	}
	return nil
}

func (m *memory) DeleteEntity(_ context.Context, e Entity, once idempotency.Key) error {
	if err := m.write(once); err != nil {
		return err
	}
	if err := m.current(&e, e.ID); err != nil {
		return err
	}
	delete(m.entities, e.ID)
	return nil
}

func (m *memory) AddRelations(_ context.Context, subject ID, predicate string, objects []Object, once idempotency.Key) ([]Relation, error) {
	var added []Relation
	for _, o := range objects {
		added = append(added, Relation{Subject: subject, Predicate: predicate, Object: o.ID, Attributes: o.Attributes})
	}
	m.relations = append(m.relations, added...)
	return added, m.write(once)
}

func (m *memory) ListRelations(_ context.Context, requests []RelationsRequest) ([]page.Slice[Relation], []error) {
	found := make([]page.Slice[Relation], len(requests))
	for i, r := range requests {
		found[i].Items = slices.DeleteFunc(slices.Clone(m.relations), func(of Relation) bool {
			return of.Subject != r.Entity || (r.Predicate != "" && of.Predicate != r.Predicate)
		})
	}
	return found, nil
}

func (m *memory) ListByIndex(_ context.Context, scope, index string, r Range, _ page.Window) (page.Slice[Indexed], error) {
	var s page.Slice[Indexed]
	for _, e := range m.entities {
		for _, entry := range e.Index {
			if e.Scope == scope && entry.Name == index && (r.Equals == nil || *r.Equals == entry.Key) {
				s.Items = append(s.Items, Indexed{IndexEntry: entry, Entity: e})
			}
		}
	}
	return s, nil
}

func (m *memory) ListEntities(_ context.Context, scope, typ string, _ page.Window) (page.Slice[Entity], error) {
	var s page.Slice[Entity]
	for id, e := range m.entities {
		if id.Scope == scope && id.Type == typ {
			s.Items = append(s.Items, e)
		}
	}
	return s, nil
}

// Reindex goes through the entities by time of update and id, one at a step.
func (m *memory) Reindex(ctx context.Context, scope, typ string, since time.Time, from string, emit Mapper, report func(context.Context, string, int) error) error {
	m.calls = append(m.calls, fmt.Sprintf("reindex %s %q", since.Format(time.TimeOnly), from))
	position := func(e Entity) string { return e.UpdatedAt.Format(time.RFC3339Nano) + " " + e.ID.ID }
	all := slices.SortedFunc(maps.Values(m.entities), func(a, b Entity) int { return strings.Compare(position(a), position(b)) })
	seen := 0
	for _, e := range all {
		if e.Scope != scope || e.Type != typ || e.UpdatedAt.Before(since) || position(e) <= from {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		e = m.entities[e.ID]
		e.Index = emit(e)
		m.entities[e.ID] = e
		seen++
		if m.step != nil {
			m.step(seen)
		}
		if err := report(ctx, position(e), seen); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) CountLeftOut(_ context.Context, scope string) (map[string]LeftOut, error) {
	all := map[string]LeftOut{}
	for id, e := range m.entities {
		for _, entry := range e.Index {
			if e.Scope != scope || entry.Name != LeftOutIndex {
				continue
			}
			for name, n := range entry.Attributes {
				left := all[name]
				values, err := strconv.Atoi(string(n.(json.Number)))
				if err != nil {
					return nil, err
				}
				left.Values, left.Entities, left.Examples = left.Values+values, left.Entities+1, append(left.Examples, id)
				all[name] = left
			}
		}
	}
	return all, nil
}
