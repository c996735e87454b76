package resolvers

import (
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

type query struct{ *Resolver }

func (q query) Viewer(ctx context.Context) (*user.User, error) {
	id := viewer.From(ctx).UserID
	if id == "" {
		return nil, nil
	}
	return person(ctx, id)
}

func (q query) User(ctx context.Context, id gid.ID) (*user.User, error) {
	key, err := userID("id", id)
	if err != nil {
		return nil, err
	}
	return found(loaders.From(ctx).Users.Load(ctx, key))
}

func (q query) UserByEmail(ctx context.Context, email string) (*user.User, error) {
	id, err := q.Users.FindByEmail(ctx, email)
	if err != nil {
		return found(user.User{}, err)
	}
	return found(loaders.From(ctx).Users.Load(ctx, id))
}

func (q query) Note(ctx context.Context, id gid.ID) (*note.Note, error) {
	key, err := noteID("id", id)
	if err != nil {
		return nil, err
	}
	n, err := found(loaders.From(ctx).Notes.Load(ctx, key))
	if n != nil {
		q.ahead(ctx, []note.Note{*n}, selected(ctx, "Note", "Node"))
	}
	return n, err
}

func (q query) Node(ctx context.Context, id gid.ID) (model.Node, error) {
	value, err := q.node(ctx, "id", id)
	q.below(ctx, []model.Node{value})
	return value, err
}

// maxNodes bounds the ids of one nodes field.
const maxNodes = page.Max

func (q query) Nodes(ctx context.Context, ids []gid.ID) ([]model.Node, error) {
	if len(ids) == 0 || len(ids) > maxNodes {
		return nil, fault.Invalidf("ids", "give 1 to %d ids", maxNodes)
	}
	q.nodesAhead(ctx, ids)
	nodes := make([]model.Node, len(ids))
	for i, id := range ids {
		var err error
		if nodes[i], err = q.node(ctx, "ids."+strconv.Itoa(i), id); err != nil {
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
		}
	}
	q.below(ctx, nodes)
	return nodes, nil
}

// nodesAhead reads the ids type by type, each type in one batch.
func (q query) nodesAhead(ctx context.Context, ids []gid.ID) {
	load := loaders.From(ctx)
	var people []user.ID
	var notes []note.ID
	var words []tag.ID
	var versions []note.VersionID
	for _, id := range ids {
		if key, err := userID("", id); err == nil {
			people = append(people, key)
		}
		if key, err := noteID("", id); err == nil {
			notes = append(notes, key)
		}
		if key, err := tagID("", id); err == nil {
			words = append(words, key)
		}
		if key, err := versionID("", id); err == nil {
			versions, notes = append(versions, key), append(notes, key.Note)
		}
	}
	var group errgroup.Group // the loaders recover by themselves, and keep errors for those who load
	group.Go(func() error { load.Users.Prefetch(people); return nil })
	group.Go(func() error { load.Notes.Prefetch(notes); return nil })
	group.Go(func() error { load.Tags.Prefetch(words); return nil })
	q.entityNodesAhead(ctx, ids, &group)
	q.projectNodesAhead(ctx, ids, &group)
	q.scoreNodesAhead(ctx, ids, &group)
	_ = group.Wait()
	q.contentsAhead(ctx, ids)
	var requests []note.VersionRequest
	for _, id := range versions {
		if n, err := load.Notes.Load(ctx, id.Note); err == nil {
			requests = append(requests, n.VersionAt(id.Number))
		}
	}
	load.Versions.Prefetch(requests)
}

// below reads what is selected below notes and tags.
func (q query) below(ctx context.Context, nodes []model.Node) {
	var notes []note.Note
	var words []tag.Tag
	for _, value := range nodes {
		switch value := value.(type) {
		case note.Note:
			notes = append(notes, value)
		case tag.Tag:
			words = append(words, value)
		}
	}
	q.ahead(ctx, notes, selected(ctx, "Note", "Node"))
	q.tagsAhead(ctx, words, selected(ctx, "Tag", "Node"))
	q.belowEntities(ctx, nodes)
	q.belowProjects(ctx, nodes)
	q.belowScores(ctx, nodes)
}

// node reads the object with this id, nil when there is none that the viewer may see.
func (q query) node(ctx context.Context, field string, id gid.ID) (model.Node, error) {
	load := loaders.From(ctx)
	switch id.Type {
	case "User":
		key, err := userID(field, id)
		if err != nil {
			return nil, err
		}
		return node(found(load.Users.Load(ctx, key)))
	case "Note":
		key, err := noteID(field, id)
		if err != nil {
			return nil, err
		}
		return node(found(load.Notes.Load(ctx, key)))
	case "Version":
		key, err := versionID(field, id)
		if err != nil {
			return nil, err
		}
		n, err := found(load.Notes.Load(ctx, key.Note))
		if n == nil || err != nil {
			return nil, err
		}
		return node(found(load.Versions.Load(ctx, n.VersionAt(key.Number))))
	case "Tag":
		key, err := tagID(field, id)
		if err != nil {
			return nil, err
		}
		if t, err := found(load.Tags.Load(ctx, key)); t != nil || err != nil {
			return node(t, err)
		}
		return node(found(load.Words.Load(ctx, key))) // it may be on items only
	case "Scope":
		key, err := scopeID(field, id)
		if err != nil {
			return nil, err
		}
		return node(found(load.Scopes.Load(ctx, key)))
	case "Entity":
		key, err := entityID(field, id)
		if err != nil {
			return nil, err
		}
		return node(found(load.Entities.Load(ctx, key)))
	}
	if value, ok, err := q.projectNode(ctx, field, id); ok {
		return value, err
	}
	if value, ok, err := q.scoreNode(ctx, field, id); ok {
		return value, err
	}
	return nil, fault.Invalidf(field, "this is not an id that Taggie made")
}

// node keeps a nil pointer from becoming an interface that is not nil.
func node[T any](value *T, err error) (model.Node, error) {
	if value == nil || err != nil {
		return nil, err
	}
	return *value, nil
}

func versionID(field string, id gid.ID) (note.VersionID, error) {
	key, err := id.As(field, "Version", 2)
	if err != nil {
		return note.VersionID{}, err
	}
	number, err := strconv.Atoi(key[1])
	if err != nil || number < 1 {
		return note.VersionID{}, fault.Invalidf(field, "this is not an id of the type Version")
	}
	return note.VersionID{Note: note.ID(key[0]), Number: number}, nil
}

func tagID(field string, id gid.ID) (tag.ID, error) {
	key, err := id.As(field, "Tag", 2)
	if err != nil {
		return tag.ID{}, err
	}
	return tag.ID{Author: user.ID(key[0]), Key: key[1]}, nil
}
