package note

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

func refused(t require.TestingT, err error, field string) {
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	require.Equal(t, fault.Invalid, e.Kind)
	require.Equal(t, field, e.Field)
}

// Bad input names its field, and never reaches the store, which here is none.
func TestBadInputChangesNothing(t *testing.T) {
	s := NewService(Options{Now: time.Now, NewID: func() string { return "id" }})
	ctx := viewer.With(t.Context(), viewer.Viewer{UserID: "ada"})
	for _, bad := range map[string]string{
		"empty": "", "white space": " \n\t", "NUL": "a\x00b", "broken UTF-8": "a\xff",
	} {
		_, err := s.Create(ctx, Create{Title: bad, Content: "c"})
		refused(t, err, "input.title")
		_, err = s.Create(ctx, Create{Title: "t", Content: bad})
		refused(t, err, "input.content")
		_, err = s.Update(ctx, Update{ID: "n", Title: &bad})
		refused(t, err, "input.title")
		_, err = s.Update(ctx, Update{ID: "n", Content: &bad})
		refused(t, err, "input.content")
		_, err = s.Create(ctx, Create{Title: "t", Content: "c", Tags: []string{"good", bad}})
		refused(t, err, "input.tags")
		_, err = s.AddTags(ctx, ChangeTags{ID: "n", Tags: []string{bad}})
		refused(t, err, "input.tags")
	}
	_, err := s.Create(ctx, Create{Title: strings.Repeat("本", MaxTitle+1), Content: "c"})
	refused(t, err, "input.title")
	_, err = s.Create(ctx, Create{Title: "t", Content: strings.Repeat("x", MaxContent+1)})
	refused(t, err, "input.content")
	assert.ErrorContains(t, err, "400 KB", "the limit of the store is told")
	_, err = s.AddTags(ctx, ChangeTags{ID: "n"})
	refused(t, err, "input.tags")
	var many []string
	for i := range MaxTags + 1 {
		many = append(many, fmt.Sprint("tag ", i))
	}
	_, err = s.Create(ctx, Create{Title: "t", Content: "c", Tags: many})
	refused(t, err, "input.tags")
	long := strings.Repeat("k", idempotency.MaxBytes+1)
	_, err = s.Create(ctx, Create{Title: "t", Content: "c", IdempotencyKey: &long})
	refused(t, err, "input.idempotencyKey")
}

func TestWhoHasNotSignedUpMayNothing(t *testing.T) {
	s := NewService(Options{Now: time.Now, NewID: func() string { return "id" }})
	ctx := viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Subject: "somebody"}})
	_, err := s.Create(ctx, Create{Title: "t", Content: "c"})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
	_, err = s.Delete(ctx, Delete{ID: "n"})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
	_, err = s.Undelete(ctx, Undelete{ID: "n"})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
	_, errs := s.ListByID(ctx, []ID{"a", "b"})
	require.Len(t, errs, 2)
	assert.True(t, fault.Is(errs[1], fault.NotFound))
	_, err = s.ListByDeadline(ctx, "", Due{}, page.Window{Limit: 1})
	assert.True(t, fault.Is(err, fault.Forbidden), "nobody is not a user whose id is empty")
	_, err = s.ListTags(ctx, "ada", "", page.Window{Limit: 1})
	assert.True(t, fault.Is(err, fault.Forbidden))
}

func TestTitlesAreTrimmedAndContentsAreNot(t *testing.T) {
	title, err := parseTitle("  a title\n")
	require.NoError(t, err)
	assert.Equal(t, "a title", title)
	content, err := parseContent("  code\n")
	require.NoError(t, err)
	assert.Equal(t, "  code\n", content)
	_, err = parseTitle(strings.Repeat("本", MaxTitle))
	require.NoError(t, err, "characters, not bytes")
}

// Adding and removing keep the order and touch no other slice of tags.
func TestTagsAreAnOrderedSet(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "A", "b", "c#", "Straße", "STRASSE", "🎼", "日本"})
	rapid.Check(t, func(t *rapid.T) {
		tags, err := parseTags("ada", rapid.SliceOfN(word, 0, 6).Draw(t, "tags"), errManyTags)
		require.NoError(t, err)
		before := slices.Clone(tags)
		typed, err := tag.Parse("f", word.Draw(t, "word"))
		require.NoError(t, err)
		one := tag.Tag{Author: "ada", Word: typed}
		added := addTag(tags, one)
		require.True(t, slices.IsSortedFunc(added, compareTags))
		require.True(t, slices.ContainsFunc(added, func(t tag.Tag) bool { return t.Key == one.Key }))
		require.Equal(t, added, addTag(added, one), "once is enough")
		removed := removeTag(added, one)
		require.False(t, slices.ContainsFunc(removed, func(t tag.Tag) bool { return t.Key == one.Key }))
		require.Equal(t, before, tags)
		seen := map[string]bool{}
		for _, t2 := range added {
			require.False(t, seen[t2.Key])
			seen[t2.Key] = true
		}
	})
}

func TestUndoUntil(t *testing.T) {
	d := Deleted{DeletedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	assert.Equal(t, time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC), d.UndoUntil())
	assert.True(t, Due{}.All())
	assert.False(t, Due{After: d.DeletedAt}.All())
}

func ExampleDue() {
	week := Due{After: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Before: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	fmt.Println(week.All(), Due{}.All())
	// Output: false true
}
