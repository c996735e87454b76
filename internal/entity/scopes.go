package entity

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

func noScope() error { return fault.New(fault.NotFound, "there is no such scope") }

// ScopesByID returns the scope or the error of each id, in the order of ids. A scope of which the viewer is no member, or that is
// deleted, is NotFound: this is the one guard of scopes, and of what is in them.
func (s *Service) ScopesByID(ctx context.Context, ids []string) ([]Scope, []error) {
	reader := viewer.From(ctx).UserID
	return domain.Allowed(ids, func(id string) error {
		if reader == "" || checkID("", id) != nil {
			return noScope()
		}
		return nil
	}, func(ids []string) ([]Scope, []error) {
		scopes, errs := s.o.Store.ScopesByID(ctx, reader, ids)
		for i := range scopes {
			if (errs == nil || errs[i] == nil) && (scopes[i].Role < ReaderRole || scopes[i].Deletion.State != "") {
				if errs == nil {
					errs = make([]error, len(ids))
				}
				scopes[i], errs[i] = Scope{}, noScope()
			}
		}
		return scopes, errs
	})
}

// scope returns the scope when the viewer has at least the given role: NotFound for who is no member, Forbidden for who is but
// may not do this.
func (s *Service) scope(ctx context.Context, id string, need Role) (Scope, error) {
	if viewer.From(ctx).UserID == "" {
		return Scope{}, domain.SignUpFirst()
	}
	scopes, errs := s.ScopesByID(ctx, []string{id})
	switch {
	case errs != nil && errs[0] != nil:
		return Scope{}, errs[0]
	case scopes[0].Role >= need:
		return scopes[0], nil
	case need == OwnerRole:
		return Scope{}, fault.New(fault.Forbidden, "only owners of the scope may do this")
	}
	return Scope{}, fault.New(fault.Forbidden, "you may read this scope only")
}

// ListScopes lists the scopes of which the user is a member, by id. Forbidden for everybody else.
func (s *Service) ListScopes(ctx context.Context, user UserID, w page.Window) (page.Slice[Scope], error) {
	if !viewer.From(ctx).Is(user) {
		return page.Slice[Scope]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListScopes(ctx, user, w)
}

// CreateScope is the input of [Service.CreateScope].
type CreateScope struct {
	Name           string
	IdempotencyKey *string `json:"-"`
}

// CreateScope creates a scope whose owner is the viewer.
func (s *Service) CreateScope(ctx context.Context, in CreateScope) (Scope, error) {
	owner := viewer.From(ctx).UserID
	if owner == "" {
		return Scope{}, domain.SignUpFirst()
	}
	name, err := parseScopeName(in.Name)
	if err != nil {
		return Scope{}, err
	}
	return s.onceScope(ctx, "createScope", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Scope, error) {
		now := domain.Later(s.o.Now, time.Time{})
		scope := Scope{ID: s.o.NewID(), Name: name, Version: 1, CreatedAt: now, UpdatedAt: now, CreatedBy: owner, Types: map[string]bool{}, Role: OwnerRole}
		first := Member{Scope: scope.ID, User: owner, Role: OwnerRole, AddedAt: now}
		return scope, s.o.Store.PutScope(ctx, nil, scope, &first, nil, once.With(scope.ID))
	})
}

// RenameScope is the input of [Service.RenameScope].
type RenameScope struct {
	Scope           string
	Name            string
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// RenameScope changes the name of a scope; owners only. It returns *[ScopeConflict] as an expected outcome.
func (s *Service) RenameScope(ctx context.Context, in RenameScope) (Scope, error) {
	name, err := parseScopeName(in.Name)
	if err != nil {
		return Scope{}, err
	}
	return s.onceScope(ctx, "renameScope", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Scope, error) {
		return s.editScope(ctx, in.Scope, in.ExpectedVersion, once, func(after *Scope) ([]task.Task, error) {
			after.Name = name
			return nil, nil
		})
	})
}

// DeclareIndex is the input of [Service.DeclareIndex].
type DeclareIndex struct {
	Scope          string
	Name           string
	Type           string
	Path           []string
	Kind           KeyKind
	ThenBy         []Part   `json:",omitempty"`
	Where          []Where  `json:",omitempty"`
	Carries        []string `json:",omitempty"`
	IdempotencyKey *string  `json:"-"`
}

// DeclareIndex declares an index for the entities of a type; owners only. Those that are set from now on are in it; those that
// were there before are indexed in the background, and the index is Ready when they are. Where there was no entity of the type yet, it is Fresh, and
// Ready as soon as the background comes to it.
func (s *Service) DeclareIndex(ctx context.Context, in DeclareIndex) (Scope, error) {
	if err := checkIndex(in); err != nil {
		return Scope{}, err
	}
	return s.onceScope(ctx, "declareIndex", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Scope, error) {
		return s.editScope(ctx, in.Scope, nil, once, func(after *Scope) ([]task.Task, error) {
			if taken, found := after.index(in.Name); found && taken.RemovedAt.IsZero() {
				return nil, &fault.Error{Kind: fault.Conflict, Field: "input.name", Message: "the scope has an index of this name"}
			} else if found {
				return nil, fault.New(fault.Unavailable, "an index of this name is being removed; try again when it is gone")
			}
			if len(after.Indexes) >= MaxIndexes {
				return nil, fault.New(fault.Exhausted, "a scope has at most %d indexes: drop one that is no longer needed", MaxIndexes)
			}
			x := Index{Name: in.Name, Type: in.Type, Path: slices.Clone(in.Path), Kind: in.Kind, ThenBy: in.ThenBy, Where: in.Where, Carries: in.Carries, DeclaredAt: after.UpdatedAt, Fresh: after.isFresh(in.Type)}
			after.Indexes = append(after.Indexes, x)
			return []task.Task{x.rebuild(after.ID)}, nil
		})
	})
}

