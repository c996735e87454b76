package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const findWork = `query FindWork($project: ID!) {
  project(id: $project) {
    viewerClaims { ...held }
    viewerMember {
      efforts(first: 100) { nodes { id undoneAt category { name } item { externalId } review { verdict } } }
    }
  }
}` + heldFragment

const findSkipped = `query FindSkipped($project: ID!) {
  project(id: $project) { items(status: SKIPPED, first: 100) { nodes { id } } }
}`

const (
	// atOnce is how many items a person takes at a time.
	atOnce = 10
	// sameRound is how long a claim that gets nothing is repeated as the same one. Then it is another one: what the first one got
	// may have been lost, which only a new one can make up for.
	sameRound = 3 * time.Second
	// longestWait is how long the queue may hand out nothing. When it was lost, it takes some seconds to make it anew.
	longestWait = time.Minute
)

// effortState is an effort as the server has it.
type effortState struct {
	ID       string     `json:"id"`
	UndoneAt *time.Time `json:"undoneAt"`
	Category named      `json:"category"`
	Item     struct {
		ExternalID string `json:"externalId"`
	} `json:"item"`
	Review *struct {
		Verdict string `json:"verdict"`
	} `json:"review"`
}

// workState is what a person has done, and has in hand.
type workState struct {
	claims  []held
	efforts []effortState // that were not undone, the oldest first
	skipped int           // of the project
}

// working is a person on the way through what was planned. How far that is, the server says: what a run that was interrupted did, or
// had in hand, is found again.
type working struct {
	*loader
	plan    plannedWork
	me      member
	project archive
	shown   progress
	counted int // steps that are shown
	skips   int // that were found, or made here, which an index may not show yet
}

// work has a person do what is missing of the planned work.
func (l *loader) work(ctx context.Context, members []member, p archive, plan plannedWork, shown progress) error {
	w := &working{loader: l, plan: plan, me: members[plan.by], project: p, shown: shown}
	var waited time.Duration
	for pause := looking; ; {
		state, err := w.next(ctx, int(waited/sameRound))
		_, busy := errors.AsType[later](err)
		switch {
		case err == nil && state.left(plan) == 0:
			return w.haveReviewed(ctx, members[plan.reviewer], state.efforts)
		case err == nil:
			pause, waited = looking, 0
			continue
		case !busy && !errors.Is(err, errNothing), waited > longestWait:
			return fmt.Errorf("label items as %s: %w; run it again", w.me.email, err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		waited += pause
		pause = min(2*pause, time.Second)
	}
}

// next looks how far the person is, and does some of what is left.
func (w *working) next(ctx context.Context, round int) (workState, error) {
	state, err := w.state(ctx)
	if err != nil {
		return state, err
	}
	left := state.left(w.plan)
	w.count(w.plan.steps() - w.plan.reviews() - left)
	if left == 0 {
		return state, w.giveBack(ctx, state.claims)
	}
	items := state.claims
	if len(items) == 0 {
		done := fmt.Sprintf("%d/%d/%d", len(state.efforts), state.skipped, round)
		if items, err = w.claim(ctx, w.me, w.project.id, min(left, atOnce), done); err != nil {
			return state, err
		}
	}
	return state, w.do(ctx, items[:min(left, len(items))], state.finishes(w.plan))
}

// giveBack releases what the person has in hand and does not need: a run that was interrupted may have left more than it did.
func (w *working) giveBack(ctx context.Context, items []held) error {
	for _, item := range items {
		if _, err := w.release(ctx, w.me, item); err != nil {
			return err
		}
	}
	return nil
}

// finishes are those that are left.
func (s workState) finishes(plan plannedWork) []plannedFinish {
	return plan.finishes[min(len(s.efforts), len(plan.finishes)):]
}

// left is how many items are left to finish, or to skip.
func (s workState) left(plan plannedWork) int {
	return len(s.finishes(plan)) + max(plan.skips-s.skipped, 0)
}

// do finishes items as planned, and skips those behind them.
func (w *working) do(ctx context.Context, items []held, finishes []plannedFinish) error {
	for i, item := range items {
		if i >= len(finishes) {
			had, err := w.skip(ctx, w.me, item, "FOR_NOBODY")
			if err != nil {
				return err
			}
			if had {
				w.skips++
			}
			continue
		}
		found := findingOf(item.ExternalID)
		if finishes[i].mistaken {
			found = mistakeOf(item.ExternalID)
		}
		effort, err := w.finish(ctx, w.me, w.project, item, found)
		if err != nil {
			return err
		}
		if effort == "" {
			return nil // the item was lost: look again how far it is
		}
	}
	return nil
}

// haveReviewed has a reviewer look at those efforts that nobody has looked at.
func (w *working) haveReviewed(ctx context.Context, reviewer member, efforts []effortState) error {
	for i, f := range w.plan.finishes {
		if !f.reviewed {
			continue
		}
		if e := efforts[i]; e.Review == nil {
			if _, err := w.review(ctx, reviewer, e.ID, e.Item.ExternalID, e.Category.Name); err != nil {
				return err
			}
		}
		w.count(w.counted + 1)
	}
	return nil
}

// count shows how many steps are done.
func (w *working) count(steps int) {
	if steps > w.counted {
		w.shown.add(steps - w.counted)
		w.counted = steps
	}
}

// state asks how far the person is.
func (w *working) state(ctx context.Context) (workState, error) {
	var data struct {
		Project struct {
			Claims []held `json:"viewerClaims"`
			Member struct {
				Efforts struct {
					Nodes []effortState `json:"nodes"`
				} `json:"efforts"`
			} `json:"viewerMember"`
		} `json:"project"`
	}
	asked := map[string]any{"project": w.project.id}
	if err := w.ask(ctx, w.me, findWork, asked, &data); err != nil {
		return workState{}, err
	}
	s := workState{
		claims:  inHand(data.Project.Claims),
		efforts: slices.DeleteFunc(data.Project.Member.Efforts.Nodes, func(e effortState) bool { return e.UndoneAt != nil }),
	}
	slices.Reverse(s.efforts)
	if w.plan.skips == 0 {
		return s, nil
	}
	var skipped struct {
		Project struct {
			Items struct {
				Nodes []named `json:"nodes"`
			} `json:"items"`
		} `json:"project"`
	}
	err := w.ask(ctx, w.me, findSkipped, asked, &skipped)
	w.skips = max(w.skips, len(skipped.Project.Items.Nodes))
	s.skipped = w.skips
	return s, err
}
