package score

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// Follower keeps something about items that depends on who may read them, on their sets, and on that they exist.
type Follower interface {
	// FollowItems makes that right again for the items, of one owner. Where a score has made them readable for everybody it is named;
	// it may have changed meanwhile. What fails does not keep the others from being done. It can be run at any time, and again.
	FollowItems(ctx context.Context, items []ItemRef, by ID) error
}

// Telling returns the service that tells the follower of items that everybody may read from now on, or no more: before the change is
// acknowledged, as far as that is done within half of the time that the caller has left, and otherwise by the task of an intent.
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

// tell tells the follower now of what a change of a score shows or hides; see [Showing]. What it does not get done, the task does.
func (s *Service) tell(ctx context.Context, before, after Score) {
	i, is := Shows(before, after)
	if s.follower == nil || !is {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_ = s.settle(ctx, i.Score, i.ID)
}

// tell tells the follower now of an item. What it does not get done, the task does.
func (s *Items) tell(ctx context.Context, item ItemRef) {
	if s.follower == nil {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_ = s.follower.FollowItems(ctx, []ItemRef{item}, "")
}

// Shows returns the intent to tell the follower of what a change of a score shows or hides, without its time; false when it does
// neither. The score before one that is created, and behind one that is deleted, is the zero Score. A version of a score is made by
// one change only, which gives the intent its id.
func Shows(before, after Score) (Intent, bool) {
	items := Reshown(before, after)
	ref, version := after.Ref, after.Version
	if ref.ID == "" {
		ref, version = before.Ref, before.Version+1
	}
	id := uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%s %s %s %d", Showing, ref.Owner, ref.ID, version))
	return Intent{Score: ref, ID: id.String(), Kind: Showing, Items: items, Version: version}, len(items) > 0
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

// FollowUses is the task of making the tags right by which items are found in the projects that use them.
const FollowUses task.Kind = "follow-uses"

// FollowingUses returns the task for items of one owner, which are few: their ids are kept in it. Each change has one of its own.
func FollowingUses(id string, due time.Time, items ...ItemRef) task.Task {
	scope := string(items[0].Owner)
	for _, item := range items {
		scope += "/" + string(item.Score) + "/" + string(item.ID)
	}
	return task.Task{Kind: FollowUses, ID: id, Scope: scope, Due: due}
}

// FollowingImport returns the task for items of one owner that come into a project: in others they are found as before.
func FollowingImport(id string, due time.Time, in project.ID, items ...ItemRef) task.Task {
	t := FollowingUses(id, due, items...)
	t.Scope += "/" + string(in)
	return t
}

// UsesFollowed returns the items that such a task is about, and in which project; "" for all that use them.
func UsesFollowed(t task.Task) (items []ItemRef, in project.ID) {
	owner, rest, _ := strings.Cut(t.Scope, "/")
	parts := strings.Split(rest, "/")
	for ; len(parts) > 1; parts = parts[2:] {
		items = append(items, ItemRef{Owner: UserID(owner), Score: ID(parts[0]), ID: ItemID(parts[1])})
	}
	if len(parts) > 0 {
		in = project.ID(parts[0])
	}
	return items, in
}

// Follow is the handler of [FollowItem].
func (s *Items) Follow(ctx context.Context, t task.Task) (time.Time, error) {
	if s.follower == nil {
		return time.Time{}, nil
	}
	return time.Time{}, s.follower.FollowItems(ctx, []ItemRef{Followed(t)}, "")
}
