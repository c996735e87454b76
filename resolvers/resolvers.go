// Package resolvers turns each field of the contract into one call.
//
// It knows the contract, the loaders and the domain's services. It must not
// know engines, net/http or the clock, nor decide anything: an "if" about the
// domain belongs in the domain. There is one small struct per GraphQL type, in
// the file named after it. Start reading at [Resolver]; lists look ahead in
// ahead.go.
package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

// Resolver is the root of all resolvers.
type Resolver struct {
	Users     *user.Service
	Notes     *note.Service
	Entities  *entity.Service
	Projects  *project.Service
	Labelling *labelling.Service
	Scores    *score.Service
	Items     *score.Items
	FileTags  *filetag.Service
	Archives  *archive.Service
	Hub       *labelling.Hub[labelling.EventDetails] // what happens in projects
	Following *follow.Hub                            // what happens to notes and scores
	Files     project.Presigner                      // where the files of imports and exports are
	Cursors   *page.Codec
}

var _ graph.ResolverRoot = (*Resolver)(nil)

// Query returns the resolvers of Query.
func (r *Resolver) Query() graph.QueryResolver { return query{r} }

// Mutation returns the resolvers of Mutation.
func (r *Resolver) Mutation() graph.MutationResolver { return mutation{r} }

// User returns the resolvers of User.
func (r *Resolver) User() graph.UserResolver { return users{r} }

// Note returns the resolvers of Note.
func (r *Resolver) Note() graph.NoteResolver { return notes{r} }

// Version returns the resolvers of Version.
func (r *Resolver) Version() graph.VersionResolver { return versions{r} }

// Tag returns the resolvers of Tag.
func (r *Resolver) Tag() graph.TagResolver { return tags{r} }

// NoteAccessConnection returns the resolvers of NoteAccessConnection.
func (r *Resolver) NoteAccessConnection() graph.NoteAccessConnectionResolver {
	return accessConnection{r}
}

// NoteAccessEdge returns the resolvers of NoteAccessEdge.
func (r *Resolver) NoteAccessEdge() graph.NoteAccessEdgeResolver { return accessEdge{r} }

// SharedNoteConnection returns the resolvers of SharedNoteConnection.
func (r *Resolver) SharedNoteConnection() graph.SharedNoteConnectionResolver {
	return sharedConnection{r}
}

// TaggedNoteConnection returns the resolvers of TaggedNoteConnection.
func (r *Resolver) TaggedNoteConnection() graph.TaggedNoteConnectionResolver {
	return taggedConnection{r}
}

// Scope returns the resolvers of Scope.
func (r *Resolver) Scope() graph.ScopeResolver { return scopes{r} }

// EntityIndex returns the resolvers of EntityIndex.
func (r *Resolver) EntityIndex() graph.EntityIndexResolver { return entityIndex{r} }

// EntityIndexLeftOut returns the resolvers of EntityIndexLeftOut.
func (r *Resolver) EntityIndexLeftOut() graph.EntityIndexLeftOutResolver {
	return entityIndexLeftOut{r}
}

// ScopeMemberConnection returns the resolvers of ScopeMemberConnection.
func (r *Resolver) ScopeMemberConnection() graph.ScopeMemberConnectionResolver {
	return scopeMemberConnection{r}
}

// ScopeMemberEdge returns the resolvers of ScopeMemberEdge.
func (r *Resolver) ScopeMemberEdge() graph.ScopeMemberEdgeResolver { return scopeMemberEdge{r} }

// Entity returns the resolvers of Entity.
func (r *Resolver) Entity() graph.EntityResolver { return entities{r} }

// EntityRelationConnection returns the resolvers of EntityRelationConnection.
func (r *Resolver) EntityRelationConnection() graph.EntityRelationConnectionResolver {
	return relationConnection{r}
}

// EntityRelationEdge returns the resolvers of EntityRelationEdge.
func (r *Resolver) EntityRelationEdge() graph.EntityRelationEdgeResolver { return relationEdge{r} }

// open checks the paging arguments of a list of the viewer; name and args say which list it is.
func (r *Resolver) open(ctx context.Context, sel selection, paging page.Args, name string, args ...string) (page.Opened, error) {
	o, err := r.Cursors.Open(page.Binding{Viewer: string(viewer.From(ctx).UserID), Name: name, Args: args}, paging)
	if err != nil {
		return o, err
	}
	other := "hasPreviousPage"
	if o.Window.Backward {
		other = "hasNextPage"
	}
	o.Window.Probe = o.Window.From != "" && sel.in("pageInfo", "PageInfo").has(other)
	return o, nil
}

// person returns a user whose id is known to be one, read only if more than the id and lists of it are selected; null for one who was erased.
func person(ctx context.Context, id user.ID) (*user.User, error) {
	if user.IsErased(id) {
		return nil, nil
	}
	if !showsProfile(graphql.GetFieldContext(ctx).Field.Selections) {
		return &user.User{ID: id}, nil
	}
	u, err := loaders.From(ctx).Users.Look(ctx, id)
	return orNone(u, err)
}

// found turns NotFound into null.
func found[T any](value T, err error) (*T, error) { return orNone(&value, err) }

// orNone is found of a pointer.
func orNone[T any](value *T, err error) (*T, error) {
	if err == nil {
		return value, nil
	}
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return nil, err
}

// partial makes a list of which single elements may have failed: those are null, each with an error of its own.
func partial[E, T any](ctx context.Context, edges []E, node func(E) (*T, error)) []*T {
	all := make([]*T, len(edges))
	for i, edge := range edges {
		value, err := node(edge)
		if err != nil {
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
			continue
		}
		all[i] = value
	}
	return all
}

func noteID(field string, id gid.ID) (note.ID, error) {
	key, err := id.As(field, "Note", 1)
	if err != nil {
		return "", err
	}
	return note.ID(key[0]), nil
}

func userID(field string, id gid.ID) (user.ID, error) {
	key, err := id.As(field, "User", 1)
	if err != nil {
		return "", err
	}
	return user.ID(key[0]), nil
}
