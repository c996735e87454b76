package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
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
	id      entity.ID
	version int
	created time.Time
	updated time.Time
	entries []listed
}

// listed is an element of a short list.
type listed struct {
	ID        string
	Name      string
	Type      project.TeamType // of a team
	CreatedAt time.Time        // of a team
}

// teamList is the list of teams; the other lists are called as the kinds of their labels.
const teamList = "Team"

func listID(id project.ID, of string) entity.ID {
	return entity.ID{Scope: string(id), Type: of + "List", ID: string(id)}
}

func (l shortList) row() attrs {
	entries := make([]types.AttributeValue, len(l.entries))
	for i, e := range l.entries {
		row := nonEmpty(map[string]string{"id": e.ID, "name": e.Name, "type": string(e.Type)})
		if !e.CreatedAt.IsZero() {
			row["created_at"] = str(keys.Instant(e.CreatedAt))
		}
		entries[i] = &types.AttributeValueMemberM{Value: row}
	}
	return entityRow(entityKey(l.id), header{ID: l.id, Version: l.version, Created: l.created, Updated: l.updated},
		attrs{"entries": &types.AttributeValueMemberL{Value: entries}})
}

func decodeShortList(item []byte, l *shortList) error {
	var h header
	err := attributes(item, func(name []byte, v value) error {
		if string(name) != "entries" {
			return h.read(name, v)
		}
		of, err := v.any()
		if err != nil {
			return err
		}
		entries, _ := of.([]any) // we wrote it
		for _, entry := range entries {
			e, _ := entry.(map[string]any)
			l.entries = append(l.entries, listed{ID: asText(e["id"]), Name: asText(e["name"]), Type: project.TeamType(asText(e["type"]))})
			if l.entries[len(l.entries)-1].CreatedAt, err = keys.ParseInstant(asText(e["created_at"])); err != nil {
				return err
			}
		}
		return nil
	})
	l.id, l.version, l.created, l.updated = h.ID, h.Version, h.Created, h.Updated
	return err
}

func asText(of any) string {
	s, _ := of.(string)
	return s
}

// put replaces the list, which was read at the version before.
func (l shortList) put(now time.Time) action {
	before := l.version
	l.version, l.updated = before+1, now
	return action{
		table: entitiesMaster, item: l.row(), condition: "#meta.#version = :before",
		names:  map[string]string{"#meta": "_meta", "#version": "version"},
		values: attrs{":before": number(int64(before))}, failed: func(attrs) error { return errStale },
	}
}

// lists reads short lists. An error is that of the project.
func (db Projects) lists(ctx context.Context, ids []entity.ID) ([]shortList, []error) {
	lists := make([]shortList, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{entitiesMaster, entityKey(id), func(item []byte) error { return decodeShortList(item, &lists[i]) }}
	}
	return lists, missing(db.batchGet(ctx, wants), noSuchProject)
}

// untilSettled does something that depends on what it reads, and again each time somebody else changes that meanwhile.
func (db Projects) untilSettled(ctx context.Context, do func() error) error {
	ctx, cancel := within(ctx)
	defer cancel()
	for idle := 0; ; idle++ {
		if err := do(); !errors.Is(err, errStale) {
			return err
		}
		if !db.pause(ctx, idle) {
			return fault.Wrap(fault.Unavailable, fmt.Errorf("%w: %w", errStale, ctx.Err()), "too many others change this at the moment; ask again")
		}
	}
}
