package filetags

import (
	"context"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/filetag"
)

var allowedFileTags = dynamo.Allowance{Kind: "tags", Most: filetag.MaxTagsOfAuthor, Says: "a user has at most %d tags on items: take some off first",
	Recounted: &dynamo.Recounting{Shared: true, Full: 24 * time.Hour, Usual: 30 * 24 * time.Hour, Count: countFileTags}}

// Allowances are how many tags on items a user may have.
func Allowances() []dynamo.Allowance { return []dynamo.Allowance{allowedFileTags} }

// countFileTags counts the tags of authors.
func countFileTags(db *dynamo.DB, ctx context.Context, found map[string]int) error {
	return Store{db}.ScanSets(ctx, "", func(ctx context.Context, sets []filetag.Set, next string) error {
		for _, s := range sets {
			for range s.Tags {
				dynamo.CountOne(found, string(s.Author))
			}
		}
		if next == "" {
			return nil
		}
		return dynamo.Rest(ctx, dynamo.SweepPause)
	})
}
