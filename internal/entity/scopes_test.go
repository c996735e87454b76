package entity

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

func TestScopesAreCreatedAndRenamed(t *testing.T) {
	w := newWorld()
	ctx := as(t, owner)
	in := CreateScope{Name: " my books ", IdempotencyKey: ptr("k")}
	made, err := w.CreateScope(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, Scope{ID: "made-1", Name: "my books", Version: 1, CreatedAt: began, UpdatedAt: began, Role: OwnerRole}, made)
	assert.Equal(t, map[UserID]Role{owner: OwnerRole}, w.roles["made-1"])
	again, err := w.CreateScope(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, made, again)

	renamed, err := w.RenameScope(ctx, RenameScope{Scope: "made-1", Name: "books", ExpectedVersion: ptr(1)})
	require.NoError(t, err)
	assert.Equal(t, "books", renamed.Name)
	assert.Equal(t, 2, renamed.Version)
	_, err = w.RenameScope(ctx, RenameScope{Scope: "made-1", Name: "b", ExpectedVersion: ptr(1)})
	var conflict *ScopeConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, renamed, conflict.Current)

	w.racing = func() {
		_, err := w.RenameScope(ctx, RenameScope{Scope: "made-1", Name: "by somebody else"})
		require.NoError(t, err)
	}
	renamed, err = w.RenameScope(ctx, RenameScope{Scope: "made-1", Name: "last"})
	require.NoError(t, err)
	assert.Equal(t, 4, renamed.Version)

	for _, name := range []string{"", "  ", "a\x00", "\xff", strings.Repeat("é", MaxScopeNameRunes+1)} {
		_, err = w.CreateScope(ctx, CreateScope{Name: name})
		invalid(t, err, "input.name", "a name")
	}
	_, err = w.CreateScope(as(t, ""), CreateScope{Name: "n"})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
}

func TestMembersComeAndGo(t *testing.T) {
	w := newWorld()
	ctx := as(t, owner)
	in := PutMember{Scope: "s", Email: ptr("reader@example.org"), Role: WriterRole, IdempotencyKey: ptr("k")}
	m, err := w.Service.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, Member{Scope: "s", User: reader, Role: WriterRole, AddedAt: began}, m)
	again, err := w.Service.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, m, again)
	w.at = w.at.Add(time.Hour)
	same, err := w.Service.PutMember(ctx, PutMember{Scope: "s", User: reader, Role: WriterRole})
	require.NoError(t, err)
	assert.Equal(t, m, same, "the member has this role since then")
	other, err := w.Service.PutMember(ctx, PutMember{Scope: "s", User: reader, Role: OwnerRole})
	require.NoError(t, err)
	assert.Equal(t, w.at, other.AddedAt, "another role is given now")

	var unknown *UnknownUser
	_, err = w.Service.PutMember(ctx, PutMember{Scope: "s", Email: ptr("none@example.org"), Role: WriterRole})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.email", unknown.Field)
	_, err = w.Service.PutMember(ctx, PutMember{Scope: "s", User: nobody, Role: WriterRole})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.userId", unknown.Field)
	_, err = w.Service.PutMember(as(t, writer), PutMember{Scope: "s", Email: ptr("none@example.org"), Role: WriterRole})
	assert.True(t, fault.Is(err, fault.Forbidden), "who is no owner does not learn whether an address is in use")

	for _, role := range []Role{NoRole, OwnerRole + 1} {
		_, err = w.Service.PutMember(ctx, PutMember{Scope: "s", User: reader, Role: role})
		invalid(t, err, "input.role", "a member")
	}
	_, err = w.Service.PutMember(ctx, PutMember{Scope: "s", User: reader, Email: ptr("reader@example.org"), Role: ReaderRole})
	invalid(t, err, "input.userId", "one of")

	require.NoError(t, w.RemoveMember(as(t, writer), RemoveMember{Scope: "s", User: writer}), "everybody may leave")
	require.NoError(t, w.RemoveMember(ctx, RemoveMember{Scope: "s", User: reader}))
	require.NoError(t, w.RemoveMember(as(t, nobody), RemoveMember{Scope: "s", User: nobody}), "who is not there has left")
	assert.Equal(t, map[UserID]Role{owner: OwnerRole}, w.roles["s"])
}

func TestIndexesAreDeclaredAndRemoved(t *testing.T) {
	w := newWorld()
	ctx := as(t, owner)
	declare := DeclareIndex{Scope: "s", Name: "by-title", Type: "Book", Path: []string{"title"}, Kind: StringKey}
	scope, err := w.DeclareIndex(ctx, declare)
	require.NoError(t, err)
	assert.Equal(t, []Index{{Name: "by-title", Type: "Book", Path: []string{"title"}, Kind: StringKey, DeclaredAt: began}}, scope.Indexes)
	require.Len(t, w.tasks, 1)
	assert.Equal(t, RebuildIndex, w.tasks[0].Kind)
	assert.Equal(t, began, w.tasks[0].Due)
	assert.Equal(t, "s", w.tasks[0].Scope)

	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Conflict))

	remove := RemoveIndex{Scope: "s", Name: "by-title"}
	scope, err = w.RemoveIndex(ctx, remove)
	require.NoError(t, err)
	assert.Empty(t, scope.Declared())
	require.Len(t, scope.Indexes, 1, "kept until its entries are gone")
	require.Len(t, w.tasks, 2)
	assert.NotEqual(t, w.tasks[0].ID, w.tasks[1].ID)
	assert.Equal(t, scope.Indexes[0].RemovedAt.Add(Settle), w.tasks[1].Due)

	_, err = w.RemoveIndex(ctx, remove)
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Unavailable), "the name is taken until its entries are gone")

	for i := range MaxIndexes - 1 {
		declare.Name = "i" + strconv.Itoa(i)
		_, err = w.DeclareIndex(ctx, declare)
		require.NoError(t, err)
	}
	assert.True(t, slices.IsSortedFunc(w.scopes["s"].Declared(), func(a, b Index) int { return strings.Compare(a.Name, b.Name) }))
	assert.Len(t, w.scopes["s"].Declared(), MaxIndexes-1)
	declare.Name = "more"
	_, err = w.DeclareIndex(ctx, declare)
	assert.True(t, fault.Is(err, fault.Exhausted))
}
