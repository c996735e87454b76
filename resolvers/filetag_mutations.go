package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/loaders"
)

func (m mutation) SetItemTags(ctx context.Context, in model.SetItemTagsInput) (*model.SetItemTagsPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	put := filetag.PutTags{Item: key, Tags: make([]filetag.NewTag, len(in.Tags)), IdempotencyKey: in.IdempotencyKey.Value()}
	for i, t := range in.Tags {
		put.Tags[i] = filetag.NewTag{Value: t.Value, Public: t.Visibility}
	}
	now, err := m.FileTags.PutTags(ctx, put)
	item, tags, err := m.doneTags(ctx, now, err)
	return &model.SetItemTagsPayload{Item: item, Tags: tags}, err
}

func (m mutation) RemoveItemTags(ctx context.Context, in model.RemoveItemTagsInput) (*model.RemoveItemTagsPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	author, err := authorOf("input.authorId", in.AuthorID.Value())
	if err != nil {
		return nil, err
	}
	now, err := m.FileTags.RemoveTags(ctx, filetag.RemoveTags{Item: key, Author: author, Tags: in.Tags, IdempotencyKey: in.IdempotencyKey.Value()})
	item, tags, err := m.doneTags(ctx, now, err)
	return &model.RemoveItemTagsPayload{Item: item, Tags: tags}, err
}

// doneTags reads the item of a change of tags, if it is selected.
func (m mutation) doneTags(ctx context.Context, now filetag.Tagged, err error) (*score.Item, []filetag.ItemTag, error) {
	after, _, err := done(ctx, m, now, err)
	if after == nil || err != nil {
		return nil, nil, err
	}
	sel := payload(ctx)
	m.itemTagsAhead(ctx, after.Tags, sel.in("tags", "ItemTag"))
	item := beside(ctx, "item", func() (*score.Item, error) {
		if !after.Readable {
			return nil, nil
		}
		i, err := found(loaders.From(ctx).Items.Load(ctx, after.Item))
		if i != nil {
			m.itemsAhead(ctx, []score.Item{*i}, sel.in("item", "Item", "Node"))
		}
		return i, err
	})
	return item, append([]filetag.ItemTag{}, after.Tags...), nil
}
