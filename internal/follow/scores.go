package follow

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

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
	lost    time.Time // since when the viewer may not read the score; zero while that may be
}

// ListenToScore tells the viewer what happens to a score. Messages and errors are those of [Hub.Listen], with these differences: the cursor is one of
// the score. Each event rests upon a look at the score since the event: one GetItem for all who follow the score on this server, who are also told
// what was seen. The channel is closed, after ended was called, when the score is deleted, and when the viewer may no longer read it. The event that
// says so is the last one. Where another program did it there is none, and an event half a minute later closes the channel.
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
	seen, err := f.look(ctx, time.Now())
	if err == nil {
		_, err = seen.shown(ctx)
	}
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

// start implements [rules].
func (f *scoreFollower) start(ctx context.Context) error {
	if err := f.begin(ctx, f.own); err != nil {
		return err
	}
	return f.say(ctx, Told{}, nil)
}

// pass implements [rules].
func (f *scoreFollower) pass(ctx context.Context, of Stream, e Entry) error {
	f.positions[of] = e.ID
	if e.Of == "" {
		return nil
	}
	for since := e.read; ; since = time.Now() {
		var seen *sight
		err := f.again(ctx, func(ctx context.Context) (err error) {
			seen, err = f.look(ctx, since)
			return err
		})
		if err != nil {
			return err
		}
		shown, err := seen.shown(ctx)
		if fault.Is(err, fault.NotFound) {
			return f.lose(ctx, e)
		}
		f.lost = time.Time{}
		if err != nil {
			return err
		}
		if !shown.Tells(ctx, e.Event) {
			return nil
		}
		if err = f.sayBefore(ctx, Told{Event: &e.Event, Looked: seen.began, Score: &shown}); !errors.Is(err, errUntaken) {
			return err
		}
	}
}

// lose tells the event by which the viewer lost the score, and that there is nothing more to follow. Events on the way to that one are left out. It may
// not come, when another program changed the score.
func (f *scoreFollower) lose(ctx context.Context, e Entry) error {
	switch {
	case score.MayEnd(e.Event):
		if err := f.say(ctx, Told{Event: &e.Event}, nil); err != nil {
			return err
		}
	case f.lost.IsZero():
		f.lost = time.Now()
		return nil
	case time.Since(f.lost) < looks:
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
