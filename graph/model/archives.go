package model

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
)

type (
	// ArchiveConnection is a page of archives.
	ArchiveConnection = page.List[archive.Archive]
	// ArchiveEdge is an archive in a list.
	ArchiveEdge = page.Edge[archive.Archive]
)

// MarshalArchiveID writes the global id of an archive.
func MarshalArchiveID(id archive.ID) graphql.Marshaler {
	return gid.Of("Archive", string(id.User), id.ID)
}

// UnmarshalArchiveID is not used; see [UnmarshalUserID].
func UnmarshalArchiveID(any) (archive.ID, error) { return archive.ID{}, errOutputOnly }
