package score

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
)

// The bounds of reading contents of snapshots, each of which may have 10 MB.
const (
	// MaxContents is how many contents are read for one response.
	MaxContents = 50
	// MaxContentBytes is how much the contents of one response may have together: no answer may have more.
	MaxContentBytes = 64 << 20
	// contentsAtOnce is how many contents are read at once for one response.
	contentsAtOnce = 4
	// readingBytes is what reading contents may take up at a time, for all responses: what is read is in memory as bytes and as texts.
	readingBytes = 256 << 20
)

// History reads what snapshots keep, for one response.
type History struct {
	service      *Service
	count, bytes atomic.Int64 // that were read
}

// History returns what reads contents for one response.
func (s *Service) History() *History { return &History{service: s} }

// ScoresAt returns scores as of snapshots that the viewer was shown, in the order of requests; NotFound for others, and for one
// that was deleted meanwhile; Exhausted for those beyond [MaxContents] or [MaxContentBytes].
func (h *History) ScoresAt(ctx context.Context, requests []ContentRequest) ([]Content, []error) {
	return allowed(requests, func(r ContentRequest) shown { return r.shown }, snapshotNotFound, func(requests []ContentRequest) ([]Content, []error) {
		return eachContent(requests, func(r ContentRequest) (Content, error) { return h.read(ctx, r.SnapshotID) })
	})
}

// Comparisons says what has changed since snapshots that the viewer was shown, in the order of requests; errors as of
// [History.ScoresAt]. It reads each score once.
func (h *History) Comparisons(ctx context.Context, requests []ContentRequest) ([]Comparison, []error) {
	return allowed(requests, func(r ContentRequest) shown { return r.shown }, snapshotNotFound, func(requests []ContentRequest) ([]Comparison, []error) {
		now := map[Ref]func() (Content, error){}
		for _, r := range requests {
			if now[r.Score] == nil {
				now[r.Score] = sync.OnceValues(func() (Content, error) { return h.now(ctx, r.Score) })
			}
		}
		return eachContent(requests, func(r ContentRequest) (Comparison, error) {
			is, err := now[r.Score]()
			if err != nil {
				return Comparison{}, err
			}
			was, err := h.read(ctx, r.SnapshotID)
			if err != nil {
				return Comparison{}, err
			}
			return compare(was, is), nil
		})
	})
}

// eachContent does something for each request, some side by side.
func eachContent[T any](requests []ContentRequest, do func(ContentRequest) (T, error)) ([]T, []error) {
	all, errs := make([]T, len(requests)), make([]error, len(requests))
	var group errgroup.Group
	group.SetLimit(contentsAtOnce)
	for i, r := range requests {
		group.Go(func() error {
			defer fault.Recovered(&errs[i])
			all[i], errs[i] = do(r)
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return all, errs
}

// now returns the content of a score as it is.
func (h *History) now(ctx context.Context, of Ref) (Content, error) {
	s, err := domain.First(guarded(ctx, h.service.o.Store, of))
	if err != nil {
		return Content{}, err
	}
	_, content, err := h.service.contentOf(ctx, s)
	return content, err
}

// read returns a content, unless too many were read before.
func (h *History) read(ctx context.Context, id SnapshotID) (Content, error) {
	if h.count.Add(1) > MaxContents || h.bytes.Load() > MaxContentBytes {
		return Content{}, fault.New(fault.Exhausted, "this reads more than %d snapshots, or %d MB of them: ask for less at a time", MaxContents, MaxContentBytes>>20)
	}
	c, err := h.service.contentAt(ctx, id)
	h.bytes.Add(c.size())
	return c, err
}
