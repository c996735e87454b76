package filetags_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/viewer"
)

func TestTwentyWritersOfTheTagsOfAnItem(t *testing.T) {
	t.Parallel()
	w, _, _ := openTagWorld(t)
	item := w.NewItems(w.Ada, "", 1)[0]
	ada := viewer.From(w.As(w.Ada))
	dynamotest.Writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		_, err := w.Rules.PutTags(viewer.With(ctx, ada), filetag.PutTags{Item: item, Tags: []filetag.NewTag{{Value: fmt.Sprint(writer, ".", i)}}})
		return err
	})
	assert.Len(t, w.On(w.Ada, item), 1)
}
