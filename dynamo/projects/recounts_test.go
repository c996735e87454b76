package projects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/projects"
)

// Items count in whatever state they are.
func TestRecountCountsItems(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	items := w.Fill(40)
	for _, i := range items[:5] {
		w.Finish(i, w.Ada, "", "")
	}
	found := map[string]int{string(w.Project.ID): 0, "another": 0}
	require.NoError(t, projects.CountItems(db.DB, t.Context(), found))
	assert.Equal(t, map[string]int{string(w.Project.ID): len(items), "another": 0}, found)
}
