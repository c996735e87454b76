package model

import (
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
)

// Connections and edges that carry nothing but their tags.
type (
	// ItemTagConnection is a page of tags on items.
	ItemTagConnection = page.List[filetag.ItemTag]
	// ItemTagEdge is a tag on an item, in a list.
	ItemTagEdge = page.Edge[filetag.ItemTag]
)

// TaggedItemConnection is a page of items that carry tags.
type TaggedItemConnection struct {
	page.Connection[TaggedItemEdge]
}

// TaggedItemEdge is an item that carries a tag; resolvers load the item.
type TaggedItemEdge struct {
	page.Position
	Tag filetag.ItemTag
}

// The spelling of who may see a tag in the contract.
const (
	publicTag  = "PUBLIC"
	privateTag = "PRIVATE"
)

// MarshalItemTagVisibility writes whether a tag is public.
func MarshalItemTagVisibility(public bool) graphql.Marshaler {
	name := privateTag
	if public {
		name = publicTag
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(name)) })
}

// UnmarshalItemTagVisibility reads whether a tag is public.
func UnmarshalItemTagVisibility(v any) (bool, error) {
	if v != publicTag && v != privateTag {
		return false, fmt.Errorf("%.40v is not a visibility", v)
	}
	return v == publicTag, nil
}
