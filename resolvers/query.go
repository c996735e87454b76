package resolvers

import (
	"context"
	"strconv"

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
	return found(loaders.From(ctx).Users.Load(ctx, id))
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
	if n, ok := value.(note.Note); ok {
		q.ahead(ctx, []note.Note{n}, selected(ctx, "Note", "Node"))
	}
	return value, err
}

// maxNodes bounds the ids of one nodes field.
const maxNodes = page.Max

func (q query) Nodes(ctx context.Context, ids []gid.ID) ([]model.Node, error) {
	if len(ids) == 0 || len(ids) > maxNodes {
		return nil, fault.Invalidf("ids", "give 1 to %d ids", maxNodes)
	}
	q.nodesAhead(ctx, ids)
	nodes := make([]*model.Node, 0, len(ids))
	nodes = append(nodes, partial(ctx, ids, func(id gid.ID) (*model.Node, error) {
		node, err := q.node(ctx, "ids", id)
		if node == nil || err != nil {
			return nil, err
		}
		return &node, nil
	})...)
	values := make([]model.Node, len(nodes))
	for i, node := range nodes {
		if node != nil {
			values[i] = *node
		}
	}
	return values, nil
}

// nodesAhead reads the ids type by type, each in one batch.
func (q query) nodesAhead(ctx context.Context, ids []gid.ID) {
	var people []user.ID
	var notes []note.ID
	for _, id := range ids {
		switch {
		case id.Type == "User" && len(id.Key) == 1:
			people = append(people, user.ID(id.Key[0]))
		case id.Type == "Note" && len(id.Key) == 1, id.Type == "Version" && len(id.Key) == 2:
			notes = append(notes, note.ID(id.Key[0]))
		}
	}
	load := loaders.From(ctx)
	load.Users.Prefetch(people)
	load.Notes.Prefetch(notes)
	var versions []note.VersionID
	for _, id := range ids {
		if version, err := versionID("ids", id); err == nil {
			if _, err := load.Notes.Load(ctx, version.Note); err == nil {
				versions = append(versions, version)
			}
		}
	}
	load.Versions.Prefetch(versions)
	var known []note.Note
	for _, id := range notes {
		if n, err := load.Notes.Load(ctx, id); err == nil {
			known = append(known, n)
		}
	}
	q.ahead(ctx, known, selected(ctx, "Note", "Node"))
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
		return node(q.version(ctx, *n, key.Number))
	case "Tag":
		key, err := tagID(field, id)
		if err != nil {
			return nil, err
		}
		return node(q.tag(ctx, key))
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
		return note.VersionID{}, fault.Invalidf(field, "this is not the id of a Version")
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

// tag returns the viewer's tag; other people's tags do not exist for the viewer.
func (r *Resolver) tag(ctx context.Context, id tag.ID) (*tag.Tag, error) {
	t, err := r.Notes.FindTag(ctx, id)
	if fault.Is(err, fault.Forbidden) {
		return nil, nil
	}
	return found(t, err)
}
