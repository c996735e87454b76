package projects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// shortList is one of the short lists of a project: its teams, categories or subcategories. It is a row of its own beside the
// project, which says what is in the list, under which names, and in which order: a name is unique because the row changes on
// condition of its version, a change of the list is seen whole however much it adds, and the lists of many projects are one
// batch. Each element is an entity, too, by which it is found and which others can depend on; one that is in no list does not
// exist for anybody.
type shortList struct {
	ID      entity.ID
	Version int
	Created time.Time
	Updated time.Time
	Entries []listed
}

// listed is an element of a short list.
type listed struct {
	ID        string
	Name      string
	Type      project.TeamType // of a team
	CreatedAt time.Time        // of a team
	RetiredAt time.Time        // of a label
}

// teamList is the list of teams; the other lists are called as the kinds of their labels.
const teamList = "Team"

func listID(id project.ID, of string) entity.ID {
	return entity.ID{Scope: string(id), Type: of + "List", ID: string(id)}
}

// listedRows are the attributes of an element of a short list.
var listedRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("id", func(e *listed) *string { return &e.ID })),
	dynamo.Optional(dynamo.OfText("name", func(e *listed) *string { return &e.Name })),
	dynamo.Optional(dynamo.OfText("type", func(e *listed) *project.TeamType { return &e.Type })),
	dynamo.Optional(dynamo.OfInstant("created_at", func(e *listed) *time.Time { return &e.CreatedAt })),
	dynamo.Optional(dynamo.OfInstant("retired_at", func(e *listed) *time.Time { return &e.RetiredAt })),
)

// shortListRows are the attributes that a short list has of its own.
var shortListRows = dynamo.LayoutOf(
	dynamo.OfMaps("entries", func(l *shortList) *[]listed { return &l.Entries }, listedRows),
)

func (l shortList) Row() dynamo.Attrs {
	return entities.EntityRow(entities.EntityKey(l.ID), entities.Header{ID: l.ID, Version: l.Version, Created: l.Created, Updated: l.Updated}, shortListRows.Row(&l))
}

func decodeShortList(item dynamo.Item, l *shortList) error {
	h, err := entities.DecodeOwn(shortListRows, item, l)
	l.ID, l.Version, l.Created, l.Updated = h.ID, h.Version, h.Created, h.Updated
	return err
}

// put replaces the list, which was read at the version before.
func (l shortList) put(now time.Time) dynamo.Action {
	before := l.Version
	l.Version, l.Updated = before+1, now
	return dynamo.Action{
		Table: dynamo.EntitiesMaster, Item: l.Row(), Condition: "#meta.#version = :before",
		Names:  map[string]string{"#meta": "_meta", "#version": "version"},
		Values: dynamo.Attrs{":before": dynamo.Number(int64(before))}, Failed: func(dynamo.Attrs) error { return ErrStale },
	}
}

// lists reads short lists. An error is that of the project.
func (db Store) lists(ctx context.Context, ids []entity.ID) ([]shortList, []error) {
	lists := make([]shortList, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(id), Decode: func(item dynamo.Item) error { return decodeShortList(item, &lists[i]) }}
	}
	return lists, dynamo.Missing(db.BatchGet(ctx, wants), noSuchProject)
}

// UntilSettled does something that depends on what it reads, and again each time somebody else changes that meanwhile.
func (db Store) UntilSettled(ctx context.Context, do func() error) error {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	for idle := 0; ; idle++ {
		if err := do(); !errors.Is(err, ErrStale) {
			return err
		}
		if !db.Pause(ctx, idle) {
			return fault.Wrap(fault.Unavailable, fmt.Errorf("%w: %w", ErrStale, ctx.Err()), "too many others change this at the moment; ask again")
		}
	}
}
