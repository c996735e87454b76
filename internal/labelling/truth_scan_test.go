package labelling_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func (s *truth) ListByStatus(_ context.Context, p project.ID, status project.Status, n int, after labelling.Place, limit int) ([]string, labelling.Place, error) {
	err := s.begin("ListByStatus")
	defer s.mu.Unlock()
	if err != nil {
		return nil, labelling.Place{}, err
	}
	var list []project.Item
	for _, i := range indexed("statuses", s.lag.show, s.lag.items, s.items, n, func(a, b project.Item) bool { return a.Status == b.Status }) {
		if i.Project == p && i.Status == status && i.Seq+i.ID > after.Seq+after.Item {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b project.Item) int { return cmp.Compare(a.Seq+a.ID, b.Seq+b.ID) })
	var ids []string
	for _, i := range list[:min(limit, len(list))] {
		ids = append(ids, i.ID)
	}
	if len(list) <= limit {
		return ids, labelling.Place{}, nil
	}
	last := list[limit-1]
	return ids, labelling.Place{Seq: last.Seq, Item: last.ID}, nil
}

// place is where a thing stands in an index of what changed when.
type place struct {
	at time.Time
	id string
}

func (p place) compare(q place) int { return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.id, q.id)) }

// pages hands things over by when they changed last; what changes meanwhile moves to the end.
func pages[T any](s *truth, what string, list func() []T, at func(T) place, page func([]T) error) error {
	for after := (place{}); ; {
		if err := s.begin(what); err != nil {
			s.mu.Unlock()
			return err
		}
		found := list()
		s.mu.Unlock()
		found = slices.DeleteFunc(found, func(v T) bool { return at(v).compare(after) <= 0 })
		if len(found) == 0 {
			return nil
		}
		slices.SortFunc(found, func(a, b T) int { return at(a).compare(at(b)) })
		found = found[:min(s.pageSize, len(found))]
		if err := page(found); err != nil {
			return err
		}
		after = at(found[len(found)-1])
	}
}

func (s *truth) ScanItems(_ context.Context, p project.ID, n int, page func([]project.Item) error) error {
	return pages(s, "ScanItems", func() []project.Item {
		return slices.DeleteFunc(indexed("items", s.lag.show, s.lag.items, s.items, n, func(a, b project.Item) bool { return a.Version == b.Version }), func(i project.Item) bool { return i.Project != p })
	}, func(i project.Item) place { return place{i.UpdatedAt, i.ID} }, page)
}

func (s *truth) ScanEfforts(_ context.Context, p project.ID, n int, page func([]project.Effort) error) error {
	return pages(s, "ScanEfforts", func() []project.Effort {
		return slices.DeleteFunc(indexed("efforts", s.lag.show, s.lag.efforts, s.efforts, n, func(a, b project.Effort) bool { return a.UpdatedAt.Equal(b.UpdatedAt) }), func(e project.Effort) bool { return e.Project != p })
	}, func(e project.Effort) place { return place{e.UpdatedAt, e.ID} }, page)
}

func (s *truth) ItemWithEfforts(_ context.Context, id project.ItemID) (project.Item, []project.Effort, error) {
	err := s.begin("ItemWithEfforts")
	defer s.mu.Unlock()
	if err != nil {
		return project.Item{}, nil, err
	}
	i, ok := s.items[id.ID]
	if !ok {
		return i, nil, missing
	}
	var efforts []project.Effort
	if i.Status == project.Purged {
		return i, nil, nil
	}
	for effort := range s.efforts {
		if s.efforts[effort].Item == id.ID {
			efforts = append(efforts, s.efforts[effort])
		}
	}
	slices.SortFunc(efforts, func(a, b project.Effort) int { return a.FinishedAt.Compare(b.FinishedAt) })
	return i, efforts, nil
}

func (s *truth) ItemsWithEfforts(ctx context.Context, ids []project.ItemID) ([]project.Item, [][]project.Effort, []error) {
	items, efforts, errs := make([]project.Item, len(ids)), make([][]project.Effort, len(ids)), make([]error, len(ids))
	for n, id := range ids {
		items[n], efforts[n], errs[n] = s.ItemWithEfforts(ctx, id)
	}
	return items, efforts, errs
}

func (s *truth) CountItems(_ context.Context, p project.ID) (int, error) {
	err := s.begin("CountItems")
	defer s.mu.Unlock()
	n := 0
	for id := range s.items {
		if s.items[id].Project == p {
			n++
		}
	}
	return n, err
}

func (s *truth) ListAllProjects(_ context.Context, after project.ID, limit int) ([]project.ID, error) {
	err := s.begin("ListAllProjects")
	defer s.mu.Unlock()
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(s.projects)), func(id project.ID) bool { return id <= after })
	return ids[:min(limit, len(ids))], err
}

func (s *truth) Marks(_ context.Context, ids []project.ID) ([]labelling.Mark, error) {
	err := s.begin("Marks")
	defer s.mu.Unlock()
	marks := make([]labelling.Mark, len(ids))
	for i, p := range ids {
		marks[i] = s.marks[p]
	}
	return marks, err
}

func (s *truth) PutMark(_ context.Context, p project.ID, before, after labelling.Mark) error {
	err := s.begin("PutMark")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if current := s.marks[p]; current.Cursor != before.Cursor {
		return &labelling.MarkMoved{Current: current}
	}
	s.marks[p] = after
	return s.end("PutMark")
}
