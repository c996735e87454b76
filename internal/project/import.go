package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

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

// ImportStore is what an [Importer] needs of a [Store].
type ImportStore interface {
	ImportsByID(ctx context.Context, ids []TransferID) ([]Import, []error)
	PutImport(ctx context.Context, before *Import, after Import, follow []task.Task, once idempotency.Key) error
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

// Importer reads the files of imports. Its Run is the [task.Handler] of [RunImport].
//
// What is counted is exact whatever happens: the stored progress is that of the lines from the start up to a place before
// which every item is stored. After a crash reading goes on there, and lines that were stored beyond it count again as they
// did, because their items carry the import and the line that brought them.
type Importer struct {
	Store ImportStore
	Files Files
	Now   func() time.Time
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
		im.remove(ctx, stored.TransferID)
		return time.Time{}, nil
	case end:
		return im.end(ctx, stored)
	case stored.State == Awaiting:
		return time.Time{}, nil
	}
	r := &importRun{Importer: im, stored: stored, tries: t.Tries, done: stored.Progress, results: make(chan *chunk, chunkWorkers), inFlight: map[string]struct{}{}}
	err = r.run(ctx)
	if failure := failureOf(ctx, t, err); failure != "" {
		err = r.save(ctx, Failed, failure)
	}
	if err == nil || errors.Is(err, errOver) {
		im.remove(ctx, stored.TransferID)
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("run import %s of project %s: %w", stored.ID, stored.Project, err)
	}
	return time.Time{}, nil
}

// end fails an import that nobody started while its file could be uploaded.
func (im Importer) end(ctx context.Context, i Import) (time.Time, error) {
	switch until := i.CreatedAt.Add(UploadTime); {
	case i.State != Awaiting: // whoever runs it ends it
		return time.Time{}, nil
	case im.Now().Before(until):
		return until, nil
	}
	if err := im.Store.PutImport(ctx, &i, i.end(Failed, "nothing was uploaded in time", im.Now()), nil, idempotency.Key{}); err != nil {
		return time.Time{}, fmt.Errorf("end import %s of project %s: %w", i.ID, i.Project, err)
	}
	im.remove(ctx, i.TransferID)
	return time.Time{}, nil
}

// remove removes the file of an import that is over. What it cannot remove, or comes later, the rules of the bucket do.
func (im Importer) remove(ctx context.Context, id TransferID) {
	_ = im.Files.Delete(ctx, ImportKey(id))
}

// failureOf returns the sentence with which an import or export has failed for good, "" when it has not.
func failureOf(ctx context.Context, t task.Task, err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, errors.Is(err, errOver), ctx.Err() != nil:
		return ""
	case ok && (f.Kind == fault.Invalid || f.Kind == fault.NotFound):
		return f.Message
	case ok && f.Kind == fault.Unavailable, t.Tries < triesOfFaults:
		return ""
	case ok && f.Kind == fault.Exhausted:
		return f.Message
	}
	return "something went wrong on our side"
}

func (im Importer) get(ctx context.Context, id TransferID) (Import, error) {
	found, errs := im.Store.ImportsByID(ctx, []TransferID{id})
	if len(errs) > 0 && errs[0] != nil {
		return Import{}, errs[0]
	}
	return found[0], nil
}

// errOver says that somebody ended the import or export meanwhile.
var errOver = errors.New("it was ended by somebody else")

// importRun is one run of an import. One goroutine owns it; only chunks are handed to others.
type importRun struct {
	Importer
	stored  Import   // as it is in the store
	tries   int      // how often it was tried before
	done    Progress // of all chunks up to the first that is not stored yet
	savedAt time.Time

	filling  *chunk
	waiting  []*chunk // in the order of the file; the first is not stored yet
	running  int
	results  chan *chunk
	inFlight map[string]struct{} // the external ids of chunks that are not stored yet
}

