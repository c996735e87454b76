package labelling_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

func (s *truth) RemovalsByID(_ context.Context, ids []project.TransferID) ([]project.Removal, []error) {
	err := s.begin("RemovalsByID")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Removal](len(ids), err)
	}
	return byID(ids, func(id project.TransferID) (project.Removal, bool) { r, ok := s.removals[id.ID]; return r, ok })
}

func (s *truth) ImportsByID(_ context.Context, ids []project.TransferID) ([]project.Import, []error) {
	err := s.begin("ImportsByID")
	defer s.mu.Unlock()
	if err != nil {
		return all[project.Import](len(ids), err)
	}
	return byID(ids, func(id project.TransferID) (project.Import, bool) { i, ok := s.imports[id.ID]; return i, ok })
}

func (s *truth) PutRemoval(_ context.Context, _ project.UserID, before *project.Removal, after project.Removal, _ []task.Task, _ idempotency.Key) error {
	err := s.begin("PutRemoval")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if was, there := s.removals[after.ID]; there != (before != nil) || there && was.Version != before.Version {
		return &project.TransferConflict{}
	}
	s.removals[after.ID] = after
	return s.end("PutRemoval")
}

func (s *truth) removedBy(id project.TransferID) []project.ItemID {
	var ids []project.ItemID
	for _, i := range s.items {
		if i.Removal == id.ID {
			ids = append(ids, i.ItemID)
		}
	}
	slices.SortFunc(ids, func(a, b project.ItemID) int { return strings.Compare(a.ID, b.ID) })
	return ids
}

func (s *truth) ListRemoved(_ context.Context, id project.TransferID, after string, limit int) ([]project.ItemID, error) {
	err := s.begin("ListRemoved")
	defer s.mu.Unlock()
	ids := slices.DeleteFunc(s.removedBy(id), func(id project.ItemID) bool { return id.ID <= after })
	return ids[:min(limit, len(ids))], err
}

func (s *truth) CountRemoved(_ context.Context, id project.TransferID) (int, error) {
	err := s.begin("CountRemoved")
	defer s.mu.Unlock()
	return len(s.removedBy(id)), err
}

func (s *truth) ForgetRemoved(context.Context, project.TransferID, project.ItemID) error {
	err := s.begin("ForgetRemoved")
	defer s.mu.Unlock()
	return err
}

func (s *truth) PurgeItem(_ context.Context, i project.Item, efforts []project.Effort) error {
	err := s.begin("PurgeItem")
	defer s.mu.Unlock()
	current := s.items[i.ID]
	if err != nil || !i.Status.Hidden() || current.ID == "" {
		return err
	}
	if current.Status != project.Purged || current.Removal != i.Removal {
		if current.Version != i.Version {
			return &project.ItemConflict{Current: current}
		}
		for _, e := range s.efforts {
			if e.Item == i.ID && !slices.ContainsFunc(efforts, func(known project.Effort) bool { return known.ID == e.ID }) {
				return fmt.Errorf("effort %s is not known", e.ID)
			}
		}
	}
	delete(s.items, i.ID)
	for id, e := range s.efforts {
		if e.Item == i.ID {
			delete(s.efforts, id)
		}
	}
	return s.end("PurgeItem")
}
