package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// ExportKey says where the file of an export is kept.
func ExportKey(id TransferID) string { return "exports/" + string(id.Project) + "/" + id.ID }

// ContentType returns the media type of files of the format.
func (f Format) ContentType() string {
	if f == CSV {
		return "text/csv; charset=utf-8"
	}
	return "application/jsonl; charset=utf-8"
}

// ExportStore is what an [Exporter] needs of a [Store].
type ExportStore interface {
	ExportsByID(ctx context.Context, ids []TransferID) ([]Export, []error)
	PutExport(ctx context.Context, before *Export, after Export, follow []task.Task, once idempotency.Key) error
	ListItems(ctx context.Context, id ID, status Status, w page.Window) (page.Slice[Item], error)
	EffortsByID(ctx context.Context, ids []EffortID) ([]Effort, []error)
	ListEffortsOfItems(ctx context.Context, requests []ItemEffortsRequest) ([]page.Slice[Effort], []error)
	ListLabels(ctx context.Context, ids []ID) ([][]Label, []error)
	ListTeams(ctx context.Context, ids []ID) ([][]Team, []error)
}

// Exporter writes results. Its Run is the [task.Handler] of [RunExport].
type Exporter struct {
	Store ExportStore
	Files Files
	Now   func() time.Time
	User  func(UserID) string // how a user is called in the file: by the id that clients know
	// Names returns the names of users, each at the place of its id, and "" for one that does not exist.
	Names func(ctx context.Context, ids []UserID) ([]string, error)
}

// Run writes the file of the export. After a crash it begins again: the file appears when it is complete. It does nothing for
// an export that is over, or does not exist.
func (ex Exporter) Run(ctx context.Context, t task.Task) (time.Time, error) {
	stored, err := ex.get(ctx, TransferOf(t))
	if fault.Is(err, fault.NotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("run an export: %w", err)
	}
	if stored.State.Ended() {
		return time.Time{}, nil
	}
	r := &exportRun{Exporter: ex, stored: stored}
	err = r.run(ctx)
	if failure := failureOf(ctx, t, err); failure != "" {
		err = r.save(ctx, func(e Export) (Export, bool) { return e.Fail(failure, ex.Now()) })
	}
	if err != nil && !errors.Is(err, errOver) {
		return time.Time{}, fmt.Errorf("run export %s of project %s: %w", stored.ID, stored.Project, err)
	}
	return time.Time{}, nil
}

func (ex Exporter) get(ctx context.Context, id TransferID) (Export, error) {
	found, errs := ex.Store.ExportsByID(ctx, []TransferID{id})
	if len(errs) > 0 && errs[0] != nil {
		return Export{}, errs[0]
	}
	return found[0], nil
}

// exportRun is one run of an export.
type exportRun struct {
	Exporter
	stored  Export // as it is in the store
	savedAt time.Time
}

