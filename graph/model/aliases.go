// Package model binds the types of the contract to those of the domain.
//
// models.go is written by gqlgen; this file, by hand, says which types of the
// domain stand for which types of the contract, and what stands for those that
// exist in the contract alone. It must not hold rules.
package model

import (
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
)

// Connections and edges that carry nothing but their items; gqlgen.yml binds the other types of the domain.
type (
	// NoteConnection is a page of notes.
	NoteConnection = page.List[note.Note]
	// NoteEdge is a note in a list.
	NoteEdge = page.Edge[note.Note]
	// VersionConnection is a page of versions.
	VersionConnection = page.List[note.Version]
	// VersionEdge is a version in a list.
	VersionEdge = page.Edge[note.Version]
	// TagConnection is a page of tags.
	TagConnection = page.List[tag.Tag]
	// TagEdge is a tag in a list.
	TagEdge = page.Edge[tag.Tag]
	// UserConnection is a page of users.
	UserConnection = page.List[user.User]
	// UserEdge is a user in a list.
	UserEdge = page.Edge[user.User]
	// DeletedUserConnection is a page of deleted users.
	DeletedUserConnection = page.List[user.DeletedUser]
	// DeletedUserEdge is a deleted user in a list.
	DeletedUserEdge = page.Edge[user.DeletedUser]
	// BlockedUserConnection is a page of blocked users.
	BlockedUserConnection = page.List[user.Block]
	// BlockedUserEdge is a blocked user in a list.
	BlockedUserEdge = page.Edge[user.Block]
)

// Interfaces and unions. What may be in them the schema says; in Go they are open, because the domain does not know them.
type (
	// Node is anything with a global id.
	Node any
	// Problem is any expected outcome.
	Problem any
	// NoteChange is a note, or what is left of one or of its share.
	NoteChange any
	// CreateUserProblem is an expected outcome of createUser.
	CreateUserProblem any
	// DeleteUserProblem is an expected outcome of deleteUser.
	DeleteUserProblem any
	// UpdateUserProblem is an expected outcome of updateUser.
	UpdateUserProblem any
	// UpdateNoteProblem is an expected outcome of updateNote.
	UpdateNoteProblem any
	// ChangeNoteDeadlineProblem is an expected outcome of changeNoteDeadline.
	ChangeNoteDeadlineProblem any
	// DeleteNoteProblem is an expected outcome of deleteNote.
	DeleteNoteProblem any
	// RestoreVersionProblem is an expected outcome of restoreVersion.
	RestoreVersionProblem any
	// AddNoteTagsProblem is an expected outcome of addNoteTags.
	AddNoteTagsProblem any
	// ShareNoteProblem is an expected outcome of shareNote.
	ShareNoteProblem any
)

// TaggedNoteConnection is a list of notes that carry a tag.
type TaggedNoteConnection struct {
	page.Connection[TaggedNoteEdge]
}

// TaggedNoteEdge is a note that carries a tag, or why it could not be read.
type TaggedNoteEdge struct {
	page.Position
	Found note.Found
}

// Node returns the note, or why it could not be read.
func (e TaggedNoteEdge) Node() (*note.Note, error) { return found(e.Found) }

// SharedNoteConnection is a list of notes that were shared with a user.
type SharedNoteConnection struct {
	page.Connection[SharedNoteEdge]
}

// SharedNoteEdge is a note that was shared with a user, or why it could not be read.
type SharedNoteEdge struct {
	page.Position
	note.Share
	Found note.Found
}

// Node returns the note, or why it could not be read.
func (e SharedNoteEdge) Node() (*note.Note, error) { return found(e.Found) }

func found(f note.Found) (*note.Note, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	return &f.Note, nil
}

// NoteAccessConnection is a list of the users with whom a note is shared.
type NoteAccessConnection struct {
	page.Connection[NoteAccessEdge]
}

// NoteAccessEdge is a user with whom a note is shared; resolvers load the user.
type NoteAccessEdge struct {
	page.Position
	note.Share
}

