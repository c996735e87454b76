package demo

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress tells how far the loading is. Its methods may be called by several goroutines.
type progress interface {
	add(steps int)
	finish()
}

// newProgress returns a bar for people who watch, and a line for every tenth of the way for logs.
func newProgress(w io.Writer, what string, total int) progress {
	if terminal(w) {
		return bar{w: w, ProgressBar: progressbar.NewOptions(total,
			progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("Loading "+what),
			progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("changes"), progressbar.OptionThrottle(100*time.Millisecond),
		)}
	}
	return &lines{w: w, what: what, total: total}
}

func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

type bar struct {
	*progressbar.ProgressBar
	w io.Writer
}

// A bar that cannot be drawn is no reason to stop.
func (b bar) add(steps int) { _ = b.Add(steps) }

func (b bar) finish() { say(b.w, "") }

type lines struct {
	w     io.Writer
	what  string
	total int

	mu   sync.Mutex
	done int
}

func (l *lines) add(steps int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.done * 10 / l.total
	l.done += steps
	if tenth := l.done * 10 / l.total; tenth > before {
		say(l.w, "Loading %s: %d%% of %d changes", l.what, tenth*10, l.total)
	}
}

func (l *lines) finish() {}

// say writes a line; somebody who does not listen is no reason to stop.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
