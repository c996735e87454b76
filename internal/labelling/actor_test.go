package labelling_test

import (
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// actor does what users do, at random.
type actor struct {
	*world
	rand *rand.Rand
}

func newActor(w *world, seed uint64) *actor {
	return &actor{world: w, rand: rand.New(rand.NewPCG(seed, 1))}
}

func (a *actor) user() project.UserID { return []project.UserID{ada, grace, rev, boss}[a.rand.IntN(4)] }

// item returns some item that fits.
func (a *actor) item(status project.Status) (project.Item, bool) {
	a.truth.mu.Lock()
	defer a.truth.mu.Unlock()
	for n := range len(a.truth.items) + 5 { // in an order that does not change between runs
		id := project.ItemIDOf(a.project, strconv.Itoa((n+a.rand.IntN(1+len(a.truth.items)))%(1+len(a.truth.items))))
		if i, ok := a.truth.items[id.ID]; ok && i.Status == status {
			return i, true
		}
	}
	return project.Item{}, false
}

// act does one thing. What may be refused may be refused.
func (a *actor) act() {
	a.t.Helper()
	var err error
	switch a.rand.IntN(10) {
	case 0, 1, 2:
		_, err = a.service.Claim(a.as(a.user()), labelling.ClaimItems{Project: a.project, Count: 1 + a.rand.IntN(4)})
	case 3, 4:
		if i, ok := a.item(project.Claimed); ok {
			_, err = a.service.Finish(a.as(i.Claim.User), a.finishing(i))
		}
	case 5:
		if i, ok := a.item(project.Claimed); ok {
			reason := []labelling.Reason{labelling.ToMeLater, labelling.ToOthers, labelling.ForNobody}[a.rand.IntN(3)]
			_, err = a.service.Skip(a.as(i.Claim.User), labelling.Skip{Item: i.ItemID, Token: i.Claim.Token, Reason: reason})
		}
	case 6:
		if i, ok := a.item(project.Claimed); ok {
			_, err = a.service.Release(a.as(i.Claim.User), labelling.Held{Item: i.ItemID, Token: i.Claim.Token})
		}
	case 7:
		if i, ok := a.item(project.Finished); ok {
			verdict := project.Correct
			if a.rand.IntN(2) == 0 {
				verdict = project.Incorrect
			}
			effort := project.EffortID{Project: a.project, ID: i.LastEffort}
			in := labelling.Reviewing{Effort: effort, Verdict: verdict}
			if verdict == project.Incorrect && a.rand.IntN(2) == 0 {
				f := a.finishing(i)
				in.Correction = &labelling.Correction{Category: f.Category, Subcategory: f.Subcategory, Keywords: f.Keywords}
			}
			_, err = a.service.Review(a.as([]project.UserID{rev, boss}[a.rand.IntN(2)]), in)
		}
	case 8:
		if i, ok := a.item(project.Finished); ok {
			a.truth.mu.Lock()
			e := a.truth.efforts[i.LastEffort]
			a.truth.mu.Unlock()
			_, err = a.service.Undo(a.as(e.User), labelling.Undoing{Effort: e.EffortID})
		}
	case 9:
		a.handle()
	}
	a.fine(err)
}

// handle has one message handled, not always the first one.
func (a *actor) handle() {
	a.t.Helper()
	a.queue.mu.Lock()
	if len(a.queue.mail) == 0 {
		a.queue.mu.Unlock()
		return
	}
	n := a.rand.IntN(len(a.queue.mail))
	m := a.queue.mail[n]
	a.queue.mail = append(a.queue.mail[:n:n], a.queue.mail[n+1:]...)
	if a.rand.IntN(4) == 0 {
		a.queue.mail = append(a.queue.mail, m) // it comes again
	}
	a.queue.mu.Unlock()
	err := a.consumer.Handle(a.t.Context(), m)
	if errors.Is(err, labelling.ErrNotReady) {
		a.queue.mu.Lock()
		a.queue.mail = append(a.queue.mail, m)
		a.queue.mu.Unlock()
		return
	}
	require.NoError(a.t, err)
}

// fine lets pass what users are refused.
func (a *actor) fine(err error) {
	a.t.Helper()
	var lost *labelling.LeaseLost
	var conflict *project.ItemConflict
	switch {
	case err == nil, errors.As(err, &lost), errors.As(err, &conflict):
	case errors.Is(err, labelling.ErrNotReady), errors.Is(err, labelling.ErrFull), errors.Is(err, labelling.ErrReviewed), errors.Is(err, labelling.ErrTooLate),
		errors.Is(err, labelling.ErrOwnWork):
	case fault.Is(err, fault.Conflict):
	default:
		require.NoError(a.t, err)
	}
}
