package labelling

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

// ClaimItems is the input of [Service.Claim].
type ClaimItems struct {
	Project        project.ID
	Count          int     // 1 to MaxClaims
	IdempotencyKey *string `json:"-"`
}

// rounds bounds how often others are taken for items that were no longer NEW.
const rounds = 4

// Claim hands items to the viewer, fewer than asked for when there are no more, and returns them with their claims. [ErrPaused] and
// [ErrFull] are expected outcomes. Repeated with the same key it returns what is left of the same claims.
func (s *Service) Claim(ctx context.Context, in ClaimItems) ([]project.Item, error) {
	if in.Count < 1 || in.Count > MaxClaims {
		return nil, fault.Invalidf("input.count", "claim 1 to %d items", MaxClaims)
	}
	me, err := domain.Self(ctx)
	if err != nil {
		return nil, err
	}
	return once(ctx, s, "claimItems", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) ([]project.Item, error) {
		p, err := s.project(ctx, in.Project, project.Taggie)
		if err != nil {
			return nil, err
		}
		c := claiming{Service: s, project: p, me: me, key: key, keyed: key.Given(), seed: s.NewID()}
		if key.Given() {
			// The same request finds the same reservations. The day is in it, since a key may be used anew when it was forgotten.
			c.seed = derived("claim", string(me), key.Key, string(p.ID), strconv.FormatInt(s.Now().Unix()/86_400, 10))
		}
		items, err := c.run(ctx, in.Count)
		return items, s.ready(in.Project, err)
	}, func(ctx context.Context, result []string) ([]project.Item, error) {
		return s.claimedBefore(ctx, in, result[0], result[1:])
	})
}

// claiming is one request for items.
type claiming struct {
	*Service
	project project.Project
	me      UserID
	key     idempotency.Key // is recorded with the first claim
	keyed   bool            // the same request again is told what it claimed
	seed    string          // of the tokens
	used    int             // tokens
	ended   []string        // tokens of claims of the user that are over, though the queue counts them
	looked  bool            // for these
}

func tokenOf(seed string, n int) string { return derived("token", seed, strconv.Itoa(n)) }

func (c *claiming) run(ctx context.Context, n int) ([]project.Item, error) {
	var got []project.Item
	refilled := false
	for round := 0; round < rounds && len(got) < n; {
		tokens := make([]string, n-len(got))
		for i := range tokens {
			tokens[i] = tokenOf(c.seed, c.used+i)
		}
		// A reservation and its claim belong together: what a rebuild reads has either happened or will never.
		promptly, cancel := context.WithTimeout(ctx, prompt)
		reserved, err := c.Coordinator.Reserve(promptly, c.project.ID, c.me, tokens, c.ended...)
		more := (errors.Is(err, ErrFull) || err == nil && 0 < len(reserved) && len(reserved) < len(tokens)) && c.lookForEnded(promptly)
		if err != nil {
			cancel()
			if more {
				continue
			}
			if len(got) > 0 {
				return got, nil
			}
			return nil, err
		}
		if len(reserved) == 0 {
			cancel()
			if refilled {
				break
			}
			refilled = true
			if added, failed := c.populate.Refill(ctx, c.project.ID); failed != nil && added == 0 {
				if len(got) > 0 {
					break // the next one who asks, or the job, tries again
				}
				return nil, failed // and not as if there were nothing to do
			}
			continue // also when it added nothing: another one may have filled it meanwhile
		}
		c.used += len(tokens)
		items, lost, err := c.acknowledge(promptly, reserved)
		cancel()
		got = append(got, items...)
		if err != nil && len(got) == 0 {
			return nil, err
		}
		if err != nil || lost == 0 && !more {
			break
		}
		round++
	}
	return got, nil //nolint:nilerr // what was claimed is the user's, whatever became of the rest
}

