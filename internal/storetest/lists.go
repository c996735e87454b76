package storetest

import (
	"context"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// one returns the only list of a batch of one.
func one[T any](lists []page.Slice[T], errs []error) (page.Slice[T], error) {
	var err error
	if errs != nil {
		err = errs[0]
	}
	return lists[0], err
}

// listByTag asks the batched list for one tag.
func listByTag(ctx context.Context, by interface {
	ListByTags(context.Context, []note.TagRequest) ([]page.Slice[note.Found], []error)
}, id tag.ID, w page.Window) (page.Slice[note.Found], error) {
	return one(by.ListByTags(ctx, []note.TagRequest{{Tag: id, Window: w}}))
}

// listVersions asks the batched list for one note.
func listVersions(ctx context.Context, by *note.Service, n note.Note, w page.Window) (page.Slice[note.Version], error) {
	return one(by.ListVersions(ctx, []note.VersionsRequest{{Note: n.ID, Owner: n.Owner, Window: w}}))
}

// storedByTag asks the store's batched list for one tag.
func storedByTag(ctx context.Context, store note.Lists, id tag.ID, w page.Window) (page.Slice[note.Found], error) {
	return one(store.ListNotesByTags(ctx, []note.TagRequest{{Tag: id, Window: w}}))
}

// storedVersions asks the store's batched list for one note.
func storedVersions(ctx context.Context, store note.Lists, id note.ID, w page.Window) (page.Slice[note.Version], error) {
	return one(store.ListVersionsOf(ctx, []note.VersionsRequest{{Note: id, Window: w}}))
}
