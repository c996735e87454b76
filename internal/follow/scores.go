package follow

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// idleLooks is how old a look at a score gets, about, while nothing happens to it: another program may take it away, and leaves no event.
const idleLooks = 5 * time.Minute

// sight is a score as somebody saw it who follows it. Nobody changes it: all who follow the score have the same one, and each may be shown it or not.
type sight struct {
	began time.Time
	score score.Score
	gone  bool
}

// since is when the look began.
func (s *sight) since() time.Time { return s.began }

// scoreFollower is one who follows a score.
type scoreFollower struct {
	*reader
	ref     score.Ref
	counted *listener[*sight]
	ended   func()
	lost    time.Time // since when it is seen that the viewer may not read the score; zero while that may be
}

// ListenToScore tells the viewer what happens to a score. Messages and errors are those of [Hub.Listen], with these differences: the cursor is one of
// the score. Each event rests upon a look at the score since the event: one GetItem for all who follow the score on this server, who are also told
// what was seen. The channel is closed, after ended was called, when the score is deleted, and when the viewer may no longer read it. The event that
// says so is the last one. There is none where it was missed, and a position is the last message then; nor where another program took the score away:
// that is noticed within five minutes by one GetItem for all followers, and half a minute later the channel is closed.
//
// Unauthenticated for who has not signed up, NotFound for a score that the viewer may not read, Invalid for the cursor of another score, Exhausted for
// who listens to scores [MaxListening] times already.
func (h *Hub) ListenToScore(ctx context.Context, ref score.Ref, after *Cursor, ended func()) (<-chan Told, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return nil, err
	}
	own := Score(ref.ID)
	counted, err := h.enterScore(me, ref)
	if err != nil {
		return nil, err
	}
	exit := func() { h.exitScore(me, ref) }
	f := &scoreFollower{reader: newReader(h, own), ref: ref, counted: counted, ended: ended}
	f.rules = f
	_, _, err = f.see(ctx, time.Now())
	if err == nil && after != nil && !after.Of(own) { // which is for those to know who may read the score
		err = fault.Invalidf("after", "this is the cursor of another score")
	}
	if err != nil {
		exit()
		return nil, err
	}
	return f.out, h.follow(ctx, f.reader, exit, func(ctx context.Context) error {
		if after != nil {
			f.join(own, after.Own)
		} else if err := f.start(ctx); err != nil {
			return err
		}
		return f.run(ctx)
	})
}

// shown returns the score to the viewer. NotFound for one that is gone, or that the viewer may not read.
func (s *sight) shown(ctx context.Context) (score.Score, error) {
	if s.gone {
		return score.Score{}, fault.New(fault.NotFound, "there is no such score")
	}
	return score.Show(ctx, s.score)
}

// look returns the score as it was read since an instant.
func (f *scoreFollower) look(ctx context.Context, since time.Time) (*sight, error) {
	return f.counted.at(ctx, since, func(ctx context.Context) (*sight, error) {
		began := time.Now()
		read, err := domain.First(f.hub.o.Scores.ScoresByID(ctx, []score.Ref{f.ref}))
		if fault.Is(err, fault.NotFound) {
			return &sight{began: began, gone: true}, nil
		}
		if err != nil {
			return nil, err
		}
		return &sight{began: began, score: read}, nil
	})
}

// see returns the score as the viewer may read it, as it was read since an instant, and when reading began. NotFound as of [sight.shown].
func (f *scoreFollower) see(ctx context.Context, since time.Time) (score.Score, time.Time, error) {
	seen, err := f.look(ctx, since)
	if err != nil {
		return score.Score{}, time.Time{}, err
	}
	f.idleAt = nextLook(seen.began)
	shown, err := seen.shown(ctx)
	switch {
	case err == nil:
		f.lost = time.Time{}
	case f.lost.IsZero():
		f.lost = seen.began // the same for all who have seen this
	}
	return shown, seen.began, err
}

// nextLook returns when somebody looks again who is told nothing after a look.
func nextLook(last time.Time) time.Time { return last.Add(idleLooks/2 + rand.N(idleLooks/2)) }

// seeSurely sees until it succeeds, or has failed for long.
func (f *scoreFollower) seeSurely(ctx context.Context, since time.Time) (shown score.Score, began time.Time, err error) {
	err = f.again(ctx, func(ctx context.Context) (err error) {
		shown, began, err = f.see(ctx, since)
		return err
	})
	return shown, began, err
}

// start implements [rules].
func (f *scoreFollower) start(ctx context.Context) error {
	if err := f.begin(ctx, f.own); err != nil {
		return err
	}
	// The score is read after the position: if it was lost before, no event that follows says so.
	_, _, lost := f.seeSurely(ctx, time.Now())
	if lost != nil && !fault.Is(lost, fault.NotFound) {
		return lost
	}
	if err := f.say(ctx, Told{}, nil); err != nil || lost == nil {
		return err
	}
	f.ended()
	return errOver
}

// idle implements [rules]. One of all followers looks, and the others take what it has seen.
func (f *scoreFollower) idle(ctx context.Context) error {
	since := time.Now().Add(-idleLooks / 2)
	if !f.lost.IsZero() {
		since = f.lost.Add(looks)
	}
	_, _, err := f.see(ctx, since)
	switch {
	case fault.Is(err, fault.NotFound):
		return f.await()
	case fault.Is(err, fault.Unavailable): // nothing happened that has to be told
		f.idleAt = nextLook(time.Now())
		return nil
	}
	return err
}

// pass implements [rules].
func (f *scoreFollower) pass(ctx context.Context, of Stream, e Entry) error {
	f.positions[of] = e.ID
	if e.Of == "" {
		return nil
	}
	for since := e.read; ; since = time.Now() {
		shown, began, err := f.seeSurely(ctx, since)
		if fault.Is(err, fault.NotFound) {
			return f.lose(ctx, e)
		}
		if err != nil {
			return err
		}
		if !shown.Tells(ctx, e.Event) {
			return nil
		}
		if err = f.sayBefore(ctx, Told{Event: &e.Event, Looked: began, Score: &shown}); !errors.Is(err, errUntaken) {
			return err
		}
	}
}

// lose tells the event by which the viewer lost the score, and that there is nothing more to follow. Events on the way to that one are left out.
func (f *scoreFollower) lose(ctx context.Context, e Entry) error {
	if !score.MayEnd(e.Event) {
		return f.await()
	}
	if err := f.say(ctx, Told{Event: &e.Event}, nil); err != nil {
		return err
	}
	f.ended()
	return errOver
}

// await waits for the event by which the viewer lost the score, and ends after half a minute without it: it does not come if another program changed
// the score.
func (f *scoreFollower) await() error {
	if f.idleAt = f.lost.Add(looks); time.Now().Before(f.idleAt) {
		return nil
	}
	f.ended()
	return errOver
}

// enterScore counts a user who is about to follow a score. Exhausted for who follows scores [MaxListening] times.
func (h *Hub) enterScore(who UserID, ref score.Ref) (*listener[*sight], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ofScores[who] >= MaxListening {
		return nil, often("scores")
	}
	h.ofScores[who]++
	l := h.scores[ref]
	if l == nil {
		l = newListener[*sight]()
		h.scores[ref] = l
	}
	l.times++
	return l, nil
}

// exitScore takes back what enterScore has counted.
func (h *Hub) exitScore(who UserID, ref score.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ofScores[who]--; h.ofScores[who] == 0 {
		delete(h.ofScores, who)
	}
	l := h.scores[ref]
	if l.times--; l.times == 0 {
		delete(h.scores, ref)
	}
}
