package labelling

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

// Reason says why an item is skipped.
type Reason string

// The reasons.
const (
	ToMeLater Reason = "TO_ME_LATER" // the viewer gets it again, if nobody else has taken it by then
	ToOthers  Reason = "TO_OTHERS"   // the viewer does not get it again
	ForNobody Reason = "FOR_NOBODY"  // the item is SKIPPED: nobody gets it again
)

// Later is when an item that was put off comes again, unless the client says when; MaxLater is the most it can say.
const (
	Later    = 30 * time.Minute
	MaxLater = 7 * 24 * time.Hour
)

// Skip is the input of [Service.Skip].
type Skip struct {
	Item           project.ItemID
	Token          string
	Reason         Reason
	Minutes        *int    // for ToMeLater: after how many; Later by default
	IdempotencyKey *string `json:"-"`
}

// Skip gives up an item that the viewer has. *[LeaseLost] and *[ItemRemoved] are expected outcomes.
func (s *Service) Skip(ctx context.Context, in Skip) (project.Item, error) {
	cause, status, later := Deferred, project.New, time.Duration(0)
	if in.Minutes != nil && in.Reason != ToMeLater {
		return project.Item{}, fault.Invalidf("input.minutes", "only what comes to you later has minutes")
	}
	switch in.Reason {
	case ToMeLater:
		later = Later
		if in.Minutes != nil {
			later = time.Duration(*in.Minutes) * time.Minute
			if *in.Minutes < 1 || *in.Minutes > int(MaxLater.Minutes()) {
				return project.Item{}, fault.Invalidf("input.minutes", "put an item off for 1 to %d minutes", int(MaxLater.Minutes()))
			}
		}
	case ToOthers:
	case ForNobody:
		cause, status = Skipped, project.Skipped
	default:
		return project.Item{}, fault.Invalidf("input.reason", "there is no such reason")
	}
	return once(ctx, s, "skipItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.Item, error) {
		return s.giveUp(ctx, in.Item, in.Token, key, func(before project.Item, team string) Move {
			m := s.ended(before, team, cause, status)
			if later > 0 {
				m.Transition.Later = m.Transition.At.Add(later)
			}
			return m
		})
	}, s.reread(in.Item))
}

// Release gives an item back, for whoever asks next. *[LeaseLost] and *[ItemRemoved] are expected outcomes.
func (s *Service) Release(ctx context.Context, in Held) (project.Item, error) {
	return once(ctx, s, "releaseItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.Item, error) {
		return s.giveUp(ctx, in.Item, in.Token, key, func(before project.Item, team string) Move {
			return s.ended(before, team, Released, project.New)
		})
	}, s.reread(in.Item))
}

func (s *Service) giveUp(ctx context.Context, id project.ItemID, token string, key idempotency.Key, how func(project.Item, string) Move) (project.Item, error) {
	m, _, err := s.change(ctx, id, key.With(id.ID), func(before project.Item, member project.Member) (Move, error) {
		if err := mine(before, member, token, nil); err != nil {
			return Move{}, err
		}
		return how(before, member.Team), nil
	})
	return m.After, err
}

// Left is to be told after somebody left a project: what the user had is given back. What cannot be given back now expires.
func (s *Service) Left(ctx context.Context, p project.ID, user UserID) {
	claims, err := s.Coordinator.Claims(ctx, p, user)
	if err != nil {
		s.Log.WarnContext(ctx, "the claims of somebody who left were not released; they will expire", "project", p, "user", user, "error", err)
		return
	}
	each(len(claims), func(i int) {
		if err := s.drop(ctx, claims[i]); err != nil {
			s.Log.WarnContext(ctx, "the claim of somebody who left was not released; it will expire", "item", claims[i].Item.ID, "error", err)
		}
	})
}

func (o Options) drop(ctx context.Context, c Claim) error {
	items, _, errs := o.Truth.ItemsByID(ctx, "", []project.ItemID{c.Item})
	item, err := domain.First(items, errs)
	var conflict *project.ItemConflict
	for range retry.Until(ctx) {
		if err != nil || item.Status != project.Claimed || item.Claim.Token != c.Token {
			return err
		}
		back := o.ended(item, "", Released, project.New)
		if err = o.move(ctx, &back, idempotency.Key{}); !errors.As(err, &conflict) {
			return err
		}
		item, err = conflict.Current, nil
	}
	return retry.Busy("this item")
}