// NoteChangeConnection is a list of changes.
type NoteChangeConnection struct {
	page.Connection[NoteChangeEdge]
	note.Synced
}

// Nodes returns the changes without their edges.
func (c NoteChangeConnection) Nodes() []NoteChange {
	nodes := make([]NoteChange, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node()
	}
	return nodes
}

// NoteChangeEdge is a change in a list.
type NoteChangeEdge struct {
	page.Position
	Change note.Change
}

// Node returns the note as it is now, or what is left of it or of its share.
func (e NoteChangeEdge) Node() NoteChange {
	switch {
	case e.Change.Deleted != nil:
		return *e.Change.Deleted
	case e.Change.Ended != nil:
		return *e.Change.Ended
	}
	return *e.Change.Note
}

// MarshalUserID writes the global id of a user.
func MarshalUserID(id user.ID) graphql.Marshaler { return gid.Single{Type: "User", Key: string(id)} }

// AppendUserID appends the global id of a user.
func AppendUserID(b []byte, id user.ID) []byte {
	return gid.Single{Type: "User", Key: string(id)}.AppendGQL(b)
}

// UnmarshalUserID is not used: ids come in as [gid.ID], which says which argument is wrong.
func UnmarshalUserID(any) (user.ID, error) { return "", errOutputOnly }

// MarshalNoteID writes the global id of a note.
func MarshalNoteID(id note.ID) graphql.Marshaler { return gid.Single{Type: "Note", Key: string(id)} }

// AppendNoteID appends the global id of a note.
func AppendNoteID(b []byte, id note.ID) []byte {
	return gid.Single{Type: "Note", Key: string(id)}.AppendGQL(b)
}

// UnmarshalNoteID is not used; see [UnmarshalUserID].
func UnmarshalNoteID(any) (note.ID, error) { return "", errOutputOnly }

// MarshalTagID writes the global id of a tag.
func MarshalTagID(id tag.ID) graphql.Marshaler { return gid.Of("Tag", string(id.Author), id.Key) }

// UnmarshalTagID is not used; see [UnmarshalUserID].
func UnmarshalTagID(any) (tag.ID, error) { return tag.ID{}, errOutputOnly }

// MarshalVersionID writes the global id of a version.
func MarshalVersionID(id note.VersionID) graphql.Marshaler {
	return gid.Of("Version", string(id.Note), strconv.Itoa(id.Number))
}

// UnmarshalVersionID is not used; see [UnmarshalUserID].
func UnmarshalVersionID(any) (note.VersionID, error) { return note.VersionID{}, errOutputOnly }

var errOutputOnly = fmt.Errorf("this form of an id is for answers only")

// The spelling of permissions in the contract.
var permissions = map[note.Permission]string{note.View: "VIEW", note.Edit: "EDIT", note.Owner: "OWNER"}

// MarshalNotePermission writes a permission.
func MarshalNotePermission(p note.Permission) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(AppendNotePermission(nil, p)) })
}

// AppendNotePermission appends a permission.
func AppendNotePermission(b []byte, p note.Permission) []byte {
	return strconv.AppendQuote(b, permissions[p])
}

// UnmarshalNotePermission reads a permission.
func UnmarshalNotePermission(v any) (note.Permission, error) {
	for p, name := range permissions {
		if v == name {
			return p, nil
		}
	}
	return note.None, fmt.Errorf("%.40v is not a permission", v)
}

// MarshalSharePermission writes what a note is shared for.
func MarshalSharePermission(p note.Permission) graphql.Marshaler { return MarshalNotePermission(p) }

// AppendSharePermission appends what a note is shared for.
func AppendSharePermission(b []byte, p note.Permission) []byte { return AppendNotePermission(b, p) }

// UnmarshalSharePermission reads what a note is to be shared for.
func UnmarshalSharePermission(v any) (note.Permission, error) {
	p, err := UnmarshalNotePermission(v)
	if err == nil && p == note.Owner {
		err = fmt.Errorf("a note can be shared for VIEW or EDIT")
	}
	return p, err
}
