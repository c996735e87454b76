package labelling

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/project"
)

// ClaimsNow is what a user has in a project.
type ClaimsNow struct {
	Project project.Project // as the viewer is in it: the proof for what is shown
	Claims  []Claim         // oldest first; for reading only
	Looked  time.Time       // when reading began that the viewer is a member
}

// Claims tells what the viewer, who has to be a member, has in a project: now, and whenever that has changed. Changes that follow
// one another quickly may be told as one. The channel is closed, left is called, and the faults are, as with [Hub.Listen].
func (h *Hub[T]) Claims(ctx context.Context, p project.ID, left func()) (<-chan ClaimsNow, error) {
	e := &claimsEar[T]{hub: h, out: make(chan ClaimsNow)}
	if err := h.listen(ctx, Listen{Project: p, Mine: true, Left: left}, e); err != nil {
		return nil, err
	}
	return e.out, nil
}

// claimsEar hears that the viewer did something, and reads what came of it.
type claimsEar[T any] struct {
	hub   *Hub[T]
	out   chan ClaimsNow
	now   ClaimsNow // as it was told
	told  bool
	stale bool // something happened since
}

func (e *claimsEar[T]) Tell(ctx context.Context, t Told[T], until time.Time) error {
	e.now.Project, e.now.Looked = t.Project, t.Looked
	switch {
	case t.Snapshot != nil:
		return e.show(ctx, t.Snapshot.Claims, until)
	case t.Event != nil:
		e.stale = true
	}
	return nil
}

func (e *claimsEar[T]) Rest(ctx context.Context, now Told[T], until time.Time) error {
	if !e.stale {
		return nil
	}
	e.now.Project, e.now.Looked = now.Project, now.Looked
	short, cancel := context.WithTimeout(ctx, prompt)
	claims, err := e.hub.o.Service.Claims(short, e.now.Project)
	cancel()
	if err != nil {
		return err
	}
	return e.show(ctx, claims, until)
}

// show tells claims unless they are those that were told last.
func (e *claimsEar[T]) show(ctx context.Context, claims []Claim, until time.Time) error {
	if !e.told || !slices.Equal(claims, e.now.Claims) {
		now := e.now
		now.Claims = claims
		if err := sendBy(ctx, e.out, now, until); err != nil {
			e.stale = true
			return err
		}
		e.now, e.told = now, true
	}
	e.stale = false
	return nil
}

func (e *claimsEar[T]) Close() { close(e.out) }
