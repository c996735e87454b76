package project_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// library has items, and the score "suite" of "man".
type library struct {
	project.Originals
	items []project.Original
}

func (l *library) OriginalsByID(_ context.Context, ids []project.OriginalID) ([]project.Original, []error) {
	originals, errs := make([]project.Original, len(ids)), make([]error, len(ids))
	for n, id := range ids {
		errs[n] = project.NotFound("item")
		for _, o := range l.items {
			if o.OriginalID == id {
				originals[n], errs[n] = o, nil
			}
		}
	}
	return originals, errs
}

func (l *library) OwnScore(_ context.Context, owner project.UserID, score string) error {
	if owner != "man" || score != "suite" {
		return project.NotFound("score")
	}
	return nil
}

func original(id string) project.Original {
	return project.Original{OriginalID: project.OriginalID{Owner: project.UserID(project.ItemIDOf("p", "owner").ID), Score: project.ItemIDOf("p", "score").ID, ID: project.ItemIDOf("p", id).ID}, Name: "name of " + id, Type: "image/png"}
}

func TestImportsOfItemsBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, items := as(t, "man"), []project.OriginalID{original("a").OriginalID, original("b").OriginalID}
	s := w.having(func(o *project.Options) {
		o.Originals = &library{items: []project.Original{original("a"), original("b")}}
	})
	in := project.ImportItems{Project: "p", Items: items, IdempotencyKey: ptr("k")}
	i, err := s.ImportItems(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, project.Import{TransferID: project.TransferID{Project: "p", ID: "id1"}, Source: project.FromItems, Items: items, Format: project.JSONLines, State: project.Queued, CreatedBy: "man", CreatedAt: morning, Version: 1}, i)
	assert.Equal(t, []task.Task{{Kind: project.RunImport, ID: "id1", Scope: "p", Due: morning}}, w.store.tasks)
	again, err := s.ImportItems(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, i, again)

	i, err = s.ImportItems(ctx, project.ImportItems{Project: "p", Score: &project.OriginalID{Owner: "man", Score: "suite"}})
	require.NoError(t, err)
	assert.Equal(t, []any{project.FromScore, "suite"}, []any{i.Source, i.Score})

	var unknown *project.UnknownOriginal
	_, err = s.ImportItems(ctx, project.ImportItems{Project: "p", Items: append(items, original("c").OriginalID)})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, original("c").OriginalID, unknown.ID)
	for reason, c := range map[string]struct {
		in   project.ImportItems
		want string
	}{
		"nothing":                  {project.ImportItems{}, "invalid input.itemIds"},
		"no items":                 {project.ImportItems{Items: []project.OriginalID{}}, "invalid input.itemIds"},
		"too many items":           {project.ImportItems{Items: make([]project.OriginalID, project.MaxImportItems+1)}, "invalid input.itemIds"},
		"both":                     {project.ImportItems{Items: items, Library: true}, "invalid input.itemIds"},
		"a score of somebody else": {project.ImportItems{Score: &project.OriginalID{Owner: "tag", Score: "suite"}}, "not found"},
	} {
		c.in.Project = "p"
		_, err := s.ImportItems(ctx, c.in)
		assert.Contains(t, c.want, kindOf(err), reason)
	}
	_, err = w.ImportItems(ctx, project.ImportItems{Project: "p", Library: true})
	assert.Equal(t, "unavailable", kindOf(err))
	assert.Equal(t, 2, w.store.writes)
	for range project.MaxTransfers - 3 { // one awaits its file already
		_, err = s.ImportItems(ctx, project.ImportItems{Project: "p", Library: true})
		require.NoError(t, err)
	}
	_, err = s.ImportItems(ctx, project.ImportItems{Project: "p", Library: true})
	assert.Equal(t, "exhausted", kindOf(err))
}
