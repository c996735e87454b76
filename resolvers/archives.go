package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Archive returns the resolvers of Archive.
func (r *Resolver) Archive() graph.ArchiveResolver { return archives{r} }

type archives struct{ *Resolver }

func (archives) Message(_ context.Context, a *archive.Archive) (*string, error) {
	return orNull(a.Message), nil
}

func (archives) Bytes(_ context.Context, a *archive.Archive) (*int64, error) {
	if a.State != archive.Done {
		return nil, nil
	}
	return &a.Bytes, nil
}

func (r archives) URL(ctx context.Context, a *archive.Archive) (*string, error) {
	url, err := r.Archives.Download(ctx, *a)
	return orNull(url), err
}

func (r users) Archives(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[archive.Archive], error) {
	o, err := r.open(ctx, selected(ctx, "ArchiveConnection"), page.Args{First: first, After: after, Last: last, Before: before}, "User.archives", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ArchivesOf.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (m mutation) CreateArchive(ctx context.Context, in model.CreateArchiveInput) (*model.CreateArchivePayload, error) {
	a, err := m.Archives.Create(ctx, archive.Create{IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, a, err)
	if after == nil || after.Version == 0 {
		return &model.CreateArchivePayload{}, err
	}
	return &model.CreateArchivePayload{Archive: after}, nil
}

func (s subscription) ArchiveProgress(ctx context.Context, archiveID_ gid.ID) (<-chan *archive.Archive, error) {
	id, err := archiveID("archiveId", archiveID_)
	if err != nil {
		return nil, err
	}
	states, err := s.Archives.Watch(ctx, id, Finisher(graphql.GetOperationContext(ctx)))
	return seen(ctx, states, err)
}

func archiveID(field string, id gid.ID) (archive.ID, error) {
	key, err := parts(field, id, "Archive", 2)
	if err != nil {
		return archive.ID{}, err
	}
	return archive.ID{User: user.ID(key[0]), ID: key[1]}, nil
}
