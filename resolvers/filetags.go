package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ItemTag returns the resolvers of ItemTag.
func (r *Resolver) ItemTag() graph.ItemTagResolver { return itemTags{r} }

// ItemSet returns the resolvers of ItemSet.
func (r *Resolver) ItemSet() graph.ItemSetResolver { return itemSets{r} }

// TaggedItemConnection returns the resolvers of TaggedItemConnection.
func (r *Resolver) TaggedItemConnection() graph.TaggedItemConnectionResolver {
	return taggedItemConnection{r}
}

// TaggedItemEdge returns the resolvers of TaggedItemEdge.
func (r *Resolver) TaggedItemEdge() graph.TaggedItemEdgeResolver { return taggedItemEdge{r} }

// searched returns what a search looks for, and the arguments that its cursors are bound to.
func searched(beginsWith string, authorID *gid.ID) (filetag.Search, []string, error) {
	begin, err := filetag.Begin("beginsWith", beginsWith)
	if err != nil {
		return filetag.Search{}, nil, err
	}
	author, err := authorOf("authorId", authorID)
	return filetag.Search{Begin: begin, Author: author}, []string{begin, string(author)}, err
}

// authorOf returns the author that is asked for, "" for none in particular.
func authorOf(field string, id *gid.ID) (user.ID, error) {
	if id == nil {
		return "", nil
	}
	return userID(field, *id)
}

func (q query) ItemTags(ctx context.Context, beginsWith string, authorID *gid.ID, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[filetag.ItemTag], error) {
	search, args, err := searched(beginsWith, authorID)
	if err != nil {
		return nil, err
	}
	sel := selected(ctx, "ItemTagConnection")
	o, err := q.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Query.itemTags", args...)
	if err != nil {
		return nil, err
	}
	slice, err := q.FileTags.Search(ctx, search, o.Window)
	if err != nil {
		return nil, err
	}
	q.itemTagsAhead(ctx, slice.Items, sel.items("ItemTagEdge", "ItemTag"))
	return page.Plain(o, slice), nil
}

func (q query) TaggedItems(ctx context.Context, beginsWith string, authorID *gid.ID, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.TaggedItemConnection, error) {
	search, args, err := searched(beginsWith, authorID)
	if err != nil {
		return nil, err
	}
	sel := selected(ctx, "TaggedItemConnection")
	o, err := q.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Query.taggedItems", args...)
	if err != nil {
		return nil, err
	}
	slice, err := q.FileTags.SearchItems(ctx, search, o.Window)
	if err != nil {
		return nil, err
	}
	q.itemTagsAhead(ctx, slice.Items, sel.in("edges", "TaggedItemEdge").in("tag", "ItemTag"))
	if items := sel.items("TaggedItemEdge", "Item", "Node"); len(items.fields) > 0 {
		q.taggedItemsAhead(ctx, slice.Items, items)
	}
	return &model.TaggedItemConnection{Connection: page.Connect(o, slice, func(p page.Position, t filetag.ItemTag) model.TaggedItemEdge {
		return model.TaggedItemEdge{Position: p, Tag: t}
	})}, nil
}

func (q query) ItemTagValues(ctx context.Context, beginsWith string, authorID *gid.ID, first int) ([]filetag.ValueCount, error) {
	search, _, err := searched(beginsWith, authorID)
	if err != nil {
		return nil, err
	}
	values, err := q.FileTags.Values(ctx, search, first)
	if err != nil {
		return nil, err
	}
	return append([]filetag.ValueCount{}, values...), nil // an empty list is none that failed
}

func (q query) ItemSets(ctx context.Context, sets []model.ItemSetInput) ([]filetag.SetRef, error) {
	if len(sets) == 0 || len(sets) > filetag.MaxSets {
		return nil, fault.Invalidf("sets", "give 1 to %d sets", filetag.MaxSets)
	}
	refs := make([]filetag.SetRef, len(sets))
	for i, set := range sets {
		var err error
		if refs[i], err = setOf(i, set); err != nil {
			return nil, err
		}
	}
	q.setsAhead(ctx, refs, selected(ctx, "ItemSet"))
	return refs, nil
}

type itemTags struct{ *Resolver }

func (itemTags) Author(ctx context.Context, t *filetag.ItemTag) (*user.User, error) {
	return person(ctx, t.Author)
}

func (itemTags) Item(ctx context.Context, t *filetag.ItemTag) (*score.Item, error) {
	return found(loaders.From(ctx).Items.Load(ctx, t.Item))
}

type taggedItemConnection struct{ *Resolver }

func (taggedItemConnection) Nodes(ctx context.Context, c *model.TaggedItemConnection) ([]*score.Item, error) {
	return partial(ctx, c.Edges, func(e model.TaggedItemEdge) (*score.Item, error) {
		return found(loaders.From(ctx).Items.Load(ctx, e.Tag.Item))
	}), nil
}

type taggedItemEdge struct{ *Resolver }

func (taggedItemEdge) Node(ctx context.Context, e *model.TaggedItemEdge) (*score.Item, error) {
	return found(loaders.From(ctx).Items.Load(ctx, e.Tag.Item))
}

type itemSets struct{ *Resolver }

func (itemSets) Owner(ctx context.Context, s *filetag.SetRef) (*user.User, error) {
	return person(ctx, s.Owner)
}

func (itemSets) TaggedByAnyone(ctx context.Context, s *filetag.SetRef) (*bool, error) {
	return tagged(ctx, filetag.TallyKey{Set: *s})
}

func tagged(ctx context.Context, key filetag.TallyKey) (*bool, error) {
	is, err := loaders.From(ctx).Tagged.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return &is, nil
}

func (itemSets) TaggedBy(ctx context.Context, s *filetag.SetRef, id gid.ID) (*bool, error) {
	author, err := userID("userId", id)
	if err != nil {
		return nil, err
	}
	return tagged(ctx, filetag.TallyKey{Set: *s, Author: author})
}

func (items) Set(_ context.Context, i *score.Item) (*filetag.SetRef, error) {
	if i.SetName == "" {
		return nil, nil
	}
	return &filetag.SetRef{Owner: i.Owner, Name: i.SetName}, nil
}

func (r items) Tags(ctx context.Context, i *score.Item, authorID *gid.ID, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[filetag.ItemTag], error) {
	author, err := authorOf("authorId", authorID)
	if err != nil {
		return nil, err
	}
	sel := selected(ctx, "ItemTagConnection")
	o, err := r.openTags(ctx, sel, *i, author, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).TagsOn.Load(ctx, filetag.OfItem(*i, author, o.Window))
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openTags(ctx context.Context, sel selection, i score.Item, author user.ID, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Item.tags", string(i.Owner), string(i.Score), string(i.ID), string(author))
}

func (r tags) Items(ctx context.Context, t *tag.Tag, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[filetag.ItemTag], error) {
	sel := selected(ctx, "ItemTagConnection")
	o, err := r.openWithTag(ctx, sel, t.ID(), page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).WithTag.Load(ctx, filetag.WithTag{Tag: t.ID(), Window: o.Window})
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openWithTag(ctx context.Context, sel selection, id tag.ID, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Tag.items", string(id.Author), id.Key)
}