func (r *exportRun) run(ctx context.Context) error {
	// Items of a run before this one were written into a file that nobody sees; progress never goes back, so it stays there
	// until this run is further.
	if err := r.advance(ctx, 0); err != nil {
		return err
	}
	items := 0
	size, err := r.Files.Upload(ctx, ExportKey(r.stored.TransferID), r.stored.Format.ContentType(), func(w io.Writer) error {
		var err error
		items, err = r.Write(ctx, w, r.stored.Project, r.stored.Format, r.stored.Status, func(items int) error {
			if r.Now().Sub(r.savedAt) < progressEvery {
				return nil
			}
			return r.advance(ctx, items)
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.save(ctx, func(e Export) (Export, bool) { return e.Finish(items, size, r.Now()) })
}

func (r *exportRun) advance(ctx context.Context, items int) error {
	return r.save(ctx, func(e Export) (Export, bool) { return e.Advance(max(items, e.Items)) })
}

// save stores the export as change makes it.
func (r *exportRun) save(ctx context.Context, change func(Export) (Export, bool)) error {
	before := r.stored
	after, ok := change(before)
	if !ok {
		return errOver
	}
	if err := r.Store.PutExport(ctx, &before, after, nil, idempotency.Key{}); err != nil {
		current, again := r.get(ctx, before.TransferID)
		if fault.Is(again, fault.NotFound) || again == nil && current.State.Ended() {
			return errOver
		}
		return fault.Wrap(fault.Unavailable, err, "the export could not be stored")
	}
	r.stored, r.savedAt = after, r.Now()
	return nil
}

// passes is how often the list of items is read.
const passes = 2

// exportPage is how many items are read at once.
const exportPage = page.Max

// Write writes the items of a status, "" for all, and what was found out about them, and returns how many they are. After
// each page it tells how many were written so far; an error of progress ends it.
//
// The list lags behind by moments, and items change their status while it is read. Therefore it is read once more when it ended,
// and what did not appear before is added: every item that had the status from some moments before the beginning to the end is
// in the file, and none is there twice.
func (ex Exporter) Write(ctx context.Context, w io.Writer, id ID, format Format, status Status, progress func(items int) error) (int, error) {
	names, err := ex.names(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	out, err := newResultWriter(w, format)
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	written := seenItems{}
	total := 0
	for range passes {
		window := page.Window{Limit: exportPage}
		for {
			slice, err := ex.Store.ListItems(ctx, id, status, window)
			if err != nil {
				return total, fmt.Errorf("export: list items: %w", err)
			}
			fresh := make([]Item, 0, len(slice.Items))
			for _, item := range slice.Items {
				if written.add(item) {
					fresh = append(fresh, item)
				}
			}
			if err := ex.writePage(ctx, out, fresh, names); err != nil {
				return total, fmt.Errorf("export: %w", err)
			}
			total += len(fresh)
			if progress != nil {
				if err := progress(total); err != nil {
					return total, err
				}
			}
			if !slice.More || len(slice.Positions) == 0 {
				break
			}
			window.From = slice.Positions[len(slice.Positions)-1]
		}
	}
	return total, out.flush()
}

func (ex Exporter) writePage(ctx context.Context, out resultWriter, items []Item, names names) error {
	efforts, err := ex.efforts(ctx, items)
	if err != nil {
		return fmt.Errorf("list efforts: %w", err)
	}
	if err := names.meet(ctx, efforts); err != nil {
		return fmt.Errorf("read names of users: %w", err)
	}
	for i, item := range items {
		if err := out.write(names.result(item, efforts[i])); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// efforts returns all efforts of each item that were not taken back, the newest first. Most items were finished once: those efforts are
// read together, and only of the other items is there a list to be read.
func (ex Exporter) efforts(ctx context.Context, items []Item) ([][]Effort, error) {
	all := make([][]Effort, len(items))
	var only []EffortID
	var onlyOf []int
	var requests []ItemEffortsRequest
	var of []int
	for i, item := range items {
		switch {
		case item.Efforts == 1:
			only, onlyOf = append(only, EffortID{Project: item.Project, ID: item.LastEffort}), append(onlyOf, i)
		case item.Efforts > 1:
			requests, of = append(requests, ItemEffortsRequest{Item: item.ItemID, Window: page.Window{Limit: page.Max}}), append(of, i)
		}
	}
	if len(only) > 0 {
		found, errs := ex.Store.EffortsByID(ctx, only)
		for j, i := range onlyOf {
			if len(errs) > j && errs[j] != nil {
				return nil, errs[j]
			}
			all[i] = []Effort{found[j]}
		}
	}
	for len(requests) > 0 {
		slices, errs := ex.Store.ListEffortsOfItems(ctx, requests)
		var more []ItemEffortsRequest
		var moreOf []int
		for j, request := range requests {
			if len(errs) > j && errs[j] != nil {
				return nil, errs[j]
			}
			s := slices[j]
			for _, e := range s.Items {
				if e.UndoneAt.IsZero() {
					all[of[j]] = append(all[of[j]], e)
				}
			}
			if s.More && len(s.Positions) > 0 {
				request.Window.From = s.Positions[len(s.Positions)-1]
				more, moreOf = append(more, request), append(moreOf, of[j])
			}
		}
		requests, of = more, moreOf
	}
	return all, nil
}

// names are those of a project's categories, subcategories and teams, by id, and what users are called. Of users there are those
// who were met so far: who is no member any more has finished items, too.
type names struct {
	labels, teams map[string]string
	users         map[UserID]string
	user          func(UserID) string
	read          func(ctx context.Context, ids []UserID) ([]string, error)
}

// meet reads the names of the authors that were not met before, all at once.
func (n names) meet(ctx context.Context, efforts [][]Effort) error {
	var fresh []UserID
	for _, of := range efforts {
		for _, e := range of {
			if _, met := n.users[e.User]; !met {
				n.users[e.User] = ""
				fresh = append(fresh, e.User)
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	read, err := n.read(ctx, fresh)
	if err != nil {
		return err
	}
	for i, id := range fresh {
		n.users[id] = read[i]
	}
	return nil
}

func (ex Exporter) names(ctx context.Context, id ID) (names, error) {
	n := names{labels: map[string]string{}, teams: map[string]string{}, users: map[UserID]string{}, user: ex.User, read: ex.Names}
	labels, errs := ex.Store.ListLabels(ctx, []ID{id})
	if len(errs) > 0 && errs[0] != nil {
		return n, fmt.Errorf("list categories: %w", errs[0])
	}
	teams, errs := ex.Store.ListTeams(ctx, []ID{id})
	if len(errs) > 0 && errs[0] != nil {
		return n, fmt.Errorf("list teams: %w", errs[0])
	}
	for _, l := range labels[0] {
		n.labels[l.ID] = l.Name
	}
	for _, t := range teams[0] {
		n.teams[t.ID] = t.Name
	}
	return n, nil
}

// name returns the name of an id. A category or team that was added since the export began goes by its id.
func name(of map[string]string, id string) string {
	if n, ok := of[id]; ok {
		return n
	}
	return id
}

// seenItems remembers items by the import and the line that brought them: a bit each, so that a million items take 125 KB.
type seenItems map[string][]uint64

// add reports whether the item is a new one.
func (s seenItems) add(item Item) bool {
	source, line := item.Import, item.Line
	if source == "" || line < 1 { // no import brought it
		source, line = item.ItemID.ID, 0
	}
	bits, word, bit := s[source], line/64, uint64(1)<<(line%64)
	for len(bits) <= word {
		bits = append(bits, 0)
	}
	fresh := bits[word]&bit == 0
	bits[word] |= bit
	s[source] = bits
	return fresh
}
