package resolvers

import (
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"golang.org/x/sync/errgroup"

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

// What is selected below tags on items is read here, before it is resolved; see project_ahead.go.

// setOf returns the set that the n-th input means.
func setOf(n int, in model.ItemSetInput) (filetag.SetRef, error) {
	field := "sets." + strconv.Itoa(n)
	owner, err := userID(field+".ownerId", in.OwnerID)
	if err != nil {
		return filetag.SetRef{}, err
	}
	name, err := score.ParseSetName(field+".name", in.Name)
	if err == nil && name == "" {
		err = fault.Invalidf(field+".name", "a set has a name")
	}
	return filetag.SetRef{Owner: owner, Name: name}, err
}

// itemTagsAhead reads what is selected below tags on items: authors and items, then what is below the items.
func (r *Resolver) itemTagsAhead(ctx context.Context, tags []filetag.ItemTag, sel selection) {
	if len(tags) == 0 || len(sel.fields) == 0 {
		return
	}
	var people []user.ID
	if sel.showsProfiles("author") || sel.in("tag", "Tag", "Node").showsProfiles("author") {
		for _, t := range tags {
			people = append(people, t.Author)
		}
	}
	loaders.From(ctx).Users.Prefetch(people)
	if sel.has("item") {
		r.taggedItemsAhead(ctx, tags, sel.in("item", "Item", "Node"))
	}
	if sel.has("tag") {
		words := make([]tag.Tag, len(tags))
		for i, t := range tags {
			words[i] = t.Word()
		}
		r.itemsOfTagsAhead(ctx, words, sel.in("tag", "Tag", "Node"))
	}
}

// itemsOfTagsAhead reads on which items tags are, and what is selected below them.
func (r *Resolver) itemsOfTagsAhead(ctx context.Context, tags []tag.Tag, sel selection) {
	sel.each("items", "ItemTagConnection", func(paging page.Args, below selection) {
		var requests []filetag.WithTag
		for _, t := range tags {
			if o, err := r.openWithTag(ctx, below, t.ID(), paging); err == nil {
				requests = append(requests, filetag.WithTag{Tag: t.ID(), Window: o.Window})
			}
		}
		load := loaders.From(ctx).WithTag
		load.Prefetch(requests)
		var on []filetag.ItemTag
		for _, slice := range loaded(ctx, load, requests) {
			on = append(on, slice.Items...)
		}
		r.itemTagsAhead(ctx, on, below.items("ItemTagEdge", "ItemTag"))
	})
}

// taggedItemsAhead reads the items of tags, and what is selected below them.
func (r *Resolver) taggedItemsAhead(ctx context.Context, tags []filetag.ItemTag, sel selection) {
	load, requests := loaders.From(ctx), make([]score.ItemRequest, len(tags))
	for i, t := range tags {
		requests[i] = t.Item
	}
	load.Items.Prefetch(requests)
	r.itemsAhead(ctx, loaded(ctx, load.Items, requests), sel)
}

// tagsOfItems returns the lists of tags that are selected of the items.
func (r *Resolver) tagsOfItems(ctx context.Context, items []score.Item, sel selection) (all []list[score.Item, filetag.TagsRequest]) {
	for _, field := range sel.fields {
		if field.Name != "tags" {
			continue
		}
		args := field.ArgumentMap(sel.operation.Variables)
		paging, fits := pagingOf(args)
		author, err := authorArgument(args["authorId"])
		if !fits || err != nil {
			continue // the resolver says what is wrong
		}
		below := selection{sel.operation, graphql.CollectFields(sel.operation, field.Selections, []string{"ItemTagConnection"})}
		l := list[score.Item, filetag.TagsRequest]{sel: below.items("ItemTagEdge", "ItemTag")}
		for _, i := range items {
			if o, err := r.openTags(ctx, below, i, author, paging); err == nil {
				l.requests, l.of = append(l.requests, filetag.OfItem(i, author, o.Window)), append(l.of, i)
			}
		}
		all = append(all, l)
	}
	return all
}

// authorArgument reads an id as it stands in the arguments, "" for none.
func authorArgument(value any) (user.ID, error) {
	if value == nil {
		return "", nil
	}
	var id gid.ID
	if err := id.UnmarshalGQL(value); err != nil {
		return "", err
	}
	return userID("authorId", id)
}

// tagsOfItemsAhead begins to read the tags and the sets of items; the function that it returns reads what is below them.
func (r *Resolver) tagsOfItemsAhead(ctx context.Context, items []score.Item, sel selection, group *errgroup.Group) (then func()) {
	load := loaders.From(ctx)
	lists := r.tagsOfItems(ctx, items, sel)
	var requests []filetag.TagsRequest
	for _, l := range lists {
		requests = append(requests, l.requests...)
	}
	prefetch(group, load.TagsOn, requests)
	if sel.has("set") {
		var sets []filetag.SetRef
		for _, i := range items {
			if i.SetName != "" {
				sets = append(sets, filetag.SetRef{Owner: i.Owner, Name: i.SetName})
			}
		}
		prefetch(group, load.Tagged, tallies(sets, sel.in("set", "ItemSet")))
	}
	return func() {
		for _, l := range lists {
			var tags []filetag.ItemTag
			for _, slice := range loaded(ctx, load.TagsOn, l.requests) {
				tags = append(tags, slice.Items...)
			}
			r.itemTagsAhead(ctx, tags, l.sel)
		}
	}
}

// setsAhead reads whether sets are tagged, and their owners.
func (r *Resolver) setsAhead(ctx context.Context, sets []filetag.SetRef, sel selection) {
	var group errgroup.Group // errors are for those who load
	load := loaders.From(ctx)
	if sel.showsProfiles("owner") {
		var people []user.ID
		for _, s := range sets {
			people = append(people, s.Owner)
		}
		prefetch(&group, load.Users, people)
	}
	prefetch(&group, load.Tagged, tallies(sets, sel))
	_ = group.Wait()
}

// tallies returns what is asked about sets.
func tallies(sets []filetag.SetRef, sel selection) (all []filetag.TallyKey) {
	for _, field := range sel.fields {
		var author user.ID
		switch field.Name {
		case "taggedBy":
			var err error
			if author, err = authorArgument(field.ArgumentMap(sel.operation.Variables)["userId"]); err != nil || author == "" {
				continue
			}
		case "taggedByAnyone":
		default:
			continue
		}
		for _, s := range sets {
			all = append(all, filetag.TallyKey{Set: s, Author: author})
		}
	}
	return all
}
