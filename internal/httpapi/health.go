package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
)

const (
	// readyTimeout bounds each check: whoever asks for readiness asks again soon.
	readyTimeout = 2 * time.Second
	// readyFor is how long results are remembered: /readyz is public, and must not pass on what it is asked.
	readyFor = time.Second
)

// Check finds out whether something that the server needs answers.
type Check struct {
	Name     string // as operators know it: "dynamodb"
	Check    func(context.Context) error
	Optional bool // the server does its work without it, if less well
	Always   bool // never remembered: it costs nothing, and must be seen at once
}

// healthy says that the process runs; it asks no store, because restarting would not mend one.
func healthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says whether all stores answer, and names those that do not. Why is in the log.
func ready(checks []Check, log *slog.Logger) http.Handler {
	r := &readiness{log: log, now: time.Now, timeout: readyTimeout}
	for _, check := range checks {
		if check.Always {
			r.always = append(r.always, check)
		} else {
			r.remembered = append(r.remembered, check)
		}
	}
	return r
}

// readiness answers /readyz.
type readiness struct {
	log                *slog.Logger
	now                func() time.Time
	timeout            time.Duration
	always, remembered []Check

	mu      sync.Mutex // held while stores are asked: who comes meanwhile waits for the same results
	results []error
	until   time.Time
}

// ServeHTTP answers with the state of each check.
func (h *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}{"ready", make(map[string]string, len(h.always)+len(h.remembered))}
	status := http.StatusOK
	tell := func(checks []Check, results []error) {
		for i, check := range checks {
			answer.Checks[check.Name] = state(check, results[i])
			if results[i] != nil && !check.Optional {
				answer.Status, status = "not ready", http.StatusServiceUnavailable
			}
		}
	}
	// Others wait for the results as well, whether this client does or not.
	ctx := context.WithoutCancel(r.Context())
	tell(h.remembered, h.recent(ctx))
	tell(h.always, h.ask(ctx, h.always))
	writeJSON(w, status, answer)
}

// state is a result as it is shown: an error may say itself what operators may read, by a method Said.
func state(check Check, err error) string {
	text := "ok"
	said, tells := errors.AsType[interface {
		error
		Said() string
	}](err)
	switch {
	case err == nil:
		return text
	case tells:
		text = said.Said()
	case errors.Is(err, context.DeadlineExceeded):
		text = present.Late
	default:
		text = "failed"
		if known, ok := errors.AsType[*fault.Error](err); ok {
			text = known.Message // which a client may read
		}
	}
	if check.Optional {
		text = "degraded: " + text
	}
	return text
}

// recent returns results that are not older than readyFor.
func (h *readiness) recent(ctx context.Context) []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.results == nil || !h.now().Before(h.until) {
		h.results = h.ask(ctx, h.remembered)
		h.until = h.now().Add(readyFor)
	}
	return h.results
}

// ask runs checks at once and logs those that fail.
func (h *readiness) ask(ctx context.Context, checks []Check) []error {
	bounded, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	answers := make([]chan error, len(checks))
	for i, check := range checks {
		answers[i] = make(chan error, 1) // a check that comes too late must not wait for a reader
		go func() { answers[i] <- ask(bounded, check) }()
	}
	results := make([]error, len(checks))
	for i, check := range checks {
		select {
		case results[i] = <-answers[i]:
		case <-bounded.Done():
			results[i] = bounded.Err()
		}
		if results[i] != nil {
			message := "not ready"
			if check.Optional {
				message = "degraded"
			}
			h.log.WarnContext(ctx, message, "check", check.Name, "error", results[i])
		}
	}
	return results
}

// ask runs a check in a goroutine of its own, where a panic would end the process.
func ask(ctx context.Context, check Check) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return check.Check(ctx)
}