// RemoveIndex is the input of [Service.RemoveIndex].
type RemoveIndex struct {
	Scope          string
	Name           string
	IdempotencyKey *string `json:"-"`
}

// RemoveIndex removes an index at once, and what it holds in the background; owners only.
func (s *Service) RemoveIndex(ctx context.Context, in RemoveIndex) (Scope, error) {
	return s.onceScope(ctx, "removeIndex", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Scope, error) {
		return s.editScope(ctx, in.Scope, nil, once, func(after *Scope) ([]task.Task, error) {
			i := slices.IndexFunc(after.Indexes, func(x Index) bool { return x.Name == in.Name && x.RemovedAt.IsZero() })
			if i < 0 {
				return nil, &fault.Error{Kind: fault.NotFound, Field: "input.name", Message: "the scope has no index of this name"}
			}
			x := &after.Indexes[i]
			x.RemovedAt, x.Ready = after.UpdatedAt, false
			x.Done, x.Pass, x.At = 0, 0, ""
			return []task.Task{x.rebuild(after.ID)}, nil
		})
	})
}

// typesNoted is how many types a scope notes: each is read with the scope, and so with every operation.
const typesNoted = 50

// isFresh reports whether there was surely no entity of the type when the scope was read.
func (s Scope) isFresh(typ string) bool {
	return s.Types != nil && !s.Types[typ] && len(s.Types) < typesNoted
}

// index returns the declaration with the name, also of an index that is being removed.
func (s Scope) index(name string) (Index, bool) {
	for _, x := range s.Indexes {
		if x.Name == name {
			return x, true
		}
	}
	return Index{}, false
}

// Declared returns the indexes by name, without those that are being removed.
func (s Scope) Declared() []Index {
	declared := slices.DeleteFunc(slices.Clone(s.Indexes), func(x Index) bool { return !x.RemovedAt.IsZero() })
	for i := range declared {
		declared[i].scope, declared[i].shown = s.ID, s.Role >= ReaderRole
	}
	slices.SortFunc(declared, func(a, b Index) int { return strings.Compare(a.Name, b.Name) })
	return declared
}

// editScope reads the scope, lets change make its next state, and stores it with the tasks that follow from it; when somebody
// else was faster it starts again, unless the caller expected a version.
func (s *Service) editScope(ctx context.Context, id string, expected *int, once idempotency.Key, change func(*Scope) ([]task.Task, error)) (Scope, error) {
	return domain.Edit[*ScopeConflict](s.turns.Until(ctx, "scope "+id), "this scope", func() (Scope, error) {
		before, err := s.scope(ctx, id, OwnerRole)
		if err == nil && expected != nil && *expected != before.Version {
			err = &ScopeConflict{Current: before}
		}
		return before, err
	}, func(before Scope) (Scope, error) {
		after := before
		after.Indexes = slices.Clone(before.Indexes)
		after.Version, after.UpdatedAt = before.Version+1, domain.Later(s.o.Now, before.UpdatedAt)
		follow, err := change(&after)
		if err != nil {
			return Scope{}, err
		}
		return after, s.o.Store.PutScope(ctx, &before, after, nil, follow, once.With(id))
	})
}

// onceScope runs a mutation that results in a scope; the zero Scope when a repeated request finds that the viewer is no member
// any more.
func (s *Service) onceScope(ctx context.Context, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (Scope, error)) (Scope, error) {
	return domain.Once(ctx, s.guard(), mutation, key, input, effect, func(ctx context.Context, result []string) (Scope, error) {
		scope, err := s.scope(ctx, result[0], ReaderRole)
		if fault.Is(err, fault.NotFound) {
			return Scope{}, nil
		}
		return scope, err
	})
}

// changedAt is when the declaration was made or taken back.
func (x Index) changedAt() time.Time {
	if !x.RemovedAt.IsZero() {
		return x.RemovedAt
	}
	return x.DeclaredAt
}

// rebuild returns the task that follows from the declaration, or from its removal; see [Service.Handlers].
func (x Index) rebuild(scope string) task.Task {
	changed := x.changedAt()
	t := task.Task{Kind: RebuildIndex, ID: scope + "/" + x.Name + "/" + strconv.FormatInt(changed.UnixMilli(), 10), Scope: scope, Due: changed}
	if !x.RemovedAt.IsZero() {
		t.Due = changed.Add(Settle)
	}
	return t
}
