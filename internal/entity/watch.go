package entity

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
)

// WatchIndex tells how the building of a declared index goes: now, and after each change, until it is ready; see [task.Watch]. NotFound
// for who is no member of the scope, and when there is no such index. Ended is called before the channel is closed when there is nothing
// more to follow.
func (s *Service) WatchIndex(ctx context.Context, scope, name string, ended func()) (<-chan task.Seen[Index], error) {
	read := func(ctx context.Context) (Index, error) {
		found, err := s.scope(ctx, scope, ReaderRole)
		if err != nil {
			return Index{}, err
		}
		for _, i := range found.Declared() {
			if i.Name == name {
				return i, nil
			}
		}
		return Index{}, fault.New(fault.NotFound, "there is no such index")
	}
	began := time.Now()
	now, err := read(ctx)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(task.WatchEvery)
	context.AfterFunc(ctx, ticker.Stop)
	return task.Watch(ctx, ticker.C, task.Seen[Index]{Value: now, At: began}, read, task.Watched[Index]{
		Over:  func(i Index) bool { return i.Ready },
		Same:  func(a, b Index) bool { return a.Ready == b.Ready && a.Done == b.Done },
		Gone:  func(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) },
		Ended: ended,
	}), nil
}
