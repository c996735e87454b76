package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// FinishItem finishes an item: with the effort, and the links to its labels in place of those to the labels before. It is
// [Labelling.MoveItem] without a queue that follows.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition of its version; its entries
// <project>:ProjectItem:<item>/status~<shard>:<status>:<shard>:<seq>; <effort>/<project>:ProjectItemEffort~<shard>;
// <project>:ProjectItem:<item>/category:…, /subcategory:… and /effort:…; <project>:User:<user>/effort:…; on condition that
// <label>/<project>:Category and <label>/<project>:Subcategory exist. Cost: 1 TransactWriteItems of up to 12 rows.
func (db Projects) FinishItem(ctx context.Context, before, after project.Item, e project.Effort, once idempotency.Key) error {
	return db.move(ctx, labelling.Move{Before: before, After: after, Effort: &e}, once)
}
