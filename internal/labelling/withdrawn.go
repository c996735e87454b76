package labelling

import (
	"context"
	"errors"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// FileWithdrawn tells the subscribers of a project that a user withdrew the file of an item, once however often it is called. Who follows a project that is
// rebuilt reads everything anew. Cost: 1 BatchGetItem and 1 script.
func (s *Service) FileWithdrawn(ctx context.Context, id project.ItemID, by UserID) error {
	items, _, errs := s.Truth.ItemsByID(ctx, "", []project.ItemID{id})
	item, err := domain.First(items, errs)
	if fault.Is(err, fault.NotFound) || err == nil && item.Status.Hidden() {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.Coordinator.Note(ctx, id.Project, derived("withdrawn", string(id.Project), id.ID), Event{Cause: Withdrawn, Item: id.ID, User: by, Status: item.Status})
	if err = s.ready(id.Project, err); errors.Is(err, ErrNotReady) {
		return nil
	}
	return err
}
