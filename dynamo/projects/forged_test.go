package projects_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// Whoever may write in a scope can make what looks like a project of the scope's id with himself as its manager. It makes him a
// member of nothing.
func TestAProjectCannotBeForged(t *testing.T) {
	t.Parallel()
	w, store, _ := dynamotest.OpenWorldOfProjects(t)
	eve := w.SignUp("eve")
	id := func(typ, key string) entity.ID { return entity.ID{Scope: "s", Type: typ, ID: key} }
	put := func(e entity.Entity, relations map[string][]entity.Object) {
		e.Version, e.CreatedAt, e.UpdatedAt = 1, w.Clock.Now(), w.Clock.Now()
		require.NoError(t, entities.Store(store).PutEntity(t.Context(), nil, e, relations, idempotency.Key{}))
	}
	for _, made := range []entity.ID{id("User", string(eve)), id("User", "odd"), id("Invitation", "fit"), id("Invitation", "odd")} {
		put(entity.Entity{ID: made, Attributes: map[string]any{}}, nil)
	}
	put(entity.Entity{ID: id("Project", "s"), Attributes: map[string]any{"name": "Mine"}}, map[string][]entity.Object{
		"member": {
			{ID: id("User", string(eve)), Attributes: map[string]any{"team": "t", "type": "manager", "added_at": "2026-11-20T08:00:00.000Z"}},
			{ID: id("User", "odd"), Attributes: map[string]any{"team": true, "added_at": "tomorrow"}},
		},
		"invitation": {
			{ID: id("Invitation", "fit"), Attributes: map[string]any{"team": "t", "type": "manager", "hash": "h", "created_by": "eve", "expires_at": "2099-11-20T08:00:00.000Z", "uses": json.Number("1"), "used": json.Number("0")}},
			{ID: id("Invitation", "odd"), Attributes: map[string]any{"uses": "many", "type": true}},
		},
	})
	invitations, errs := store.ListInvitations(t.Context(), []project.ID{"s"})
	assert.Empty(t, invitations[0], "%v", errs)
	require.NoError(t, errors.Join(errs...))
	for key, row := range dynamotest.RowsOf(t, store.DB, dynamo.RelationshipEntries) {
		for _, kind := range projects.Kinds() {
			if kind.Is(key) && strings.HasPrefix(key.PK, "s:Project:s") {
				needs, err := kind.Needs(key, dynamo.ItemOf(row))
				require.NoError(t, err, key)
				assert.Empty(t, needs, key)
			}
		}
	}

	members, errs := store.Memberships(t.Context(), eve, []project.ID{"s"})
	assert.Empty(t, members[0], "%v", errs)
	projects, errs := store.ProjectsByID(t.Context(), eve, []project.ID{"s"})
	assert.Empty(t, projects[0].Member, "%v", errs)
	_, member, errs := store.ItemsByID(t.Context(), eve, []project.ItemID{{Project: "s", ID: "i"}})
	assert.Empty(t, member["s"], "%v", errs)
	listed, err := store.ListProjects(t.Context(), eve, page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Empty(t, listed.Items)
}
