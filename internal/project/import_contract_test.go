package project_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// The tests of imports store more items, and more often, than an engine can in time. So their store in memory is held to what the store on
// the engine answers, whatever is imported again, by the same import or by another one, and whoever was faster.
func TestTheStoreOfTheTestsOfImportsKeepsTheContract(t *testing.T) {
	t.Parallel()
	w, random := newWorld(t), rand.New(rand.NewPCG(1, 2))
	ctx := t.Context()
	i := project.Import{
		TransferID: project.TransferID{Project: "p", ID: "i"}, Source: project.FromFile, Format: project.JSONLines, Bytes: 10, State: project.Queued, CreatedBy: "man", CreatedAt: early, Version: 1,
	}
	require.NoError(t, w.store.PutImport(ctx, "", nil, i, nil, idempotency.Key{}))
	memory := project.NewWarehouse(t, i)
	known, conflicts := 0, 0
	for range 60 {
		var items []project.Item
		for _, n := range random.Perm(100)[:1+random.IntN(20)] {
			external := fmt.Sprint("item ", n)
			items = append(items, project.Item{
				ItemID: project.ItemIDOf("p", external), ExternalID: external, Name: "N", Status: project.New, Seq: fmt.Sprint(n), Version: 1, CreatedAt: early, UpdatedAt: early,
				Import: []string{"i", "another"}[random.IntN(2)], Line: n + random.IntN(2),
			})
		}
		created, there, err := w.store.ImportItems(ctx, items)
		require.NoError(t, err)
		has, are, err := memory.ImportItems(ctx, items)
		require.NoError(t, err)
		require.Equal(t, created, has)
		require.ElementsMatch(t, there, are)
		known += len(there)

		before := one[project.Import](t)(domain.First(w.store.ImportsByID(ctx, []project.TransferID{i.TransferID})))
		require.Equal(t, before, one[project.Import](t)(domain.First(memory.ImportsByID(ctx, []project.TransferID{i.TransferID}))))
		before.Version -= random.IntN(2) // somebody was faster
		after := before
		after.State, after.Version, after.Read, after.Imported = project.Running, before.Version+1, before.Read+1, before.Imported+created
		want, got := w.store.PutImport(ctx, "", &before, after, nil, idempotency.Key{}), memory.PutImport(ctx, "", &before, after, nil, idempotency.Key{})
		var conflict *project.TransferConflict
		if errors.As(want, &conflict) {
			require.ErrorAs(t, got, &conflict)
			conflicts++
			continue
		}
		require.NoError(t, errors.Join(want, got))
	}
	assert.Greater(t, known, 50)
	assert.Greater(t, conflicts, 10)
}
