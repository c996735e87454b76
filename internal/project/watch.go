package project

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
)

// WatchImport tells how an import goes: now, and after each change, until it has ended; see [task.Watch]. Every look is also one at who
// may see it. Ended is called before the channel is closed when there is nothing more to follow. The faults are those of [Service.ImportsByID].
func (s *Service) WatchImport(ctx context.Context, id TransferID, ended func()) (<-chan task.Seen[Import], error) {
	return watch(ctx, func(ctx context.Context) (Import, error) { return domain.First(s.ImportsByID(ctx, []TransferID{id})) }, task.Watched[Import]{
		Over: func(i Import) bool { return i.State.Ended() }, Same: func(a, b Import) bool { return a.Version == b.Version }, Gone: unseen, Ended: ended,
	})
}

// WatchExport does the same for an export.
func (s *Service) WatchExport(ctx context.Context, id TransferID, ended func()) (<-chan task.Seen[Export], error) {
	return watch(ctx, func(ctx context.Context) (Export, error) { return domain.First(s.ExportsByID(ctx, []TransferID{id})) }, task.Watched[Export]{
		Over: func(e Export) bool { return e.State.Ended() }, Same: func(a, b Export) bool { return a.Version == b.Version }, Gone: unseen, Ended: ended,
	})
}

// WatchRemoval does the same for a removal, until its items are removed, brought back or gone.
func (s *Service) WatchRemoval(ctx context.Context, id TransferID, ended func()) (<-chan task.Seen[Removal], error) {
	return watch(ctx, func(ctx context.Context) (Removal, error) { return domain.First(s.RemovalsByID(ctx, []TransferID{id})) }, task.Watched[Removal]{
		Over: func(r Removal) bool { return r.Ended() }, Same: func(a, b Removal) bool { return a.Version == b.Version }, Gone: unseen, Ended: ended,
	})
}

// unseen reports whether there is nothing to be looked at any more, or not for who looks.
func unseen(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) }

func watch[T any](ctx context.Context, read func(context.Context) (T, error), w task.Watched[T]) (<-chan task.Seen[T], error) {
	began := time.Now()
	now, err := read(ctx)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(task.WatchEvery)
	context.AfterFunc(ctx, ticker.Stop)
	return task.Watch(ctx, ticker.C, task.Seen[T]{Value: now, At: began}, read, w), nil
}
