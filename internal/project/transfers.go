package project

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// ListImports lists the imports of a project that the viewer was shown. NotFound for others, Forbidden for who is no manager.
func (s *Service) ListImports(ctx context.Context, r TransfersRequest) (page.Slice[Import], error) {
	if err := allow(r.as, Manager, "project"); err != nil {
		return page.Slice[Import]{}, err
	}
	return s.o.Store.ListImports(ctx, r.Project, r.Window)
}

// ListExports lists the exports of a project that the viewer was shown. NotFound for others, Forbidden for who is no manager.
func (s *Service) ListExports(ctx context.Context, r TransfersRequest) (page.Slice[Export], error) {
	if err := allow(r.as, Manager, "project"); err != nil {
		return page.Slice[Export]{}, err
	}
	return s.o.Store.ListExports(ctx, r.Project, r.Window)
}

// ImportsByID returns the import or the error of each id, in the order of ids. NotFound for who is no member of the project,
// Forbidden for who is no manager.
func (s *Service) ImportsByID(ctx context.Context, ids []TransferID) ([]Import, []error) {
	return byRef(ctx, s, bare(ids), Manager, "import", s.o.Store.ImportsByID, func(*Import, proof) {})
}

// ExportsByID returns the export or the error of each id, in the order of ids. NotFound for who is no member of the project,
// Forbidden for who is no manager.
func (s *Service) ExportsByID(ctx context.Context, ids []TransferID) ([]Export, []error) {
	return byRef(ctx, s, bare(ids), Manager, "export", s.o.Store.ExportsByID, func(*Export, proof) {})
}

func bare(ids []TransferID) []Ref[TransferID] {
	refs := make([]Ref[TransferID], len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return refs
}

// CreateImport is the input of [Service.CreateImport].
type CreateImport struct {
	Project        ID
	Format         Format
	Bytes          int64   // of the file
	IdempotencyKey *string `json:"-"`
}

// MaxTransfers bounds the imports, and the exports, of a project that are under way.
const MaxTransfers = 20

// TransfersEvery is after how long another one may be begun where [MaxTransfers] are under way.
const TransfersEvery = 5 * time.Second

// CreateImport prepares an import, for managers: it awaits its file at [ImportKey] for [UploadTime], and fails then. Exhausted
// when [MaxTransfers] imports of the project are under way, those that await their files included.
func (s *Service) CreateImport(ctx context.Context, in CreateImport) (Import, error) {
	if err := in.Format.check("input.format"); err != nil {
		return Import{}, err
	}
	if in.Bytes < 1 || in.Bytes > MaxImportBytes {
		return Import{}, fault.Invalidf("input.bytes", "a file has 1 to %d bytes", MaxImportBytes)
	}
	return once(ctx, s, "createProjectImport", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Import, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Import{}, err
		}
		i := Import{
			TransferID: TransferID{Project: p.ID, ID: s.o.NewID()}, Source: FromFile, Format: in.Format, Bytes: in.Bytes, State: Awaiting,
			CreatedBy: p.Member.User, CreatedAt: domain.Later(s.o.Now, time.Time{}), Version: 1,
		}
		end := i.task(RunImport, i.CreatedAt.Add(UploadTime))
		end.ID += endOf
		return i, s.o.Store.PutImport(ctx, p.Member.User, nil, i, []task.Task{end}, key.With(i.ID))
	}, func(ctx context.Context, result []string) (Import, error) {
		return domain.Gone(s.imported(ctx, TransferID{Project: in.Project, ID: result[0]}))
	})
}

// imported returns the import, for managers.
func (s *Service) imported(ctx context.Context, id TransferID) (Import, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Import{}, err
	}
	return domain.First(s.ImportsByID(ctx, []TransferID{id}))
}

// ChangeImport is the input of [Service.StartImport] and [Service.CancelImport].
type ChangeImport struct {
	Import         TransferID
	IdempotencyKey *string `json:"-"`
}

// ErrNotUploaded says that an import cannot be started because its file is not there.
var ErrNotUploaded = &fault.Error{Kind: fault.Conflict, Message: "the file was not uploaded yet"}

