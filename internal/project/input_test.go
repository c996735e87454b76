package project_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

// Bad input names its field, and never reaches the store.
func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	for name, text := range project.BadTexts(project.MaxNameRunes) {
		t.Run(name, func(t *testing.T) {
			_, err := w.Create(ctx, project.Create{Name: text})
			refused(t, err, "input.name")
			_, err = w.Create(ctx, project.Create{Name: "n", Categories: []string{"fine", text}})
			refused(t, err, "input.categories")
			_, err = w.Create(ctx, project.Create{Name: "n", Subcategories: []string{text}})
			refused(t, err, "input.subcategories")
			_, err = w.Create(ctx, project.Create{Name: "n", Keywords: []string{text}})
			refused(t, err, "input.suggestedKeywords")
			_, err = w.Update(ctx, project.Update{ID: "p", Name: &text})
			refused(t, err, "input.name")
			_, err = w.Update(ctx, project.Update{ID: "p", Keywords: &[]string{text}})
			refused(t, err, "input.suggestedKeywords")
			_, err = w.AddLabels(ctx, project.AddLabels{Project: "p", Categories: []string{text}})
			refused(t, err, "input.categories")
			_, err = w.CreateTeam(ctx, project.CreateTeam{Project: "p", Name: text, Type: project.Taggie})
			refused(t, err, "input.name")
			_, err = w.RenameTeam(ctx, project.RenameTeam{Team: project.TeamID{Project: "p", ID: "taggers"}, Name: text})
			refused(t, err, "input.name")
		})
	}
	for _, text := range []string{"a\x00", "\xff", strings.Repeat("x", project.MaxDescriptionBytes+1)} {
		_, err := w.Create(ctx, project.Create{Name: "n", Description: text})
		refused(t, err, "input.description")
		_, err = w.Update(ctx, project.Update{ID: "p", Description: &text})
		refused(t, err, "input.description")
	}
	_, err := w.Create(ctx, project.Create{Name: "n", Categories: []string{"Owl", " OWL"}})
	refused(t, err, "input.categories")
	_, err = w.Create(ctx, project.Create{Name: "n", Subcategories: project.Numbered(project.MaxCategories + 1)})
	refused(t, err, "input.subcategories")
	_, err = w.Create(ctx, project.Create{Name: "n", Keywords: project.Numbered(project.MaxSuggestions + 1)})
	refused(t, err, "input.suggestedKeywords")
	_, err = w.AddLabels(ctx, project.AddLabels{Project: "p"})
	refused(t, err, "input.categories")
	_, err = w.CreateTeam(ctx, project.CreateTeam{Project: "p", Name: "n", Type: "boss"})
	refused(t, err, "input.type")
	_, err = w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}})
	refused(t, err, "input.userId")
	_, err = w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "u", Email: ptr("e")})
	refused(t, err, "input.userId")
	for _, bytes := range []int64{-1, 0, project.MaxImportBytes + 1} {
		_, err = w.CreateImport(ctx, project.CreateImport{Project: "p", Format: project.CSV, Bytes: bytes})
		refused(t, err, "input.bytes")
	}
	_, err = w.CreateImport(ctx, project.CreateImport{Project: "p", Format: "XML", Bytes: 1})
	refused(t, err, "input.format")
	_, err = w.CreateExport(ctx, project.CreateExport{Project: "p", Format: "XML"})
	refused(t, err, "input.format")
	_, err = w.CreateExport(ctx, project.CreateExport{Project: "p", Format: project.CSV, Status: "LOST"})
	refused(t, err, "input.status")
	assert.Zero(t, w.store.writes)
}

func TestTheEndsOfRangesAreFine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, err := w.Create(as(t, "man"), project.Create{
		Name: " " + strings.Repeat("木", project.MaxNameRunes) + "\n", Description: "two\n\tlines", Keywords: project.Numbered(project.MaxSuggestions),
		Categories: project.Numbered(project.MaxCategories), Subcategories: project.Numbered(project.MaxCategories),
	})
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("木", project.MaxNameRunes), p.Name)
	assert.Len(t, p.Keywords, project.MaxSuggestions)
	labels, err := domain.First(w.ListLabels(as(t, "man"), []project.Ref[project.ID]{p.Ref()}))
	require.NoError(t, err)
	assert.Len(t, labels, 2*project.MaxCategories)
	_, err = w.CreateImport(as(t, "man"), project.CreateImport{Project: "p", Format: project.CSV, Bytes: project.MaxImportBytes})
	require.NoError(t, err)
}
