package notes

import (
	"context"

	"github.com/taggie/taggie/internal/tag"
)

// FindTags reads how each tag was typed on one of the notes that carry it, concurrently within the bound.
//
// Index: primary. Key: PK = USER#<author> AND begins_with(SK, TAG#<tag>#NOTE#), per tag. Cost: 1 Query of one row per tag.
func (db Store) FindTags(ctx context.Context, ids []tag.ID) ([]tag.Tag, []error) {
	tags := make([]tag.Tag, len(ids))
	return tags, db.Each(len(ids), func(i int) (err error) {
		tags[i], err = db.FindTag(ctx, ids[i])
		return err
	})
}