// StartImport queues an import whose file was uploaded, for managers; one that was started before is left as it is. Conflict
// when the file is not there ([ErrNotUploaded]) or not as long as it was said to be, or when the import failed or was
// cancelled.
func (s *Service) StartImport(ctx context.Context, in ChangeImport) (Import, error) {
	return s.changeImport(ctx, "startProjectImport", in, func(ctx context.Context, before Import) (Import, []task.Task, error) {
		after, ok := before.Start()
		switch {
		case !ok && (before.State == Failed || before.State == Cancelled):
			return Import{}, nil, fault.New(fault.Conflict, "the import has ended; create another one")
		case !ok:
			return before, nil, nil
		}
		return after, []task.Task{after.task(RunImport, domain.Later(s.o.Now, time.Time{}))}, s.checkUpload(ctx, before)
	})
}

// checkUpload returns nil when the announced file is there.
func (s *Service) checkUpload(ctx context.Context, i Import) error {
	if s.o.Uploads == nil {
		return fault.New(fault.Unavailable, "files cannot be uploaded now")
	}
	size, err := s.o.Uploads.Size(ctx, ImportKey(i.TransferID))
	switch {
	case fault.Is(err, fault.NotFound):
		return ErrNotUploaded
	case err != nil:
		return err
	case size != i.Bytes:
		return fault.New(fault.Conflict, "the file has %d bytes, and the import was created for one of %d", size, i.Bytes)
	}
	return nil
}

// CancelImport ends an import, for managers, also one that is running: what it imported stays. One that has ended is left as
// it is.
func (s *Service) CancelImport(ctx context.Context, in ChangeImport) (Import, error) {
	return s.changeImport(ctx, "cancelProjectImport", in, func(_ context.Context, before Import) (Import, []task.Task, error) {
		after, _ := before.Cancel(s.o.Now())
		if before.State != Awaiting {
			return after, nil, nil // whoever runs it removes the file
		}
		return after, []task.Task{after.task(RunImport, domain.Later(s.o.Now, time.Time{}))}, nil
	})
}

// changeImport lets change make the next state of an import, and stores it together with the tasks; when somebody else was
// faster it starts again. A state of the same version is not stored.
func (s *Service) changeImport(ctx context.Context, mutation string, in ChangeImport, change func(context.Context, Import) (Import, []task.Task, error)) (Import, error) {
	return once(ctx, s, mutation, in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Import, error) {
		return domain.Edit[*TransferConflict](retry.Until(ctx), "this import", func() (Import, error) { return s.imported(ctx, in.Import) }, func(before Import) (Import, error) {
			after, follow, err := change(ctx, before)
			if err != nil || after.Version == before.Version {
				return after, err
			}
			return after, s.o.Store.PutImport(ctx, viewer.From(ctx).UserID, &before, after, follow, key.With(after.ID))
		})
	}, func(ctx context.Context, _ []string) (Import, error) { return domain.Gone(s.imported(ctx, in.Import)) })
}

// CreateExport is the input of [Service.CreateExport].
type CreateExport struct {
	Project        ID
	Format         Format
	Status         Status  // of the items that are written; "" for all
	IdempotencyKey *string `json:"-"`
}

// CreateExport queues an export of the results, for managers. Exhausted when [MaxTransfers] exports of the project are under
// way.
func (s *Service) CreateExport(ctx context.Context, in CreateExport) (Export, error) {
	if err := in.Format.check("input.format"); err != nil {
		return Export{}, err
	}
	if in.Status != "" && !slices.Contains(Statuses, in.Status) {
		return Export{}, fault.Invalidf("input.status", "there is no such status")
	}
	return once(ctx, s, "createProjectExport", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Export, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Export{}, err
		}
		e := Export{
			TransferID: TransferID{Project: p.ID, ID: s.o.NewID()}, Format: in.Format, Status: in.Status, State: Queued,
			CreatedBy: p.Member.User, CreatedAt: domain.Later(s.o.Now, time.Time{}), Version: 1,
		}
		return e, s.o.Store.PutExport(ctx, nil, e, []task.Task{e.task(RunExport, e.CreatedAt)}, key.With(e.ID))
	}, func(ctx context.Context, result []string) (Export, error) {
		return domain.Gone(domain.First(s.ExportsByID(ctx, []TransferID{{Project: in.Project, ID: result[0]}})))
	})
}
