package demo

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// queueState is how far a project is.
type queueState struct {
	Queued int `json:"queued"`
	Counts struct {
		Total     int `json:"total"`
		Finished  int `json:"finished"`
		Skipped   int `json:"skipped"`
		Remaining int `json:"remaining"`
	} `json:"counts"`
}

// tally is what a crew did.
type tally struct {
	finished, skipped, passedOn, released, undone, reviewed atomic.Int64
}

func (t *tally) String() string {
	return fmt.Sprintf("%d finished, %d skipped, %d passed on, %d given back, %d undone, %d reviewed",
		t.finished.Load(), t.skipped.Load(), t.passedOn.Load(), t.released.Load(), t.undone.Load(), t.reviewed.Load())
}

// lineEvery is how often a log is told how far the labelling is.
const lineEvery = 30 * time.Second

// board shows how far a project is, and what a crew did for that: a bar for people who watch, and a line now and then for logs.
type board struct {
	w    io.Writer
	bar  *progressbar.ProgressBar
	last time.Time // that a line was written
}

func (b *board) show(q queueState, t *tally) {
	done := q.Counts.Total - q.Counts.Remaining
	if !terminal(b.w) {
		if time.Since(b.last) >= lineEvery {
			b.last = time.Now()
			say(b.w, "Labelled %d of %d items; the crew: %v", done, q.Counts.Total, t)
		}
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(q.Counts.Total, progressbar.OptionSetWriter(b.w), progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	}
	b.bar.ChangeMax(q.Counts.Total)
	b.bar.Describe(fmt.Sprintf("Labelling (%d by the crew)", t.finished.Load()))
	_ = b.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

// end says what was done in all.
func (b *board) end(t *tally) {
	if b.bar != nil {
		say(b.w, "")
	}
	say(b.w, "The crew has ended: %v.", t)
}
