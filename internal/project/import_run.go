package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// importRun is one run of an import. One goroutine owns it; only chunks are handed to others.
type importRun struct {
	Importer
	stored  Import   // as it is in the store
	tries   int      // how often it was tried before
	done    Progress // of all chunks up to the first that is not stored yet
	savedAt time.Time

	created int           // items that the import is known to have brought, those beyond the progress included
	unsure  bool          // a chunk came to an end that does not tell how many it brought
	whole   bool          // everything that can be read is stored
	told    int           // of them, what Count was told last
	over    TransferState // in which somebody else ended the import

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

func newImportRun(im Importer, stored Import, tries int) *importRun {
	return &importRun{
		Importer: im, stored: stored, tries: tries, done: stored.Progress, created: stored.Imported,
		results: make(chan *chunk, chunkWorkers), inFlight: map[string]struct{}{},
	}
}

// toItsEnd runs the import until it is over. An error is that it is not, or that it is and was not counted.
func (r *importRun) toItsEnd(ctx context.Context, t task.Task) error {
	err := r.run(ctx)
	if failure := failureOf(ctx, t, err); failure != "" {
		if err = r.account(ctx); err == nil {
			err = r.save(ctx, Failed, failure)
		}
	}
	switch {
	case !errors.Is(err, errOver):
		return err
	case r.over == Cancelled || r.over == Failed: // by somebody who did not know of the chunks that were under way here
		return r.account(ctx)
	}
	return nil
}

// account tells at the end of an import how many items it brought. The first run of an import knows, if all its chunks do, and so
// does one that stored everything; of another one the runs before may have stored more than they could tell.
func (r *importRun) account(ctx context.Context) error {
	switch {
	case r.Count == nil:
		return nil
	case r.whole || r.tries == 0 && !r.unsure:
		r.told = 0 // again: whoever counts may have begun anew since
		return r.tell(ctx)
	}
	return uncounted(r.Count.Recount(ctx, r.stored.Project))
}

// tell tells how many items the import brought so far.
func (r *importRun) tell(ctx context.Context) error {
	if r.Count == nil || r.created == r.told {
		return nil
	}
	if err := r.Count.Imported(ctx, r.stored, r.created); err != nil {
		return uncounted(err)
	}
	r.told = r.created
	return nil
}

// uncounted is an error that no number of tries makes a failure of the import.
func uncounted(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "the items that were imported could not be counted")
}

func (r *importRun) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { // a chunk that is under way must not outlive the run
		if !errors.Is(err, errOver) { // of an import that was cancelled it counts
			cancel()
		}
		for ; r.running > 0; r.running-- {
			r.took(<-r.results)
		}
		cancel()
	}()
	if err := r.save(ctx, Running, ""); err != nil {
		return err
	}
	if r.stored.Source.originals() && r.stored.Listed == 0 {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	if r.stored.Listed > 0 && r.stored.Bytes == 0 { // there are no items
		r.whole = true
		return r.finish(ctx)
	}
	if r.stored.Bytes > 0 && r.stored.Read >= r.stored.Bytes { // the run before could not tell what it brought
		r.whole = true
		return r.finish(ctx)
	}
	start := position{Bytes: r.stored.Read, Lines: r.stored.Lines}
	file, closeFile, err := openRecords(r.stored.format(), start, func(offset int64) (io.ReadCloser, error) {
		return r.Files.Open(ctx, r.stored.fileKey(), offset)
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
	r.whole = true
	if bad != nil {
		return bad
	}
	return r.finish(ctx)
}

// finish ends an import of which everything is stored.
func (r *importRun) finish(ctx context.Context) error {
	if err := r.account(ctx); err != nil {
		if r.done.Lines > r.stored.Lines { // the next run has nothing left but this
			if err := r.save(ctx, Running, ""); err != nil {
				return err
			}
		}
		return err
	}
	return r.save(ctx, Done, "")
}

// took notes what became of a chunk.
func (r *importRun) took(c *chunk) {
	if c.err != nil {
		r.unsure = true
		return
	}
	r.created += c.counts.Imported
}

// read hands on what the file says until its end.
func (r *importRun) read(ctx context.Context, file records) error {
	r.filling = &chunk{}
	end := position{Bytes: r.stored.Read, Lines: r.stored.Lines}
	reached := func(place position) {
		c := r.filling
		c.bytes += place.Bytes - end.Bytes
		c.lines += place.Lines - end.Lines
		end = place
		c.counts.Read, c.counts.Lines = end.Bytes, end.Lines
	}
	for {
		line, err := file.next()
		if errors.Is(err, io.EOF) {
			reached(file.at()) // behind lines that hold no item
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
		reached(line.End)
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
	if c == nil || c.bytes == 0 {
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
		created, err := r.create(ctx, c.items)
		c.counts.Imported, c.err = created, err
		if refusal(err) {
			r.oneByOne(ctx, c)
		}
	}()
	return nil
}

// create creates those items that are not there, and returns how many it created. Those that were removed go first, and are created anew; but not
// those of an import that is under way.
func (r *importRun) create(ctx context.Context, items []Item) (int, error) {
	created, there, err := r.Store.ImportItems(ctx, items)
	if err != nil || r.Removed == nil {
		return created, err
	}
	var ids []ItemID
	for _, item := range there {
		if item.Status.Hidden() {
			ids = append(ids, item.ItemID)
		}
	}
	if len(ids) == 0 {
		return created, nil
	}
	if err := r.Removed.PurgeRemoved(ctx, ids); err != nil {
		return created, err
	}
	more, _, err := r.Store.ImportItems(ctx, slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return !slices.Contains(ids, i.ItemID) }))
	return created + more, err
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
		created, err := r.create(ctx, []Item{item})
		switch {
		case err == nil:
			c.counts.Imported += created
			known = true
		case refusal(err):
			refused, known = err, known || !fault.Is(err, fault.Internal)
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
	r.took(c)
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
	if err := r.save(ctx, Running, ""); err != nil {
		return err
	}
	_ = r.tell(ctx) // what fails now is told with the next progress, or in the end
	return nil
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
	if err := r.Store.PutImport(ctx, "", &before, after, nil, idempotency.Key{}); err != nil {
		return r.lost(ctx, err)
	}
	r.stored, r.savedAt = after, r.Now()
	return nil
}

// lost says why the import could not be changed: errOver when somebody ended it.
func (r *importRun) lost(ctx context.Context, because error) error {
	current, err := r.get(ctx, r.stored.TransferID)
	if fault.Is(err, fault.NotFound) || err == nil && current.State.Ended() {
		r.over = current.State
		return errOver
	}
	// Another server has it, or the store did what it could not answer: either way the next run goes on from what is stored. A
	// NotFound must not look like a file that does not exist.
	return fault.Wrap(fault.Unavailable, because, "the import could not be stored")
}
