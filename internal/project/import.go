package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// Files keeps the files of imports and exports.
type Files interface {
	// Open reads a file from the offset on. NotFound when it does not exist.
	Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Upload keeps what write writes, and returns how many bytes that is. There is no such file, or the one from before, until
	// write has returned nil.
	Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (int64, error)
	// Delete removes a file, if there.
	Delete(ctx context.Context, key string) error
}

// ImportKey says where the file of an import is kept.
func ImportKey(id TransferID) string { return "imports/" + string(id.Project) + "/" + id.ID }

// FilesOf are the prefixes of the keys under which the files of the imports and exports of a project are kept.
func FilesOf(id ID) []string {
	return []string{ImportKey(TransferID{Project: id}), ExportKey(TransferID{Project: id})}
}

// fileKey says where the file is kept that the import reads. Each run that lists items has a file of its own: another run, which was
// taken for lost, may still be reading one.
func (i Import) fileKey() string {
	if !i.Source.originals() {
		return ImportKey(i.TransferID)
	}
	return ImportKey(i.TransferID) + "." + strconv.Itoa(i.Listed)
}

// format returns the form of the file that the import reads.
func (i Import) format() Format {
	if i.Source.originals() {
		return listOfOriginals
	}
	return i.Format
}

// ImportStore is what an [Importer] needs of a [Store].
type ImportStore interface {
	ImportsByID(ctx context.Context, ids []TransferID) ([]Import, []error)
	PutImport(ctx context.Context, by UserID, before *Import, after Import, follow []task.Task, once idempotency.Key) error
	ImportItems(ctx context.Context, items []Item) (created int, there []Item, err error)
}

// How an import is cut up, and how often its progress is stored.
const (
	chunkItems    = 50          // of one call of ImportItems, which writes as many at once
	chunkBytes    = 1 << 20     // of the file; bounds memory when lines are long
	chunkWorkers  = 8           // chunks that are stored at the same time
	chunksAhead   = 32          // chunks behind the first one that is not stored yet
	progressLines = 2_000       // after so many lines progress is stored,
	progressEvery = time.Second // or after this
	triesOfFaults = 8           // after so many tries that failed for a reason which waiting does not mend, an import or export has failed
)

// Counting hears how many items imports bring, so that whoever counts the items of a project has them in time.
type Counting interface {
	// Imported tells how many items an import has brought by now, all of them together, and all of them stored. It may be told
	// again, and a smaller number after a larger one. Any error is that they may not be counted.
	Imported(ctx context.Context, i Import, items int) error
	// Recount has all items of a project counted anew, after an import ended of which nobody knows how many it brought. Any error
	// is that they may not be.
	Recount(ctx context.Context, p ID) error
}

// Importer reads the files of imports, and lists items of users in such. Its Run is the [task.Handler] of [RunImport].
//
// What is counted is exact whatever happens: the stored progress is that of the lines from the start up to a place before
// which every item is stored. After a crash reading goes on there, and lines that were stored beyond it count again as they
// did, because their items carry the import and the line that brought them.
//
// Nor is an import over before Count has heard of all its items: a run that cannot tell them comes again, however often. When an
// import is cancelled between two runs, what was stored beyond the progress is known to nobody, and everything is counted anew.
type Importer struct {
	Store ImportStore
	Files Files
	Now   func() time.Time
	Count Counting // nil: nobody counts
	// Removed has items go that were removed and are imported again, which cannot be brought back from then on; nil: these are there already.
	Removed interface {
		PurgeRemoved(ctx context.Context, ids []ItemID) error
	}
	// Originals finds items of users; nil where none are imported.
	Originals Originals
}

// endOf distinguishes the task that ends an import that nobody started, and removes its file, from the one that runs it.
const endOf = "-end"

// Run reads the file of the import from where its progress ends, and creates the items. Of an import that is over it removes
// the file; it does nothing for one that does not exist.
func (im Importer) Run(ctx context.Context, t task.Task) (time.Time, error) {
	var end bool
	t.ID, end = strings.CutSuffix(t.ID, endOf)
	stored, err := im.get(ctx, TransferOf(t))
	if fault.Is(err, fault.NotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("run an import: %w", err)
	}
	switch {
	case stored.State.Ended():
		// Who fails an import, or is done, has told before what it brought. Before the first try there was nothing.
		if stored.State == Cancelled && !end && t.Tries > 0 && im.Count != nil {
			if err := im.Count.Recount(ctx, stored.Project); err != nil {
				return time.Time{}, fmt.Errorf("run a cancelled import: %w", uncounted(err))
			}
		}
		im.remove(ctx, stored)
		if last := stored.arrived(); end && im.Now().Before(last) {
			return last, nil
		}
		return time.Time{}, nil
	case end:
		return im.end(ctx, stored)
	case stored.State == Awaiting:
		return time.Time{}, nil
	}
	run := newImportRun(im, stored, t.Tries)
	if err := run.toItsEnd(ctx, t); err != nil {
		return time.Time{}, fmt.Errorf("run import %s of project %s: %w", stored.ID, stored.Project, err)
	}
	im.remove(ctx, run.stored)
	return time.Time{}, nil
}

// end fails an import that nobody started while its file could be uploaded.
func (im Importer) end(ctx context.Context, i Import) (time.Time, error) {
	switch until := i.CreatedAt.Add(UploadTime); {
	case i.State != Awaiting: // whoever runs it ends it, and this removes what is left then
		if last := i.arrived(); im.Now().Before(last) {
			return last, nil
		}
		return time.Time{}, nil
	case im.Now().Before(until):
		return until, nil
	}
	if err := im.Store.PutImport(ctx, "", &i, i.end(Failed, "nothing was uploaded in time", im.Now()), nil, idempotency.Key{}); err != nil {
		return time.Time{}, fmt.Errorf("end import %s of project %s: %w", i.ID, i.Project, err)
	}
	im.remove(ctx, i)
	return i.arrived(), nil
}

// arrived returns when nothing can be put at the key of the import any more, or be under way there.
func (i Import) arrived() time.Time { return i.CreatedAt.Add(2 * UploadTime) }

// remove removes the file of an import that is over. For as long as what was signed may still put one, an empty file takes its
// place, which refuses it: otherwise any number of bytes could be put. What it cannot remove the rules of the bucket do.
func (im Importer) remove(ctx context.Context, i Import) {
	if !i.Source.originals() && im.Now().Before(i.arrived()) {
		_, _ = im.Files.Upload(ctx, i.fileKey(), i.Format.ContentType(), func(io.Writer) error { return nil })
		return
	}
	_ = im.Files.Delete(ctx, i.fileKey())
}

// failureOf returns the sentence with which an import or export has failed for good, "" when it has not.
func failureOf(ctx context.Context, t task.Task, err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, errors.Is(err, errOver), ctx.Err() != nil:
		return ""
	case ok && (f.Kind == fault.Invalid || f.Kind == fault.NotFound):
		return f.Message
	case ok && (f.Kind == fault.Unavailable || f.Kind == fault.Outdated), t.Tries < triesOfFaults: // a newer server can go on
		return ""
	case ok && f.Kind == fault.Exhausted:
		return f.Message
	}
	return "something went wrong on our side"
}

func (im Importer) get(ctx context.Context, id TransferID) (Import, error) {
	return domain.First(im.Store.ImportsByID(ctx, []TransferID{id}))
}

// errOver says that somebody ended the import or export meanwhile.
var errOver = errors.New("it was ended by somebody else")
