package labelling

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// Relabeller has what was labelled follow a label that was merged into another: its Run is the [task.Handler] of [project.RunRelabel].
//
// An item is relabelled by a transition like any other, which takes its efforts from one count to another, at most [MostEfforts] of them at once. What counts for
// nothing, since it was removed or undone, changes without one. Who read the label before it was merged may write a while longer, so that passes go
// over all efforts until one finds nothing, a while after the one before.
type Relabeller struct {
	bulk
	labels Merged
}

// Merged keeps labels that were merged.
type Merged interface {
	// LabelMerged notes since when nothing is labelled any more with a label that was merged into another.
	LabelMerged(ctx context.Context, id project.LabelID, at time.Time) error
}

// NewRelabeller returns one that waits as long for indexes to settle; 0 for [Settle].
func NewRelabeller(o Options, labels Merged, settle time.Duration) *Relabeller {
	return &Relabeller{bulk: newBulk(o, settle), labels: labels}
}

// Run goes on with a merge of a label.
func (r *Relabeller) Run(ctx context.Context, t task.Task) (time.Time, error) {
	id := project.LabelOf(t)
	from, err := domain.First(r.Truth.LabelsByID(ctx, []project.LabelID{id}))
	if err == nil && from.Into != "" && from.MergedAt.IsZero() {
		if err = r.merge(ctx, from); err == nil {
			err = r.labels.LabelMerged(ctx, id, r.Now().UTC().Truncate(time.Millisecond))
		}
	}
	if err = domain.IgnoreMissing(err); err != nil { // it went with its project
		return time.Time{}, fmt.Errorf("merge of %s %s of project %s: %w", id.Kind, id.ID, id.Project, err)
	}
	return time.Time{}, nil
}

// merge has everything that was labelled with a label be labelled with the one that took its place.
func (r *Relabeller) merge(ctx context.Context, from project.Label) error {
	into, err := domain.First(project.CurrentLabels(ctx, r.Truth.LabelsByID, []project.LabelID{from.LabelID}))
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		changed, err := r.pass(ctx, from.LabelID, into.ID)
		if err != nil || again && changed == 0 {
			return err
		}
		if err := pause(ctx, r.settle); err != nil {
			return err
		}
	}
}

// pass goes over all efforts of a project, and returns how many items it changed.
func (r *Relabeller) pass(ctx context.Context, from project.LabelID, into string) (int, error) {
	var changed atomic.Int64
	for shard := range Shards {
		err := r.Truth.ScanEfforts(ctx, from.Project, shard, func(page []project.Effort) error {
			var items []project.ItemID
			seen := map[string]bool{}
			for _, e := range page {
				if *e.Label(from.Kind) == from.ID && !seen[e.Item] {
					seen[e.Item] = true
					items = append(items, project.ItemID{Project: e.Project, ID: e.Item})
				}
			}
			for some := range slices.Chunk(items, bulkAtOnce) {
				if err := r.chunk(ctx, some, func(ctx context.Context, i project.Item, efforts []project.Effort) error {
					return r.until(ctx, i, efforts, func(i project.Item, efforts []project.Effort) (Move, bool, error) {
						m, last, found := r.relabelled(i, efforts, from, into)
						if !found {
							return Move{}, false, errSettled
						}
						changed.Add(1)
						return m, last, nil
					})
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return int(changed.Load()), nil
}

// relabelled is the move of an item whose label is another one, with some of its efforts, whether these are the last of them, and whether there is anything to
// change at all.
func (r *Relabeller) relabelled(i project.Item, efforts []project.Effort, from project.LabelID, into string) (m Move, last, found bool) {
	after := i
	after.Version++
	after.UpdatedAt = domain.Later(r.Now, i.UpdatedAt)
	if label := after.Label(from.Kind); *label == from.ID {
		*label, found = into, true
	}
	m, last = Move{Before: i, After: after}, true
	t := Transition{ID: r.NewID(), Cause: Relabelled, Project: i.Project, Item: i.ID, Version: after.Version, At: after.UpdatedAt}
	for _, e := range efforts {
		if *e.Label(from.Kind) != from.ID {
			continue
		}
		if last = len(m.Efforts) < MostEfforts; !last {
			break
		}
		was := countedEffort(e)
		*e.Label(from.Kind), e.UpdatedAt = into, after.UpdatedAt
		if m.Efforts = append(m.Efforts, e); e.Counts() {
			was.Into = Labels{Category: e.Category, Subcategory: e.Subcategory}
			t.Efforts = append(t.Efforts, was)
		}
	}
	if !i.Status.Hidden() || len(t.Efforts) > 0 {
		m.Transition = &t
	}
	return m, last, found || len(m.Efforts) > 0
}
