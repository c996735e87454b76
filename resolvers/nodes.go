package resolvers

import (
	"context"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// maxNodes bounds the ids of one nodes field.
const maxNodes = page.Max

// kind is a type of the contract whose objects can be read by their ids. A new type is one entry of [Resolver.kinds].
type kind struct {
	typ string
	// ask adds what has to be read for an id to the wave. It leaves out what is no id of the type.
	ask func(id gid.ID)
	// then reads what can be asked for only when the wave was read, and then what comes before it in the list; it picks what it knows from
	// all ids. It is nil for most types.
	then func(ctx context.Context, ids []gid.ID)
	// load returns the object, nil when there is none that the viewer may see. Faults: Invalid, with the field, for what is no id of the type.
	load func(ctx context.Context, field string, id gid.ID) (model.Node, error)
	// below reads what is selected below objects of the type; nil when nothing is read ahead.
	below func(ctx context.Context, objects []model.Node)
}

// kinds returns the types whose objects can be read by their ids. What they ask for goes into the wave.
func (r *Resolver) kinds(load *loaders.Loaders, w *wave) []kind {
	return []kind{
		kindOf("User", userID, &w.people, load.Users, nil),
		kindOf("Archive", archiveID, &w.archives, load.Archives, nil),
		kindOf("Note", noteID, &w.notes, load.Notes, r.ahead),
		{
			typ: "Version", ask: asking(versionNote, &w.notes), then: r.versionsOfNotes, load: r.versionNode,
			below: ahead("Version", same[note.Version], r.versionsAhead),
		},
		{typ: "Tag", ask: asking(tagID, &w.words), load: r.tagNode, below: ahead("Tag", same[tag.Tag], r.tagsAhead)},
		kindOf("Scope", scopeID, &w.scopes, load.Scopes, r.scopesAhead),
		kindOf("Entity", entityID, &w.entities, load.Entities, r.entitiesAhead),
		kindOf("Project", projectID, &w.projects, load.Projects, r.projectsAhead),
		kindOf("ProjectInvitation", invitationID, &w.invitations, load.Invitations, r.invitationsAhead),
		kindOf("Team", teamRef, &w.teams, load.Teams, r.teamsAhead),
		{
			typ: "Category", ask: asking(categoryRef, &w.labels), load: loading(categoryRef, load.Labels, categoryNode),
			below: ahead("Category", func(c model.Category) project.Label { return c.Label }, r.labelsAhead),
		},
		{
			typ: "Subcategory", ask: asking(subcategoryRef, &w.labels), load: loading(subcategoryRef, load.Labels, subcategoryNode),
			below: ahead("Subcategory", func(c model.Subcategory) project.Label { return c.Label }, r.labelsAhead),
		},
		kindOf("ProjectItem", projectItemRef, &w.projectItems, load.ProjectItems, r.projectItemsAhead),
		kindOf("ProjectItemEffort", effortRef, &w.efforts, load.Efforts, r.effortsAhead),
		kindOf("ProjectImport", importID, &w.imports, load.Imports, r.importsAhead),
		kindOf("ProjectExport", exportID, &w.exports, load.Exports, r.exportsAhead),
		kindOf("ProjectRemoval", removalID, &w.removals, load.Removals, r.removalsAhead),
		{
			typ: "Snapshot", ask: asking(refOfSnapshot, &w.scores), then: r.snapshotsOfScores, load: r.snapshotNode,
			below: ahead("Snapshot", same[score.Snapshot], r.snapshotsAhead),
		},
		{
			typ: "Score", ask: asking(refOfScore, &w.scores), then: r.contentsOfSnapshots, load: r.scoreNode,
			below: ahead("Score", same[model.Score], r.scoresAhead),
		},
		kindOf("Item", itemRequest, &w.items, load.Items, r.itemsAhead),
	}
}

// kindOf is a type whose objects are what one loader reads by their ids.
func kindOf[K comparable, V any](
	typ string, parse func(string, gid.ID) (K, error), asked *[]K, loader *loaders.Loader[K, V], below func(context.Context, []V, selection),
) kind {
	return kind{typ: typ, ask: asking(parse, asked), load: loading(parse, loader, asNode[V]), below: ahead(typ, same[V], below)}
}

func asking[K any](parse func(string, gid.ID) (K, error), asked *[]K) func(gid.ID) {
	return func(id gid.ID) {
		if key, err := parse("", id); err == nil {
			*asked = append(*asked, key)
		}
	}
}

func loading[K comparable, V any](
	parse func(string, gid.ID) (K, error), loader *loaders.Loader[K, V], is func(V) model.Node,
) func(context.Context, string, gid.ID) (model.Node, error) {
	return func(ctx context.Context, field string, id gid.ID) (model.Node, error) {
		key, err := parse(field, id)
		if err != nil {
			return nil, err
		}
		value, err := found(loader.Load(ctx, key))
		if value == nil || err != nil {
			return nil, err
		}
		return is(*value), nil
	}
}

// ahead has what is selected below objects of a type read; of says what a node is to the domain.
func ahead[N, V any](typ string, of func(N) V, read func(context.Context, []V, selection)) func(context.Context, []model.Node) {
	if read == nil {
		return nil
	}
	return func(ctx context.Context, objects []model.Node) {
		all := make([]V, len(objects))
		for i, object := range objects {
			n, _ := object.(N)
			all[i] = of(n)
		}
		read(ctx, all, selected(ctx, typ, "Node"))
	}
}

func same[V any](value V) V { return value }

func asNode[V any](value V) model.Node { return value }

func (q query) Node(ctx context.Context, id gid.ID) (model.Node, error) {
	kinds := q.kinds(loaders.From(ctx), &wave{})
	value, err := node(ctx, kinds, "id", id)
	below(ctx, kinds, []gid.ID{id}, []model.Node{value})
	return value, err
}

func (q query) Nodes(ctx context.Context, ids []gid.ID) ([]model.Node, error) {
	if len(ids) == 0 || len(ids) > maxNodes {
		return nil, fault.Invalidf("ids", "give 1 to %d ids", maxNodes)
	}
	load, w := loaders.From(ctx), &wave{}
	kinds := q.kinds(load, w)
	for _, id := range ids {
		if n := kindIn(kinds, id); n >= 0 {
			kinds[n].ask(id)
		}
	}
	w.read(load)
	for _, k := range kinds {
		if k.then != nil {
			k.then(ctx, ids)
		}
	}
	nodes := make([]model.Node, len(ids))
	for i, id := range ids {
		var err error
		if nodes[i], err = node(ctx, kinds, "ids."+strconv.Itoa(i), id); err != nil {
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
		}
	}
	below(ctx, kinds, ids, nodes)
	return nodes, nil
}

func kindIn(kinds []kind, id gid.ID) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.typ == id.Type })
}

