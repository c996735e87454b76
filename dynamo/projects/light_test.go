package projects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/project"
)

func TestWithoutMetadataLacksMetadataOnly(t *testing.T) {
	item := fullItem
	dynamotest.Full(t, item)
	row, err := projects.ItemRow(item)
	require.NoError(t, err)
	row[projects.EffortsMade] = dynamo.Number(5) // moves count them
	var light project.Item
	require.NoError(t, projects.DecodeItem(dynamotest.SeenThrough(projects.WithoutMetadata, row), &light))
	item.Metadata, item.LastTransition = nil, project.TransitionRef{} // only a move needs that
	assert.Equal(t, item, light)
}
