package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taggie/taggie/internal/domain"
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
	LabelsByID(ctx context.Context, ids []LabelID) ([]Label, []error)
	TeamsByID(ctx context.Context, ids []TeamID) ([]Team, []error)
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
	return domain.First(ex.Store.ExportsByID(ctx, []TransferID{id}))
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
	if err := names.meet(ctx, items, efforts); err != nil {
		return fmt.Errorf("read names: %w", err)
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

// names are those of a project's categories, subcategories and teams, by id, and what users are called. Of users, and of what is in no list any more, there
// are those who were met so far.
type names struct {
	labels map[LabelID]string
	teams  map[TeamID]string
	users  map[UserID]string
	user   func(UserID) string
	read   func(ctx context.Context, ids []UserID) ([]string, error)
	store  ExportStore
}

// meet reads the names that were not met before, all of a kind at once.
func (n names) meet(ctx context.Context, items []Item, efforts [][]Effort) error {
	var labels []LabelID
	var teams []TeamID
	var users []UserID
	label := func(p ID, kind Kind, id string) { met(n.labels, LabelID{Project: p, Kind: kind, ID: id}, id, &labels) }
	for i, item := range items {
		label(item.Project, Category, item.Category)
		label(item.Project, Subcategory, item.Subcategory)
		for _, e := range efforts[i] {
			label(e.Project, Category, e.Category)
			label(e.Project, Subcategory, e.Subcategory)
			met(n.teams, TeamID{Project: e.Project, ID: e.Team}, e.Team, &teams)
			met(n.users, e.User, "", &users)
		}
	}
	if len(labels) > 0 {
		found, errs := CurrentLabels(ctx, n.store.LabelsByID, labels)
		if err := fill(n.labels, labels, found, errs, func(l Label) string { return l.Name }); err != nil {
			return err
		}
	}
	if len(teams) > 0 {
		found, errs := n.store.TeamsByID(ctx, teams)
		if err := fill(n.teams, teams, found, errs, func(t Team) string { return t.Name }); err != nil {
			return err
		}
	}
	if len(users) == 0 {
		return nil
	}
	found, err := n.read(ctx, users)
	if err != nil {
		return err
	}
	return fill(n.users, users, found, nil, func(name string) string { return name })
}

// met notes an id that has no name yet, which it goes by until it has one.
func met[K comparable](names map[K]string, id K, until string, fresh *[]K) {
	if _, there := names[id]; !there {
		names[id] = until
		*fresh = append(*fresh, id)
	}
}

// fill notes the names of what was found; what was not is left as it is.
func fill[K comparable, V any](names map[K]string, ids []K, found []V, errs []error, name func(V) string) error {
	for i, id := range ids {
		switch {
		case errs == nil || errs[i] == nil:
			names[id] = name(found[i])
		case !fault.Is(errs[i], fault.NotFound):
			return errs[i]
		}
	}
	return nil
}

func (ex Exporter) names(ctx context.Context, id ID) (names, error) {
	n := names{labels: map[LabelID]string{}, teams: map[TeamID]string{}, users: map[UserID]string{}, user: ex.User, read: ex.Names, store: ex.Store}
	for _, kind := range []Kind{Category, Subcategory} {
		n.labels[LabelID{Project: id, Kind: kind}] = "" // found to be nothing
	}
	labels, errs := ex.Store.ListLabels(ctx, []ID{id})
	if len(errs) > 0 && errs[0] != nil {
		return n, fmt.Errorf("list categories: %w", errs[0])
	}
	teams, errs := ex.Store.ListTeams(ctx, []ID{id})
	if len(errs) > 0 && errs[0] != nil {
		return n, fmt.Errorf("list teams: %w", errs[0])
	}
	for _, l := range labels[0] {
		n.labels[l.LabelID] = l.Name
	}
	for _, t := range teams[0] {
		n.teams[t.TeamID] = t.Name
	}
	return n, nil
}

func (n names) label(p ID, kind Kind, id string) string {
	return n.labels[LabelID{Project: p, Kind: kind, ID: id}]
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
