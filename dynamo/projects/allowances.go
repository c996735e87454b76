package projects

import (
	"context"
	"math"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/project"
)

// AllowedItems is how many items a project may have.
var AllowedItems = dynamo.Allowance{Kind: "items", Most: project.MaxItems, Says: "a project has at most %d items: use another project",
	Recounted: &dynamo.Recounting{Full: time.Hour, Usual: 7 * 24 * time.Hour, Count: countItems}}

// Allowances are how many items a project may have.
func Allowances() []dynamo.Allowance { return []dynamo.Allowance{AllowedItems} }

// countItems counts the items of projects by their entries in the index of statuses, of which each has one.
func countItems(db *dynamo.DB, ctx context.Context, found map[string]int) error {
	for p := range found {
		for shard := range keys.Shards {
			n, err := db.CountRows(ctx, dynamo.Span{Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(p, keys.IndexName(keys.StatusIndex, shard))}, math.MaxInt)
			if err != nil {
				return err
			}
			found[p] += n
		}
	}
	return nil
}
