// Package loaders batches the reads of one response.
//
// It knows the domain's batched reads, one loader per read, grouped by domain.
// It must not know GraphQL, engines or rules, and never writes. Loaders are
// made per response, so that a second event of a subscription sees fresh data,
// and run on the response's context. Start reading at [New], then [Loader].
package loaders

import (
	"context"
	"sync"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
)

// Loaders holds the loaders of one response.
type Loaders struct {
	Users     *Loader[user.ID, user.User]
	AllUsers  *Loader[AllUsers, page.Slice[user.User]]
	Deleted   *Loader[DeletedUsers, page.Slice[user.DeletedUser]]
	BlockedBy *Loader[ListOf, page.Slice[user.Block]]

	Archives   *Loader[archive.ID, archive.Archive]
	ArchivesOf *Loader[ListOf, page.Slice[archive.Archive]]
	noteLoaders
	entityLoaders
	projectLoaders
	labellingLoaders
	scoreLoaders
	fileTagLoaders

	clear []func() // of each loader
}

// ListOf asks for a page of a list of a user.
type ListOf struct {
	User   user.ID
	Window page.Window
}

// AllUsers asks for a page of the list of users, of those who are found by the prefix.
type AllUsers struct {
	Prefix string
	Window page.Window
}

// DeletedUsers asks for a page of the list of deleted users.
type DeletedUsers struct{ Window page.Window }

// Sources are where loaders read.
type Sources struct {
	Users     *user.Service
	Notes     *note.Service
	Entities  *entity.Service
	Projects  *project.Service
	Labelling *labelling.Service
	Scores    *score.Service
	Items     *score.Items
	FileTags  *filetag.Service
	Archives  *archive.Service
	Light     Light   // for responses that do not show what may be large
	Observe   Observe // told of each batch; may be nil
}

// Observe is told of each batch before it is read; the batch is read within the context that it returns, and done ends it.
type Observe func(ctx context.Context, loader string, keys int) (_ context.Context, done func())

func unobserved(ctx context.Context, _ string, _ int) (context.Context, func()) {
	return ctx, func() {}
}

// Light are services that leave out what may be large; the full ones are used in the place of nil.
type Light struct {
	Notes    *note.Service    // no content of notes and versions
	Entities *entity.Service  // no attributes of entities
	Projects *project.Service // no metadata of items
	Scores   *score.Service   // no pages and annotations of scores
}

// Shows says what a response shows of what may be large.
type Shows struct {
	Content    bool // of any note or version
	Attributes bool // of any entity
	Metadata   bool // of any item
	Pages      bool // or annotations, of any score
}

// lightest returns the sources that read no more than what is shown.
func (s Sources) lightest(shows Shows) Sources {
	if !shows.Content && s.Light.Notes != nil {
		s.Notes = s.Light.Notes
	}
	if !shows.Attributes && s.Light.Entities != nil {
		s.Entities = s.Light.Entities
	}
	if !shows.Metadata && s.Light.Projects != nil {
		s.Projects = s.Light.Projects
	}
	if !shows.Pages && s.Light.Scores != nil {
		s.Scores = s.Light.Scores
	}
	return s
}

// New returns the loaders of one response, whose context bounds all their reads.
func New(ctx context.Context, from Sources, shows Shows) *Loaders {
	from = from.lightest(shows)
	if from.Observe == nil {
		from.Observe = unobserved
	}
	r := &response{ctx: ctx, observe: from.Observe}
	l := &Loaders{
		Users: register(r, "users", from.Users.ListByID),
		Deleted: registerList(r, "deletedUsers", func(ctx context.Context, k DeletedUsers) (page.Slice[user.DeletedUser], error) {
			return from.Users.ListDeleted(ctx, k.Window)
		}),
		AllUsers: registerList(r, "allUsers", func(ctx context.Context, k AllUsers) (page.Slice[user.User], error) {
			return from.Users.ListAll(ctx, k.Prefix, k.Window)
		}),
		BlockedBy: registerList(r, "blockedBy", func(ctx context.Context, k ListOf) (page.Slice[user.Block], error) {
			return from.Users.ListBlocked(ctx, k.User, k.Window)
		}),
		Archives: register(r, "archives", from.Archives.ListByID),
		ArchivesOf: registerList(r, "archivesOf", func(ctx context.Context, k ListOf) (page.Slice[archive.Archive], error) {
			return from.Archives.List(ctx, k.User, k.Window)
		}),
		noteLoaders:      newNoteLoaders(r, from.Notes),
		entityLoaders:    newEntityLoaders(r, from.Entities),
		projectLoaders:   newProjectLoaders(r, from.Projects),
		labellingLoaders: newLabellingLoaders(r, from.Labelling),
		scoreLoaders:     newScoreLoaders(r, from.Scores, from.Items),
		fileTagLoaders:   newFileTagLoaders(r, from.FileTags),
	}
	l.clear = r.clear
	return l
}

// response is what the loaders of one response have in common.
type response struct {
	ctx     context.Context
	observe Observe
	clear   []func()
}

// register makes a loader that [Loaders.Clear] cannot forget.
func register[K comparable, V any](r *response, name string, fetch func(context.Context, []K) ([]V, []error)) *Loader[K, V] {
	l := newLoader(r.ctx, name, r.observe, fetch)
	r.clear = append(r.clear, l.clear)
	return l
}

// registerList makes a loader of lists that DynamoDB cannot batch; see [Loader.LoadNow].
func registerList[K comparable, V any](r *response, name string, read func(context.Context, K) (V, error)) *Loader[K, V] {
	return register(r, name, oneByOne(read))
}

// Clear forgets everything that was read: a mutation calls it after its write, so that its payload, and the mutations that
// follow in the same request, see the data as it is now.
func (l *Loaders) Clear() {
	for _, clear := range l.clear {
		clear()
	}
}

type key struct{}

// With returns a context that carries the loaders.
func With(ctx context.Context, l *Loaders) context.Context {
	return WhenAsked(ctx, func() *Loaders { return l })
}

// WhenAsked returns a context whose loaders are made when somebody first asks for them: most messages of subscriptions need none.
func WhenAsked(ctx context.Context, make func() *Loaders) context.Context {
	return context.WithValue(ctx, key{}, sync.OnceValue(make))
}

// From returns the loaders of the response. Without any it panics: the server was put together wrongly.
func From(ctx context.Context) *Loaders {
	made, ok := ctx.Value(key{}).(func() *Loaders)
	if !ok {
		panic("loaders: the context carries none")
	}
	return made()
}