// lookForEnded finds out, once, which of the claims that the queue counts as the user's have ended in the truth, and reports whether
// there are any: the queue follows a finish a moment later. Cost: 1 script and 1 BatchGetItem, only for who comes to the limit or to
// the end of the queue.
func (c *claiming) lookForEnded(ctx context.Context) bool {
	if c.looked {
		return false
	}
	c.looked = true
	claims, err := c.Coordinator.Claims(ctx, c.project.ID, c.me)
	if err != nil || len(claims) == 0 {
		return false // without it, the user gets what the limit leaves
	}
	ids := make([]project.ItemID, len(claims))
	for i, claim := range claims {
		ids[i] = claim.Item
	}
	items, _, errs := c.Truth.ItemsByID(ctx, "", ids)
	for i, item := range items {
		known := errs == nil || errs[i] == nil
		if known && (item.Status != project.Claimed || item.Claim.Token != claims[i].Token) {
			c.ended = append(c.ended, claims[i].Token)
		}
	}
	return len(c.ended) > 0
}

// acknowledge makes reservations true. It returns the items and how many were somebody else's; the error is of those that could not be
// claimed. What is not known of a claim is found out first.
func (c *claiming) acknowledge(ctx context.Context, reserved []Claim) (got []project.Item, lost int, err error) {
	ids := make([]project.ItemID, len(reserved))
	for i, r := range reserved {
		ids[i] = r.Item
	}
	items, _, errs := c.Truth.ItemsByID(ctx, "", ids)
	made, failed, taken := make([]bool, len(ids)), make([]error, len(ids)), make([]bool, len(ids))
	one := func(i int, key idempotency.Key) {
		if errs != nil && errs[i] != nil {
			failed[i] = errs[i]
		} else {
			items[i], failed[i] = c.claim(ctx, items[i], reserved[i], c.project, key)
		}
		made[i] = failed[i] == nil
		_, conflict := errors.AsType[*project.ItemConflict](failed[i])
		if taken[i] = conflict || fault.Is(failed[i], fault.NotFound); taken[i] {
			c.cancel(ctx, reserved[i], false)
		} else if made[i] {
			c.hold(ctx, items[i], c.project.Member.Team, firstTime)
		}
	}
	begin := 0
	for ; c.key.Given() && begin < len(ids); begin++ {
		result := []string{c.seed}
		for _, id := range ids[begin:] {
			result = append(result, id.ID)
		}
		if one(begin, c.key.With(result...)); made[begin] {
			c.key = idempotency.Key{}
		} else if _, replayed := errors.AsType[*idempotency.Replayed](failed[begin]); replayed {
			return nil, 0, failed[begin]
		} else if !taken[begin] { // the key may have been recorded with it
			if got = c.settleAll(ctx, reserved[begin:begin+1]); len(got) == 0 {
				return nil, 0, failed[begin]
			}
			c.key = idempotency.Key{}
		}
	}
	each(len(ids)-begin, func(i int) { one(begin+i, idempotency.Key{}) })
	var open []Claim
	for i := range ids {
		switch {
		case made[i]:
			got = append(got, c.project.Item(items[i]))
		case taken[i]:
			lost++
		case i >= begin:
			err = failed[i]
			open = append(open, reserved[i])
		}
	}
	return append(got, c.settleAll(ctx, open)...), lost, err
}

// claim makes a reservation true. *project.ItemConflict when the item is not NEW any more.
func (s *Service) claim(ctx context.Context, before project.Item, r Claim, p project.Project, key idempotency.Key) (project.Item, error) {
	var conflict *project.ItemConflict
	for range retry.Until(ctx) {
		if before.Status == project.Claimed && before.Claim.Token == r.Token {
			return before, nil // by an earlier attempt
		}
		if before.Status != project.New {
			return before, &project.ItemConflict{Current: before}
		}
		after := s.next(before)
		after.Status, after.ReturnedTo = project.Claimed, ""
		after.Claim = claimIn(p, before.ID, r.User, r.Token, r.Since)
		err := s.move(ctx, &Move{Before: before, After: after}, key)
		if !errors.As(err, &conflict) {
			return after, err
		}
		before = conflict.Current
	}
	return before, retry.Busy("this item")
}

// claimIn is a claim of the viewer, for the lease of the project, whose result awaits a review or does not, as the project has it.
func claimIn(p project.Project, item string, u UserID, token string, since time.Time) project.Claim {
	draw := fnv.New32a()
	_, _ = draw.Write([]byte(effortOf(item, token)))
	return project.Claim{
		User: u, Token: token, Since: since, Until: since.Add(p.Lease.Time()), Lease: p.Lease, Unreviewed: !p.ToReview(p.Member, since, draw.Sum32()),
	}
}

