package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// readyTimeout bounds each check: whoever asks for readiness asks again soon.
const readyTimeout = 2 * time.Second

// Check finds out whether something that the server needs answers.
type Check struct {
	Name  string // as operators know it: "dynamodb"
	Check func(context.Context) error
}

// healthy says that the process runs; it asks no store, because restarting would not mend one.
func healthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says whether all stores answer, and names those that do not. Why is in the log.
func ready(checks []Check, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		results := make([]chan error, len(checks))
		for i, check := range checks {
			results[i] = make(chan error, 1) // a check that comes too late must not wait for a reader
			go func() { results[i] <- ask(ctx, check) }()
		}
		answer := struct {
			Status string            `json:"status"`
			Checks map[string]string `json:"checks"`
		}{"ready", make(map[string]string, len(checks))}
		status := http.StatusOK
		for i, check := range checks {
			var err error
			select {
			case err = <-results[i]:
			case <-ctx.Done():
				err = ctx.Err()
			}
			if err == nil {
				answer.Checks[check.Name] = "ok"
				continue
			}
			answer.Status, answer.Checks[check.Name], status = "not ready", "failed", http.StatusServiceUnavailable
			if errors.Is(err, context.DeadlineExceeded) {
				answer.Checks[check.Name] = messageLate
			}
			log.WarnContext(r.Context(), "not ready", "check", check.Name, "error", err)
		}
		writeJSON(w, status, answer)
	})
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