// node reads the object with this id, nil when there is none that the viewer may see.
func node(ctx context.Context, kinds []kind, field string, id gid.ID) (model.Node, error) {
	n := kindIn(kinds, id)
	if n < 0 {
		return nil, fault.Invalidf(field, "this is not an id that Taggie made")
	}
	return kinds[n].load(ctx, field, id)
}

// below reads what is selected below the nodes of the ids, each type in one go.
func below(ctx context.Context, kinds []kind, ids []gid.ID, nodes []model.Node) {
	for _, k := range kinds {
		var of []model.Node
		for i, value := range nodes {
			if value != nil && ids[i].Type == k.typ {
				of = append(of, value)
			}
		}
		if len(of) > 0 && k.below != nil {
			k.below(ctx, of)
		}
	}
}

// nodeOf keeps a nil pointer from becoming a node that is not nil.
func nodeOf[T any](value *T, err error) (model.Node, error) {
	if value == nil || err != nil {
		return nil, err
	}
	return *value, nil
}

func (r *Resolver) versionNode(ctx context.Context, field string, id gid.ID) (model.Node, error) {
	key, err := versionID(field, id)
	if err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	n, err := found(load.Notes.Load(ctx, key.Note))
	if n == nil || err != nil {
		return nil, err
	}
	return nodeOf(found(load.Versions.Load(ctx, n.VersionAt(key.Number))))
}

// versionsOfNotes reads versions of notes that were read.
func (r *Resolver) versionsOfNotes(ctx context.Context, ids []gid.ID) {
	load := loaders.From(ctx)
	var requests []note.VersionRequest
	for _, id := range ids {
		key, err := versionID("", id)
		if err != nil {
			continue
		}
		if n, err := load.Notes.Load(ctx, key.Note); err == nil {
			requests = append(requests, n.VersionAt(key.Number))
		}
	}
	load.Versions.Prefetch(requests)
}

func (r *Resolver) tagNode(ctx context.Context, field string, id gid.ID) (model.Node, error) {
	key, err := tagID(field, id)
	if err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	if t, err := found(load.Tags.Load(ctx, key)); t != nil || err != nil {
		return nodeOf(t, err)
	}
	return nodeOf(found(load.Words.Load(ctx, key))) // it may be on items only
}

func versionNote(field string, id gid.ID) (note.ID, error) {
	key, err := versionID(field, id)
	return key.Note, err
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