// claimedBefore returns what is left of the claims that an earlier request made.
func (s *Service) claimedBefore(ctx context.Context, in ClaimItems, seed string, items []string) ([]project.Item, error) {
	me := viewer.From(ctx).UserID
	ids := make([]project.ItemID, 0, len(items))
	seen := map[string]bool{}
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, project.ItemID{Project: in.Project, ID: id})
		}
	}
	for _, id := range items {
		add(id)
	}
	// Those that were taken in place of others are known to the queue only.
	claims, err := s.Coordinator.Claims(ctx, in.Project, me)
	if err != nil && !errors.Is(err, ErrNotReady) {
		return nil, err
	}
	for _, c := range claims {
		add(c.Item.ID)
	}
	tokens := map[string]bool{}
	for i := range rounds * in.Count {
		tokens[tokenOf(seed, i)] = true
	}
	found, members, errs := s.Truth.ItemsByID(ctx, me, ids)
	if allow(members[in.Project], project.Taggie, "project") != nil {
		return nil, firstError(errs)
	}
	var got []project.Item
	for i, item := range found {
		switch {
		case errs != nil && fault.Is(errs[i], fault.NotFound):
		case errs != nil && errs[i] != nil:
			return nil, errs[i]
		case item.Status == project.Claimed && item.Claim.User == me && tokens[item.Claim.Token]:
			got = append(got, of(members[in.Project]).Item(item))
		}
	}
	return got, nil
}

// firstError returns the first error that is not that something does not exist.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// Held names an item that the viewer has, by the token of the claim; it is the input of what can be done with one.
type Held struct {
	Item           project.ItemID
	Token          string
	IdempotencyKey *string `json:"-"`
}

// Extend gives the viewer the item for another lease from now on. *[LeaseLost] and *[ItemRemoved] are expected outcomes.
func (s *Service) Extend(ctx context.Context, in Held) (project.Item, error) {
	return once(ctx, s, "extendClaim", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.Item, error) {
		if _, _, err := s.item(ctx, in.Item); err != nil {
			return project.Item{}, err
		}
		// Extensions are not in the outbox, so there must be none while the queue is rebuilt.
		ctx, cancel := context.WithTimeout(ctx, prompt)
		defer cancel()
		if _, err := s.Coordinator.State(ctx, in.Item.Project); err != nil {
			return project.Item{}, s.ready(in.Item.Project, err)
		}
		now := s.clock(ctx)
		m, member, err := s.change(ctx, in.Item, key.With(in.Item.ID), func(before project.Item, member project.Member) (Move, error) {
			if err := mine(before, member, in.Token, nil); err != nil {
				return Move{}, err
			}
			after := s.next(before)
			after.Claim = before.Claim
			if until := now.Add(before.Claim.Lease.Time()); until.After(after.Claim.Until) {
				after.Claim.Until = until
			}
			return Move{Before: before, After: after}, nil
		})
		if err != nil {
			return project.Item{}, err
		}
		s.extend(ctx, m.After, member.Team)
		return m.After, nil
	}, s.reread(in.Item))
}

// extend tells the queue how long somebody has an item. Failing does no harm: the reaper looks at the truth first.
func (o Options) extend(ctx context.Context, item project.Item, team string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	c := Claim{Item: item.ItemID, User: item.Claim.User, Token: item.Claim.Token, Since: item.Claim.Since, Until: item.Claim.Until}
	known, err := o.Coordinator.Extend(ctx, c, team)
	if err != nil && !errors.Is(err, ErrNotReady) {
		o.Log.WarnContext(ctx, "a claim was not extended in the queue; the reaper does it", "item", item.ID, "error", err)
	}
	if err == nil && !known {
		o.hold(ctx, item, team, again(item.UpdatedAt))
	}
}

// again names an acknowledgement that is repeated: servers that do so at about the same time do it once.
func again(at time.Time) string { return "/" + strconv.FormatInt(at.Unix()/60, 10) }
