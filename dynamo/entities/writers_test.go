package entities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

func TestTwentyWritersOfAnEntity(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	rules := entity.NewService(entity.Options{Store: entities.Store{DB: db}, Now: clock.Now, NewID: func() string { return "s" }})
	ada := viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}, UserID: "ada"}
	asAda := viewer.With(t.Context(), ada)
	dynamotest.PutByHand(t, db, dynamo.NotesTable, `[{"PK": "USER#ada", "SK": "PROFILE"}]`)
	_, err := rules.CreateScope(asAda, entity.CreateScope{Name: "s"})
	require.NoError(t, err)
	e, err := rules.Set(asAda, entity.Set{Scope: "s", Type: "t", ID: dynamotest.Ptr("e")})
	require.NoError(t, err)
	dynamotest.Writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		_, err := rules.Update(viewer.With(ctx, ada), entity.Update{Entity: e.ID, Attributes: map[string]any{fmt.Sprint("w", writer): i}})
		return err
	})
	found, errs := rules.ListByID(asAda, []entity.ID{e.ID})
	require.Empty(t, errs)
	assert.Equal(t, 381, found[0].Version)
	assert.Len(t, found[0].Attributes, 20)
}
