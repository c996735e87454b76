package entity_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
)

func TestScopesAreCreatedAndRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, owner)
	in := entity.CreateScope{Name: " my books ", IdempotencyKey: ptr("k")}
	made, err := w.CreateScope(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, entity.Scope{ID: "made-1", Name: "my books", Version: 1, CreatedAt: began, UpdatedAt: began, CreatedBy: owner, Types: map[string]bool{}, Role: entity.OwnerRole}, made)
	assert.Equal(t, map[entity.UserID]entity.Role{owner: entity.OwnerRole}, w.roles("made-1"))
	again, err := w.CreateScope(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, made, again)

	renamed, err := w.RenameScope(ctx, entity.RenameScope{Scope: "made-1", Name: "books", ExpectedVersion: ptr(1)})
	require.NoError(t, err)
	assert.Equal(t, "books", renamed.Name)
	assert.Equal(t, 2, renamed.Version)
	_, err = w.RenameScope(ctx, entity.RenameScope{Scope: "made-1", Name: "b", ExpectedVersion: ptr(1)})
	var conflict *entity.ScopeConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, renamed, conflict.Current)

	w.racing = func() {
		_, err := w.RenameScope(ctx, entity.RenameScope{Scope: "made-1", Name: "by somebody else"})
		require.NoError(t, err)
	}
	renamed, err = w.RenameScope(ctx, entity.RenameScope{Scope: "made-1", Name: "last"})
	require.NoError(t, err)
	assert.Equal(t, 4, renamed.Version)

	for _, name := range []string{"", "  ", "a\x00", "\xff", strings.Repeat("é", entity.MaxScopeNameRunes+1)} {
		_, err = w.CreateScope(ctx, entity.CreateScope{Name: name})
		entity.Invalid(t, err, "input.name", "a name")
	}
	_, err = w.CreateScope(as(t, ""), entity.CreateScope{Name: "n"})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
}

func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, owner)
	in := entity.PutMember{Scope: "s", Email: ptr("reader@example.org"), Role: entity.WriterRole, IdempotencyKey: ptr("k")}
	m, err := w.Service.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, entity.Member{Scope: "s", User: reader, Role: entity.WriterRole, AddedAt: began}, m)
	again, err := w.Service.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, m, again)
	w.clock.Advance(time.Hour)
	same, err := w.Service.PutMember(ctx, entity.PutMember{Scope: "s", User: reader, Role: entity.WriterRole})
	require.NoError(t, err)
	assert.Equal(t, m, same, "the member has this role since then")
	other, err := w.Service.PutMember(ctx, entity.PutMember{Scope: "s", User: reader, Role: entity.OwnerRole})
	require.NoError(t, err)
	assert.Equal(t, w.clock.Now(), other.AddedAt, "another role is given now")

	var unknown *entity.UnknownUser
	_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: "s", Email: ptr("none@example.org"), Role: entity.WriterRole})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.email", unknown.Field)
	_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: "s", User: nobody, Role: entity.WriterRole})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.userId", unknown.Field)
	_, err = w.Service.PutMember(as(t, writer), entity.PutMember{Scope: "s", Email: ptr("none@example.org"), Role: entity.WriterRole})
	assert.True(t, fault.Is(err, fault.Forbidden), "who is no owner does not learn whether an address is in use")

	for _, role := range []entity.Role{entity.NoRole, entity.OwnerRole + 1} {
		_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: "s", User: reader, Role: role})
		entity.Invalid(t, err, "input.role", "a member")
	}
	_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: "s", User: reader, Email: ptr("reader@example.org"), Role: entity.ReaderRole})
	entity.Invalid(t, err, "input.userId", "one of")

	require.NoError(t, w.RemoveMember(as(t, writer), entity.RemoveMember{Scope: "s", User: writer}), "everybody may leave")
	require.NoError(t, w.RemoveMember(ctx, entity.RemoveMember{Scope: "s", User: reader}))
	require.NoError(t, w.RemoveMember(as(t, nobody), entity.RemoveMember{Scope: "s", User: nobody}), "who is not there has left")
	assert.Equal(t, map[entity.UserID]entity.Role{owner: entity.OwnerRole}, w.roles("s"))
}

func TestIndexesAreDeclaredAndRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, owner)
	declare := entity.DeclareIndex{Scope: "s", Name: "by-title", Type: "Book", Path: []string{"title"}, Kind: entity.StringKey}
	scope, err := w.DeclareIndex(ctx, declare)
	require.NoError(t, err)
	assert.Equal(t, []entity.Index{{Name: "by-title", Type: "Book", Path: []string{"title"}, Kind: entity.StringKey, DeclaredAt: began}}, scope.Indexes)
	require.Len(t, w.tasks, 1)
	assert.Equal(t, entity.RebuildIndex, w.tasks[0].Kind)
	assert.Equal(t, began, w.tasks[0].Due)
	assert.Equal(t, "s", w.tasks[0].Scope)

	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Conflict))

	remove := entity.RemoveIndex{Scope: "s", Name: "by-title"}
	scope, err = w.RemoveIndex(ctx, remove)
	require.NoError(t, err)
	assert.Empty(t, scope.Declared())
	require.Len(t, scope.Indexes, 1, "kept until its entries are gone")
	require.Len(t, w.tasks, 2)
	assert.NotEqual(t, w.tasks[0].ID, w.tasks[1].ID)
	assert.Equal(t, scope.Indexes[0].RemovedAt.Add(entity.Settle), w.tasks[1].Due)

	_, err = w.RemoveIndex(ctx, remove)
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Unavailable), "the name is taken until its entries are gone")

	for i := range entity.MaxIndexes - 1 {
		declare.Name = "i" + strconv.Itoa(i)
		_, err = w.DeclareIndex(ctx, declare)
		require.NoError(t, err)
	}
	assert.True(t, slices.IsSortedFunc(w.scope("s").Declared(), func(a, b entity.Index) int { return strings.Compare(a.Name, b.Name) }))
	assert.Len(t, w.scope("s").Declared(), entity.MaxIndexes-1)
	declare.Name = "more"
	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Exhausted))
}
