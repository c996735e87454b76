package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of what is taken from an engine that talks too much.
const (
	maxLine       = 2 << 10 // bytes; the rest of a longer line is dropped
	linesASecond  = 50      // logged; further ones are counted
	linesForError = 10      // kept, to say in an error why an engine ended
)

// output receives what a process prints, and logs it line by line.
type output struct {
	log *slog.Logger

	mu        sync.Mutex
	line      []byte
	last      []string
	announced bool
	second    time.Time
	inSecond  int
	dropped   int
}

// Write takes a piece of output; it never fails, so that the process never blocks or dies of it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, piece[:min(len(piece), maxLine-len(o.line))]...)
		if ended {
			o.endLine()
		}
		rest = after
	}
	return len(p), nil
}

func (o *output) endLine() {
	text := strings.TrimSpace(strings.ToValidUTF8(string(o.line), "\uFFFD"))
	o.line = o.line[:0]
	if text == "" {
		return
	}
	if strings.Contains(text, announcement) {
		o.announced = true
	}
	o.last = append(o.last, text)
	if len(o.last) > linesForError {
		o.last = o.last[1:]
	}
	o.logLine(text)
}

func (o *output) logLine(text string) {
	if now := time.Now(); now.Sub(o.second) >= time.Second {
		if o.dropped > 0 {
			o.log.Warn("engine printed too much", "lines_dropped", o.dropped)
		}
		o.second, o.inSecond, o.dropped = now, 0, 0
	}
	if o.inSecond++; o.inSecond > linesASecond {
		o.dropped++
		return
	}
	o.log.Info(text)
}

// hasAnnounced reports whether the process said that it holds its port.
func (o *output) hasAnnounced() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.announced
}

// tail returns the last lines, for an error.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endLine() // the last one may lack its end
	if len(o.last) == 0 {
		return "it printed nothing"
	}
	return "it printed: " + strings.Join(o.last, " | ")
}
