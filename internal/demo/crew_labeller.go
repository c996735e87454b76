package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// takesAtMost is how many items a labeller takes at a time.
const takesAtMost = 3

// labeller is somebody who labels until the shift ends. Only its own goroutine uses it.
type labeller struct {
	*shift
	person person
	name   string // tells its claims from those of others

	round  int    // of claims
	asked  bool   // of the last claim it is not known whether it was made
	hand   []held // the one it looks at comes first
	regret string // an effort that it wants to take back, or ""
}

// reasons for giving up an item.
var reasons = []string{"TO_ME_LATER", "TO_OTHERS", "TO_OTHERS", "FOR_NOBODY"}

func (w *labeller) run(ctx context.Context) error {
	defer w.giveBack(ctx)
	return w.again(ctx, w.turn)
}

// turn does one thing.
func (w *labeller) turn(ctx context.Context) error {
	me, err := w.as(w.person)
	switch {
	case err != nil:
		return err
	case w.regret == "" && len(w.hand) == 0:
		return w.take(ctx, me)
	}
	if err := sleep(ctx, around(w.Pace)); err != nil {
		return err
	}
	ctx, cancel := settled(ctx)
	defer cancel()
	if w.regret != "" {
		return w.takeBack(ctx, me)
	}
	return w.decide(ctx, me, w.hand[0])
}

// take claims items. After an error, the next time it is the same claim.
func (w *labeller) take(ctx context.Context, me member) error {
	ctx, cancel := settled(ctx)
	defer cancel()
	round := fmt.Sprintf("%s/%d", w.name, w.round)
	w.asked = true
	items, err := w.claim(ctx, me, w.project.id, 1+sourceOf(round).IntN(takesAtMost), round)
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	w.asked = false
	w.round++
	for _, item := range items {
		if item.Claim != nil {
			w.hand = append(w.hand, item)
			w.inHand.Add(1)
		}
	}
	if err == nil {
		w.given.Add(1)
	}
	return err
}

// decide does with an item what follows from its claim: the same, when it has to be done again.
func (w *labeller) decide(ctx context.Context, me member, item held) error {
	r := sourceOf(item.Claim.Token)
	var had bool
	var err error
	count := &w.tally.finished
	switch {
	case oneOf(r, w.habits.skip):
		reason := pick(r, reasons)
		if count = &w.tally.passedOn; reason == "FOR_NOBODY" {
			count = &w.tally.skipped
		}
		had, err = w.skip(ctx, me, item, reason)
	case oneOf(r, w.habits.release):
		count = &w.tally.released
		had, err = w.release(ctx, me, item)
	default:
		found := findingOf(item.ExternalID)
		if oneOf(r, w.habits.mistake) && len(item.Efforts.Nodes) == 0 {
			found = mistakeOf(item.ExternalID)
		}
		var effort string
		effort, err = w.finish(ctx, me, w.project, item, found)
		if had = effort != ""; had && oneOf(r, w.habits.undo) {
			w.regret = effort
		}
	}
	if err != nil {
		return err
	}
	if had { // otherwise the time was over, or somebody else did it
		count.Add(1)
	}
	w.hand = w.hand[1:]
	w.inHand.Add(-1)
	return nil
}

// oneOf reports true for one of so many, for 0 never.
func oneOf(r *rand.Rand, many int) bool { return many > 0 && r.IntN(many) == 0 }

// takeBack takes back what was finished last, and has the item in hand again.
func (w *labeller) takeBack(ctx context.Context, me member) error {
	item, err := w.undo(ctx, me, w.regret)
	if err != nil {
		return err
	}
	w.regret = ""
	if item != nil {
		w.hand = append([]held{*item}, w.hand...)
		w.inHand.Add(1)
		w.tally.undone.Add(1)
	}
	return nil
}

// giveBack releases what the labeller holds, also what it may have got by a claim whose answer was lost. What cannot be given back is
// handed to others when its time is over.
func (w *labeller) giveBack(ctx context.Context) {
	ctx, cancel := settled(ctx)
	defer cancel()
	me, err := w.as(w.person)
	if err != nil {
		return
	}
	if w.asked {
		_ = w.take(ctx, me)
	}
	for _, item := range w.hand {
		_, _ = w.release(ctx, me, item)
		w.inHand.Add(-1)
	}
	w.hand = nil
}
