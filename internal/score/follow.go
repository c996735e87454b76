package score

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/task"
)

// Follower keeps something about items that depends on who may read them, on their sets, and on that they exist.
type Follower interface {
	// FollowItems makes that right again for the items. It can be run at any time, and again.
	FollowItems(ctx context.Context, items []ItemRef) error
}

// Telling returns the service that tells the follower of items that everybody may read from now on, or no more: before the change is
// acknowledged, and by a task if the server is lost or this fails.
func (s *Service) Telling(f Follower) *Service {
	with := *s
	with.follower = f
	return &with
}

// Telling returns the service that tells the follower of items that were put into another set or deleted, as [Service.Telling] does.
func (s *Items) Telling(f Follower) *Items {
	with := *s
	with.follower = f
	return &with
}

// tell tells the follower now. What it does not get done, the task does.
func tell(ctx context.Context, f Follower, items []ItemRef) {
	if f == nil || len(items) == 0 {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_ = f.FollowItems(ctx, items)
}

// Reshown returns the items that everybody may read after the change of a score and could not before, or the other way round. The
// score before one that is created, and behind one that is deleted, is the zero Score.
func Reshown(before, after Score) []ItemRef {
	had, has := before.shows(), after.shows()
	var changed []ItemRef
	for _, item := range before.Items() {
		if had[item] != has[item] {
			changed = append(changed, item)
		}
	}
	was := map[ItemRef]bool{}
	for _, item := range before.Items() {
		was[item] = true
	}
	for _, item := range after.Items() {
		if has[item] && !was[item] {
			changed = append(changed, item)
		}
	}
	return changed
}

// shows returns the items that everybody may read through the score.
func (s Score) shows() map[ItemRef]bool {
	items := map[ItemRef]bool{}
	if s.Access == Public {
		for _, item := range s.Items() {
			items[item] = true
		}
	}
	return items
}

// FollowItem is the task of telling the follower of one item.
const FollowItem task.Kind = "follow-item"

// Following returns the task for an item.
func Following(ref ItemRef, due time.Time) task.Task {
	return task.Task{Kind: FollowItem, ID: string(ref.ID), Scope: string(ref.Owner) + "/" + string(ref.Score), Due: due}
}

// Followed returns the item that a task is about.
func Followed(t task.Task) ItemRef { return swept(t) }

// Follow is the handler of [FollowItem].
func (s *Items) Follow(ctx context.Context, t task.Task) (time.Time, error) {
	if s.follower == nil {
		return time.Time{}, nil
	}
	return time.Time{}, s.follower.FollowItems(ctx, []ItemRef{Followed(t)})
}