// chunk is a piece of the file.
type chunk struct {
	items  []Item
	refuse int      // of them, how many the store refused
	counts Progress // of this piece, without its items; Read and Lines are where it ends
	bytes  int64
	lines  int
	stored bool
	err    error
}

func (r *importRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { // a chunk that is under way must not outlive the run
		cancel()
		for ; r.running > 0; r.running-- {
			<-r.results
		}
	}()
	if err := r.save(ctx, Running, ""); err != nil {
		return err
	}
	start := position{Bytes: r.stored.Read, Lines: r.stored.Lines}
	file, closeFile, err := openRecords(r.stored.Format, start, func(offset int64) (io.ReadCloser, error) {
		return r.Files.Open(ctx, ImportKey(r.stored.TransferID), offset)
	})
	if err != nil {
		return err
	}
	defer closeFile()
	bad := r.read(ctx, file)
	if bad != nil && !fault.Is(bad, fault.Invalid) {
		return bad
	}
	// What came before a fault of the file is imported.
	if err := r.dispatch(ctx); err != nil {
		return err
	}
	for len(r.waiting) > 0 {
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	if bad != nil {
		return bad
	}
	return r.save(ctx, Done, "")
}

// read hands on what the file says until its end.
func (r *importRun) read(ctx context.Context, file records) error {
	r.filling = &chunk{}
	end := position{Bytes: r.stored.Read, Lines: r.stored.Lines}
	for {
		line, err := file.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line.Line > MaxImportLines {
			return fault.New(fault.Invalid, "the file has more than %d lines; those were imported", MaxImportLines)
		}
		c := r.filling
		r.add(c, line)
		c.bytes += line.End.Bytes - end.Bytes
		c.lines += line.End.Lines - end.Lines
		end = line.End
		c.counts.Read, c.counts.Lines = end.Bytes, end.Lines
		if len(c.items) == chunkItems || c.bytes >= chunkBytes || c.lines >= progressLines {
			if err := r.dispatch(ctx); err != nil {
				return err
			}
		}
	}
}

// add counts a record, and keeps its item.
func (r *importRun) add(c *chunk, line record) {
	mistake := line.Mistake
	var item Item
	if mistake == "" {
		var err error
		if item, err = r.stored.Item(line.Imported, r.Now()); err != nil {
			mistake = mistakeOf(err)
		}
	}
	if mistake != "" {
		c.counts.Mistakes++
		if len(c.counts.Faults) < MaxImportFaults {
			c.counts.Faults = append(c.counts.Faults, LineFault{Line: line.Line, Message: mistake})
		}
		return
	}
	// The store tells a line from an earlier one of the same external id, but only when the earlier one is stored.
	if _, again := r.inFlight[item.ExternalID]; again {
		c.counts.Duplicates++
		return
	}
	r.inFlight[item.ExternalID] = struct{}{}
	c.items = append(c.items, item)
}

// mistakeOf says about a line what is wrong with its item.
func mistakeOf(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return "cannot be imported"
	case f.Field == "":
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// dispatch has the chunk stored that was being filled, and begins another one.
func (r *importRun) dispatch(ctx context.Context) error {
	c := r.filling
	r.filling = &chunk{}
	if c == nil || c.lines == 0 {
		return nil
	}
	for r.running == chunkWorkers || len(r.waiting) == chunksAhead {
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	r.waiting = append(r.waiting, c)
	if len(c.items) == 0 {
		c.stored = true
		return r.settle(ctx)
	}
	r.running++
	go func() {
		defer func() {
			if p := recover(); p != nil { // it would end the process
				c.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			r.results <- c
		}()
		created, _, err := r.Store.ImportItems(ctx, c.items)
		c.counts.Imported, c.err = created, err
		if refusal(err) {
			r.oneByOne(ctx, c)
		}
	}()
	return nil
}

// refusal reports whether the store refused items for what they are: waiting would not mend that.
func refusal(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && (f.Kind == fault.Invalid || f.Kind == fault.Exhausted || f.Kind == fault.Internal)
}

// oneByOne stores the items of a chunk that was refused, each on its own, and reports the lines that are to blame. Where all of
// them are refused for a reason that nobody knows, it may be the store that is not right, not the lines: then the run is tried
// again first.
func (r *importRun) oneByOne(ctx context.Context, c *chunk) {
	c.counts.Imported, c.err = 0, nil
	known := false // that the store takes items, or what is wrong with one
	var refused error
	for _, item := range c.items {
		created, _, err := r.Store.ImportItems(ctx, []Item{item})
		switch {
		case err == nil:
			c.counts.Imported += created
			known = true
		case refusal(err):
			refused, known = err, known || fault.Is(err, fault.Invalid)
			c.refuse++
			message := "cannot be imported"
			if !fault.Is(err, fault.Internal) {
				message = mistakeOf(err)
			}
			c.counts.Faults = append(c.counts.Faults, LineFault{Line: item.Line, Message: message})
		default:
			c.err = err
			return
		}
	}
	if c.refuse > 0 && !known && r.tries < triesOfFaults {
		c.err = refused
		return
	}
	c.counts.Mistakes += c.refuse
	slices.SortFunc(c.counts.Faults, func(a, b LineFault) int { return a.Line - b.Line })
}

// wait takes the next chunk that was stored.
func (r *importRun) wait(ctx context.Context) error {
	if r.running == 0 {
		return r.settle(ctx)
	}
	c := <-r.results // comes also when the context has ended
	r.running--
	if fault.Is(c.err, fault.NotFound) {
		return r.lost(ctx, c.err)
	}
	if c.err != nil {
		return c.err
	}
	c.counts.Duplicates += len(c.items) - c.counts.Imported - c.refuse
	for _, item := range c.items {
		delete(r.inFlight, item.ExternalID)
	}
	c.items, c.stored = nil, true
	return r.settle(ctx)
}

// settle counts the chunks up to the first that is not stored, and stores the progress from time to time.
func (r *importRun) settle(ctx context.Context) error {
	for len(r.waiting) > 0 && r.waiting[0].stored {
		c := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.done.Read, r.done.Lines = c.counts.Read, c.counts.Lines
		r.done.Imported += c.counts.Imported
		r.done.Duplicates += c.counts.Duplicates
		r.done.Mistakes += c.counts.Mistakes
		room := max(0, MaxImportFaults-len(r.done.Faults))
		// A new slice: the stored import keeps the one before.
		r.done.Faults = append(r.done.Faults[:len(r.done.Faults):len(r.done.Faults)], c.counts.Faults[:min(room, len(c.counts.Faults))]...)
	}
	lines := r.done.Lines - r.stored.Lines
	if lines < progressLines && (lines == 0 || r.Now().Sub(r.savedAt) < progressEvery) {
		return nil
	}
	return r.save(ctx, Running, "")
}

// save stores the progress and the state.
func (r *importRun) save(ctx context.Context, state TransferState, message string) error {
	before := r.stored
	after, _ := before.Advance(r.done) // it is on its way, and never goes back
	switch state {
	case Done:
		after, _ = after.Finish(r.Now())
	case Failed:
		after, _ = after.Fail(message, r.Now())
	}
	after.Version = before.Version + 1 // one step, whatever it consists of
	if err := r.Store.PutImport(ctx, &before, after, nil, idempotency.Key{}); err != nil {
		return r.lost(ctx, err)
	}
	r.stored, r.savedAt = after, r.Now()
	return nil
}

// lost says why the import could not be changed: errOver when somebody ended it.
func (r *importRun) lost(ctx context.Context, because error) error {
	current, err := r.get(ctx, r.stored.TransferID)
	if fault.Is(err, fault.NotFound) || err == nil && current.State.Ended() {
		return errOver
	}
	// Another server has it, or the store did what it could not answer: either way the next run goes on from what is stored. A
	// NotFound must not look like a file that does not exist.
	return fault.Wrap(fault.Unavailable, because, "the import could not be stored")
}
