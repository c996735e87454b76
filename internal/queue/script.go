package queue

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/telemetry"
)

// The scripts. What each needs and returns is said at its beginning.
var (
	//go:embed lua/prelude.lua
	prelude string

	//go:embed lua/guard.lua
	guard string

	//go:embed lua/reserve.lua
	reserveSource string
	//go:embed lua/cancel.lua
	cancelSource string
	//go:embed lua/apply.lua
	applySource string
	//go:embed lua/extend.lua
	extendSource string
	//go:embed lua/expired.lua
	expiredSource string
	//go:embed lua/fill.lua
	fillSource string
	//go:embed lua/snapshot.lua
	snapshotSource string
	//go:embed lua/read.lua
	readSource string
	//go:embed lua/add.lua
	addSource string
	//go:embed lua/note.lua
	noteSource string
	//go:embed lua/pause.lua
	pauseSource string
	//go:embed lua/settings.lua
	settingsSource string
	//go:embed lua/words.lua
	wordsSource string
	//go:embed lua/statistics.lua
	statisticsSource string
	//go:embed lua/lease.lua
	leaseSource string
	//go:embed lua/reviews.lua
	reviewsSource string
	//go:embed lua/heartbeat.lua
	heartbeatSource string
	//go:embed lua/publish.lua
	publishSource string
	//go:embed lua/own.lua
	ownSource string
	//go:embed lua/settle.lua
	settleSource string
	//go:embed lua/retry.lua
	retrySource string
	//go:embed lua/begin.lua
	beginSource string
	//go:embed lua/load.lua
	loadSource string
	//go:embed lua/commit.lua
	commitSource string
	//go:embed lua/progress.lua
	progressSource string
	//go:embed lua/abort.lua
	abortSource string
	//go:embed lua/fits.lua
	fitsSource string
	//go:embed lua/whole.lua
	wholeSource string
	//go:embed lua/condemn.lua
	condemnSource string
	//go:embed lua/append.lua
	appendSource string
	//go:embed lua/erase.lua
	eraseSource string
	//go:embed lua/drop.lua
	dropSource string

	reserveScript    = guarded(reserveSource)
	cancelScript     = guarded(cancelSource)
	applyScript      = guarded(applySource)
	extendScript     = guarded(extendSource)
	expiredScript    = guarded(expiredSource)
	fillScript       = guarded(fillSource)
	snapshotScript   = script(snapshotSource)
	readScript       = script(readSource)
	addScript        = guarded(addSource)
	noteScript       = guarded(noteSource)
	pauseScript      = guarded(pauseSource)
	settingsScript   = guarded(settingsSource)
	wordsScript      = script(wordsSource)
	statisticsScript = script(statisticsSource)
	leaseScript      = script(leaseSource)
	reviewsScript    = script(reviewsSource)
	heartbeatScript  = script(heartbeatSource)
	publishScript    = script(publishSource)
	ownScript        = script(ownSource)
	settleScript     = script(settleSource)
	retryScript      = script(retrySource)
	beginScript      = script(beginSource)
	loadScript       = script(loadSource)
	commitScript     = script(commitSource)
	progressScript   = script(progressSource)
	abortScript      = script(abortSource)
	fitsScript       = script(fitsSource)
	wholeScript      = script(wholeSource)
	condemnScript    = script(condemnSource)
	appendScript     = script(appendSource)
	eraseScript      = guarded(eraseSource)
	dropScript       = script(dropSource)
)

func script(source string) *redis.Script { return redis.NewScript(prelude + source) }

// guarded is a script that changes a project. The last of its keys is the set of those that are there; see lua/guard.lua.
func guarded(source string) *redis.Script {
	return redis.NewScript(prelude + "local function body()\n" + source + "\nend\n" + guard)
}

// outcomes are what a script can answer instead of OK.
var outcomes = map[string]error{
	"NOTREADY":   labelling.ErrNotReady,
	"PAUSED":     labelling.ErrPaused,
	"FULL":       labelling.ErrFull,
	"EARLY":      labelling.ErrEarly,
	"GAP":        labelling.ErrGap,
	"REBUILDING": labelling.ErrRebuilding,
	"NONE":       labelling.ErrNoDeadLetter,
}

// run runs a script and returns what it answered after OK. Scripts travel by their hash; a Redis that lost them gets the text.
func (q *Queue) run(ctx context.Context, what string, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(telemetry.WithScript(ctx, what), q.client, keys, args...).Slice()
	if err != nil {
		return nil, failed(what, err)
	}
	if len(reply) == 0 {
		return nil, fmt.Errorf("%s in Redis: no answer", what)
	}
	outcome, at, happened := strings.Cut(text(reply[0]), " ")
	if happened {
		epoch, id, _ := strings.Cut(at, " ")
		q.told.add(keys[0], labelling.Cursor{Epoch: epoch, ID: id}, time.Now())
	}
	if outcome == "OK" {
		return reply[1:], nil
	}
	if err, known := outcomes[outcome]; known {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return nil, fmt.Errorf("%s in Redis: unexpected answer %q", what, outcome)
}

// flag is run for scripts that answer whether they changed anything.
func (q *Queue) flag(ctx context.Context, what string, s *redis.Script, keys []string, args ...any) (bool, error) {
	reply, err := q.run(ctx, what, s, keys, args...)
	if err != nil {
		return false, err
	}
	if len(reply) == 0 {
		return false, errors.New(what + " in Redis: unexpected answer")
	}
	return number(reply[0]) == 1, nil
}

// What scripts answer: texts, numbers, and lists of these. What is missing or of another kind reads as nothing.

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func number(v any) int {
	n, _ := strconv.Atoi(text(v))
	return n
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func texts(v any) []string {
	l := list(v)
	out := make([]string, len(l))
	for i := range l {
		out[i] = text(l[i])
	}
	return out
}

// pairs yields a flat list of names and values.
func pairs(v any) func(yield func(name, value string) bool) {
	return func(yield func(string, string) bool) {
		l := list(v)
		for i := 0; i+1 < len(l); i += 2 {
			if !yield(text(l[i]), text(l[i+1])) {
				return
			}
		}
	}
}

// Times travel as milliseconds in text: Lua would round or rewrite numbers of their size.

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func instant(ms string) time.Time {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
