package project

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// MaxImportItems is how many items of a user can be named in one import; a library or a score may have more.
const MaxImportItems = 500

// ImportItems is the input of [Service.ImportItems]: one of Items, Library and Score.
type ImportItems struct {
	Project        ID
	Items          []OriginalID
	Library        bool
	Score          *OriginalID // whose ID is not used
	IdempotencyKey *string     `json:"-"`
}

// source returns where the import has its items from.
func (in ImportItems) source() (Source, error) {
	var given []Source
	if in.Items != nil {
		given = append(given, FromItems)
	}
	if in.Library {
		given = append(given, FromLibrary)
	}
	if in.Score != nil {
		given = append(given, FromScore)
	}
	switch {
	case len(given) != 1:
		return "", fault.Invalidf("input.itemIds", "give one of itemIds, library and scoreId")
	case given[0] == FromItems && (len(in.Items) == 0 || len(in.Items) > MaxImportItems):
		return "", fault.Invalidf("input.itemIds", "name 1 to %d items", MaxImportItems)
	}
	return given[0], nil
}

// ImportItems queues an import of items of the viewer, for managers. It returns *[UnknownOriginal] as an expected outcome; NotFound
// when the score is not the viewer's, Exhausted when [MaxTransfers] imports of the project are under way.
func (s *Service) ImportItems(ctx context.Context, in ImportItems) (Import, error) {
	source, err := in.source()
	if err != nil {
		return Import{}, err
	}
	return once(ctx, s, "importItems", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Import, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Import{}, err
		}
		i := Import{
			TransferID: TransferID{Project: p.ID, ID: s.o.NewID()}, Source: source, Items: in.Items, Format: JSONLines, State: Queued,
			CreatedBy: p.Member.User, CreatedAt: domain.Later(s.o.Now, time.Time{}), Version: 1,
		}
		if in.Score != nil {
			i.Score = in.Score.Score
		}
		if err := s.mayTake(ctx, in); err != nil {
			return Import{}, err
		}
		return i, s.o.Store.PutImport(ctx, p.Member.User, nil, i, []task.Task{i.task(RunImport, i.CreatedAt)}, key.With(i.ID))
	}, func(ctx context.Context, result []string) (Import, error) {
		return domain.Gone(s.imported(ctx, TransferID{Project: in.Project, ID: result[0]}))
	})
}

// mayTake returns nil when what is named exists and is the viewer's. Items can be deleted until they are imported.
func (s *Service) mayTake(ctx context.Context, in ImportItems) error {
	switch {
	case s.o.Originals == nil:
		return fault.New(fault.Unavailable, "items cannot be imported now")
	case in.Score != nil:
		return s.o.Originals.OwnScore(ctx, in.Score.Owner, in.Score.Score)
	case in.Items == nil:
		return nil
	}
	_, errs := s.o.Originals.OriginalsByID(ctx, in.Items)
	for n, err := range errs {
		switch {
		case fault.Is(err, fault.NotFound):
			return &UnknownOriginal{ID: in.Items[n]}
		case err != nil:
			return err
		}
	}
	return nil
}
