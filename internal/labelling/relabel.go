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

// Relabeller has items and efforts follow a label that was merged into another: its Run is the [task.Handler] of [project.RunRelabel].
//
// An item is relabelled by a transition like any other. The transition takes its efforts from one count to another, at most [MostEfforts] at once. What is
// removed or undone counts for nothing, and changes without a transition. Somebody who read the label before it was merged may write for some seconds
// more. So passes go over all efforts until one finds nothing, a while after the one before.
//
// The label that took its place may be merged, too, while a pass is under way. The pass goes on writing that label, which the other merge may not see
// any more. So the next pass takes it for one that was merged, and the merge ends when nothing has changed since the last pass began.
type Relabeller struct {
	bulk
	labels Merged
}

// Merged keeps labels that were merged.
type Merged interface {
	// LabelMerged stores since when nothing is labelled any more with a label that was merged into another.
	LabelMerged(ctx context.Context, l project.Label) error
}

// NewRelabeller returns one that waits as long for indexes to settle; 0 for [Settle].
func NewRelabeller(o Options, labels Merged, settle time.Duration) *Relabeller {
	return &Relabeller{bulk: newBulk(o, settle), labels: labels}
}

// Run goes on with a merge of a label.
func (r *Relabeller) Run(ctx context.Context, t task.Task) (time.Time, error) {
	id := project.LabelOf(t)
	l, err := domain.First(r.Truth.LabelsByID(ctx, []project.LabelID{id}))
	if err == nil && l.Into != "" && l.MergedAt.IsZero() {
		if err = r.merge(ctx, id); err == nil {
			l.MergedAt = r.Now().UTC().Truncate(time.Millisecond)
			err = r.labels.LabelMerged(ctx, l)
		}
	}
	if err = domain.IgnoreMissing(err); err != nil { // it went with its project
		return time.Time{}, fmt.Errorf("merge of %s %s of project %s: %w", id.Kind, id.ID, id.Project, err)
	}
	return time.Time{}, nil
}

// merge has everything that is labelled with a label follow it.
func (r *Relabeller) merge(ctx context.Context, id project.LabelID) error {
	for before := []string(nil); ; {
		chain, err := r.chain(ctx, id)
		if err != nil {
			return err
		}
		changed, err := r.pass(ctx, id, chain)
		if err != nil {
			return err
		}
		if changed == 0 && slices.Equal(chain, before) {
			return nil
		}
		before = chain
		if err := pause(ctx, r.settle); err != nil {
			return err
		}
	}
}

// chain returns the ids of a label, of the one that took its place, and so on; the last one was not merged.
func (r *Relabeller) chain(ctx context.Context, id project.LabelID) ([]string, error) {
	var ids []string
	for next := id.ID; next != ""; {
		l, err := domain.First(r.Truth.LabelsByID(ctx, []project.LabelID{{Project: id.Project, Kind: id.Kind, ID: next}}))
		if err != nil {
			return nil, err
		}
		ids, next = append(ids, next), l.Into
	}
	return ids, nil
}

// pass goes over all efforts of a project. Those with one of the labels of the chain get the last one. It returns how often it changed an item.
func (r *Relabeller) pass(ctx context.Context, of project.LabelID, chain []string) (int, error) {
	var changed atomic.Int64
	from, into := chain[:len(chain)-1], chain[len(chain)-1]
	for shard := range Shards {
		err := r.Truth.ScanEfforts(ctx, of.Project, shard, func(page []project.Effort) error {
			var items []project.ItemID
			seen := map[string]bool{}
			for _, e := range page {
				if slices.Contains(from, *e.Label(of.Kind)) && !seen[e.Item] {
					seen[e.Item] = true
					items = append(items, project.ItemID{Project: e.Project, ID: e.Item})
				}
			}
			for some := range slices.Chunk(items, bulkAtOnce) {
				if err := r.chunk(ctx, some, func(ctx context.Context, i project.Item, efforts []project.Effort) error {
					return r.until(ctx, i, efforts, func(i project.Item, efforts []project.Effort) (Move, bool, error) {
						m, last, found := r.relabelled(i, efforts, of.Kind, from, into)
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

// relabelled returns the move that gives an item and some of its efforts another label. last is that no effort is left for a further move, found that there is
// anything to change.
func (r *Relabeller) relabelled(i project.Item, efforts []project.Effort, kind project.Kind, from []string, into string) (m Move, last, found bool) {
	after := i
	after.Version++
	after.UpdatedAt = domain.Later(r.Now, i.UpdatedAt)
	if label := after.Label(kind); slices.Contains(from, *label) {
		*label, found = into, true
	}
	m, last = Move{Before: i, After: after}, true
	t := Transition{ID: r.NewID(), Cause: Relabelled, Project: i.Project, Item: i.ID, Version: after.Version, At: after.UpdatedAt}
	for _, e := range efforts {
		if !slices.Contains(from, *e.Label(kind)) {
			continue
		}
		if last = len(m.Efforts) < MostEfforts; !last {
			break
		}
		was := countedEffort(e)
		*e.Label(kind), e.UpdatedAt = into, after.UpdatedAt
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
