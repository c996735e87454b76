package filetags

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
)

// EraseSets removes all tags that an author has put on items, with what they are found and counted by.
//
// Index: as EachSet. Key: as EachSet and PutSet. Cost: that of EachSet, and for each set that of PutSet, twice where the counts are too much for one transaction.
func (db Store) EraseSets(ctx context.Context, author filetag.UserID) error {
	return db.EachSet(ctx, author, func(sets []filetag.Set) error {
		return errors.Join(db.Each(len(sets), func(i int) error { return db.eraseSet(ctx, sets[i]) })...)
	})
}

// eraseSet removes the tags of a set, and again if somebody else changes it meanwhile.
func (db Store) eraseSet(ctx context.Context, set filetag.Set) error {
	for range retry.Until(ctx) {
		if set.Version == "" {
			return nil
		}
		kept, err := db.PutSet(ctx, set, filetag.Set{Key: set.Key, Version: uuid.NewString()}, filetag.Proof{}, idempotency.Key{})
		switch {
		case err == nil && kept.Counted == nil:
			return nil
		case err == nil:
			set = kept
			continue
		case !errors.Is(err, filetag.ErrMoved):
			return err
		}
		found, errs := db.FindSets(ctx, []filetag.Key{set.Key})
		if errs != nil && errs[0] != nil {
			return errs[0]
		}
		set = found[0]
	}
	return retry.Busy("these tags")
}
