package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// lookAhead is how many ids one reservation looks at, for a user who skipped many. The next one looks at others.
const lookAhead = labelling.QueueSize

// claim is a claim as Redis keeps it.
type claim struct {
	User    labelling.UserID `json:"user"`
	Token   string           `json:"token"`
	Since   string           `json:"since"` // ms
	Until   string           `json:"until"` // ms
	Counted bool             `json:"counted"`
	From    string           `json:"from"`
}

func (c claim) of(p project.ID, item string) labelling.Claim {
	return labelling.Claim{
		Item: project.ItemID{Project: p, ID: item}, User: c.User, Token: c.Token, Since: instant(c.Since), Until: instant(c.Until),
	}
}

// Reserve keeps back up to as many items for a user as there are tokens, each under one of them: first what came back to the user,
// then what the user put off until now, then the head of the queue without what the user skipped for good. The claims returned
// are promises until their transitions are applied; they end with the reservation. Calling it again with the same tokens returns the
// same items. An empty queue is no error. Claims that have ended in the truth, by their tokens, do not count as the user's, though
// the queue may not have followed that yet. ErrNotReady, ErrPaused or ErrFull.
func (q *Queue) Reserve(ctx context.Context, p project.ID, u labelling.UserID, tokens []string, ended ...string) ([]labelling.Claim, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	k := q.keysOf(p)
	args := make([]any, 0, 5+len(ended)+len(tokens))
	args = append(args, string(u), q.o.Reservation.Milliseconds(), q.o.MaxClaims, lookAhead, len(ended))
	for _, token := range ended {
		args = append(args, token)
	}
	for _, token := range tokens {
		args = append(args, token)
	}
	reply, err := q.run(ctx, "reserve items", reserveScript, []string{
		k.epoch(), k.metadata(), k.queue(), k.queued(), k.wip(), k.claims(), k.held(),
		k.userQueue(u), k.userReturned(u), k.userLater(u), k.userSkipped(u), k.present(),
	}, args...)
	if err != nil || len(reply) == 0 {
		return nil, err
	}
	now := instant(text(reply[0]))
	var claims []labelling.Claim
	for item, token := range pairs(reply[1:]) {
		claims = append(claims, labelling.Claim{
			Item: project.ItemID{Project: p, ID: item}, User: u, Token: token, Since: now, Until: now.Add(q.o.Reservation),
		})
	}
	return claims, nil
}

// Cancel undoes the reservation of an item, or a claim that turned out not to be in the truth; back puts the item where it was
// taken from, for the next one who asks. It reports whether there was such a claim. ErrNotReady.
func (q *Queue) Cancel(ctx context.Context, c labelling.Claim, back bool) (bool, error) {
	k := q.keysOf(c.Item.Project)
	return q.flag(ctx, "cancel a reservation", cancelScript, []string{
		k.epoch(), k.metadata(), k.queue(), k.queued(), k.wip(), k.claims(), k.held(), k.events(),
		k.userQueue(c.User), k.userReturned(c.User), k.userLater(c.User), k.present(),
	}, c.Item.ID, c.Token, bit(back), q.o.Hold.Milliseconds(), q.o.MaxEvents, project.MaxQueueSize)
}

// Extend moves the end of an acknowledged claim to c.Until, and reports whether Redis knows the claim. ErrNotReady.
func (q *Queue) Extend(ctx context.Context, c labelling.Claim, team string) (bool, error) {
	k := q.keysOf(c.Item.Project)
	return q.flag(ctx, "extend a claim", extendScript, []string{
		k.epoch(), k.metadata(), k.queue(), k.wip(), k.claims(), k.events(), k.userQueue(c.User), k.present(),
	}, c.Item.ID, c.Token, millis(c.Until), q.o.MaxEvents, string(c.User), team)
}

// Expired returns up to n claims and reservations whose time is over, by Redis's clock; the oldest first. ErrNotReady.
func (q *Queue) Expired(ctx context.Context, p project.ID, n int) ([]labelling.Lapsed, error) {
	k := q.keysOf(p)
	reply, err := q.run(ctx, "look for expired claims", expiredScript, []string{k.epoch(), k.wip(), k.claims(), k.present()}, n)
	if err != nil {
		return nil, err
	}
	var lapsed []labelling.Lapsed
	for item, value := range pairs(reply) {
		var c claim
		if err := json.Unmarshal([]byte(value), &c); err != nil {
			return nil, fmt.Errorf("read the claim of an item in Redis: %w", err)
		}
		lapsed = append(lapsed, labelling.Lapsed{Claim: c.of(p, item), Reserved: !c.Counted})
	}
	return lapsed, nil
}

// Claims returns the acknowledged claims of a user, the oldest first. ErrNotReady.
func (q *Queue) Claims(ctx context.Context, p project.ID, u labelling.UserID) ([]labelling.Claim, error) {
	snapshot, err := q.Snapshot(ctx, p, u, nil)
	return snapshot.Claims, err
}

// LeaseReviews gives a user up to n efforts to review, for a time from now, and returns which ones these are: those that the user has already
// without those that are done, and then the first of the candidates that nobody has. ErrNotReady.
func (q *Queue) LeaseReviews(ctx context.Context, p project.ID, u labelling.UserID, n int, lasts time.Duration, done, candidates []string) ([]string, error) {
	k := q.keysOf(p)
	args := []any{n, lasts.Milliseconds(), len(done)}
	for _, effort := range slices.Concat(done, candidates) {
		args = append(args, effort)
	}
	reply, err := q.run(ctx, "hand out efforts to review", leaseScript, []string{k.epoch(), k.reviewing(), k.userReviews(u)}, args...)
	return texts(reply), err
}
