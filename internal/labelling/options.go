package labelling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// Options are what the service and the jobs work with.
type Options struct {
	Truth       Truth
	Coordinator Coordinator
	Now         func() time.Time
	NewID       func() string // makes UUIDs
	Log         *slog.Logger
}

const (
	// width bounds how many calls one request or one round of a job makes at a time.
	width = 8
	// prompt bounds what is done between looking at Redis and changing the truth, or the other way round. It is shorter than what a
	// rebuild waits for, so that nothing which began before a rebuild goes on while the rebuild reads; see [Rebuilder.Rebuild].
	prompt = 3 * time.Second
	// brief bounds what is done for the queue after the truth has changed: others make up for it when it fails.
	brief = time.Second
)

// move changes the truth, and tells the queue to follow; a transition is told which one it follows. A change with a transition that was not answered is asked for once more, which
// finds out whether it was made: it is known by its transition, and made once.
func (o Options) move(ctx context.Context, m *Move, once idempotency.Key) error {
	if m.Transition != nil {
		m.Transition.Follows = m.Before.LastTransition
		m.After.LastTransition = m.Transition.Ref()
	}
	err := o.Truth.MoveItem(ctx, *m, once)
	if err != nil && m.Transition != nil && unanswered(err) {
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
		defer cancel()
		err = o.Truth.MoveItem(again, *m, once)
	}
	if err == nil && m.Transition != nil {
		o.publish(ctx, *m.Transition)
	}
	return err
}

// publish sends a transition on its way. Failing does no harm: it is in the outbox, and the relay sends it again.
func (o Options) publish(ctx context.Context, t Transition) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	if err := o.send(ctx, t); err != nil {
		o.Log.WarnContext(ctx, "a transition was not sent; the relay sends it again", "transition", t.ID, "error", err)
	}
}

func (o Options) send(ctx context.Context, t Transition) error {
	body, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return o.Coordinator.Publish(ctx, Message{ID: t.ID, Project: t.Project, Item: t.Item, Body: body})
}

// follow has the queue follow a transition, after those before it of its item that are still in the outbox: their messages may be late, or lost
// with a Redis that failed. One that the queue does not remember and the outbox does not have was followed long ago. What was followed when the
// time is up is not followed again.
func (o Options) follow(ctx context.Context, t Transition) error {
	_, err := o.Coordinator.Apply(ctx, t)
	if !errors.Is(err, ErrEarly) {
		return err
	}
	before, err := o.listBefore(ctx, t)
	if err != nil {
		return err
	}
	for _, t := range append(before, t) {
		_, err := o.Coordinator.Apply(ctx, t)
		if errors.Is(err, ErrEarly) {
			t.Follows = project.TransitionRef{}
			_, err = o.Coordinator.Apply(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foundOneByOne is how many transitions of an item are found one by one in the outbox. When there are more, all of it is read at once.
const foundOneByOne = 20

// listBefore lists the transitions of its item before this one that are in the outbox, the first one first.
func (o Options) listBefore(ctx context.Context, t Transition) ([]Transition, error) {
	var before []Transition
	for follows := t.Follows; len(before) < foundOneByOne; {
		one, there, err := o.Truth.FindOutbox(ctx, t.Item, follows)
		if err != nil {
			return nil, err
		}
		if there {
			before = append(before, one)
			follows = one.Follows
		}
		if !there || follows.ID == "" {
			slices.Reverse(before)
			return before, nil
		}
	}
	all, err := o.Truth.ListOutbox(ctx, o.Now().Add(farAhead), wholeOutbox)
	if err != nil {
		return nil, err
	}
	before = slices.DeleteFunc(all, func(other Transition) bool { return other.Item != t.Item || other.Version >= t.Version })
	slices.SortFunc(before, func(a, b Transition) int { return cmp.Compare(a.Version, b.Version) })
	return before, nil
}

// firstTime names the first acknowledgement of a claim. It is not the token alone, by which the queue remembers that a claim ended.
const firstTime = "/0"

// hold tells the queue that somebody has an item. Failing does no harm: the reaper tells it again. again tells this time from
// others.
func (o Options) hold(ctx context.Context, item project.Item, team, again string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	c := item.Claim
	err := o.follow(ctx, Transition{
		ID: c.Token + again, Cause: Claimed, Project: item.Project, Item: item.ID, Follows: item.LastTransition, Version: item.Version, Status: project.Claimed,
		User: c.User, Team: team, Token: c.Token, At: c.Since, Until: c.Until,
	})
	if err != nil && !errors.Is(err, ErrNotReady) {
		o.Log.WarnContext(ctx, "a claim was not acknowledged; the reaper does it", "item", item.ID, "error", err)
	}
}

// cancel undoes a reservation, with the same promise.
func (o Options) cancel(ctx context.Context, c Claim, back bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	if _, err := o.Coordinator.Cancel(ctx, c, back); err != nil && !errors.Is(err, ErrNotReady) {
		o.Log.WarnContext(ctx, "a reservation was not cancelled; it will expire", "item", c.Item.ID, "error", err)
	}
}

// next returns the item as the next change finds it: in nobody's hands, with a version of its own.
func (o Options) next(i project.Item) project.Item {
	i.Claim = project.Claim{}
	i.Version++
	i.UpdatedAt = domain.Later(o.Now, i.UpdatedAt)
	return i
}

// ended is the move that ends the claim of an item without finishing it.
func (o Options) ended(before project.Item, team string, cause Cause, status project.Status) Move {
	after := o.next(before)
	after.Status, after.ReturnedTo = status, ""
	return Move{Before: before, After: after, Transition: &Transition{
		ID: o.NewID(), Cause: cause, Project: before.Project, Item: before.ID, Version: after.Version, Status: status,
		User: before.Claim.User, Team: team, Token: before.Claim.Token, At: after.UpdatedAt,
	}}
}

// clock returns the time of Redis, by which leases are measured; ours when Redis does not answer.
func (o Options) clock(ctx context.Context) time.Time {
	ctx, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	if now, err := o.Coordinator.Now(ctx); err == nil {
		return now.Truncate(time.Millisecond)
	}
	return o.Now().UTC().Truncate(time.Millisecond)
}

// derived returns an id that follows from the given parts, the same one always.
func derived(parts ...string) string {
	var data []byte
	for _, part := range parts {
		data = append(append(data, part...), 0)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, data).String()
}

// effortOf returns the id of the effort that a claim leads to: there is one at most.
func effortOf(item, token string) string { return derived("effort", item, token) }
