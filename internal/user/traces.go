package user

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Sweep looks for what some rows of others say about a user, from a position on, and erases a bounded part of it. It returns how many traces it
// met, those included that go by themselves in a moment, and where to go on: "" at the end. The first position is "". It can be repeated from any
// position that it returned, and two servers may do so at the same time.
type Sweep func(ctx context.Context, id ID, position string) (met int, next string, err error)

// TraceEraser erases what is in the rows of others about a user, who is signed out and whose own rows are gone or go by themselves.
//
// Others go on with their work meanwhile. Who read a row before it was changed may write the user's id into it once more, within the time that
// one operation has. So all sweeps are made again, after that time, until a pass meets no trace: there are two passes or more.
type TraceEraser struct {
	Sweeps []Sweep
	Settle time.Duration                                    // how long an operation that has begun may go on
	Rest   func(ctx context.Context, d time.Duration) error // waits
}

// tracing is a position of a [TraceEraser]. The zero one is its beginning.
type tracing struct {
	Pass  int    `json:"pass,omitempty"`
	Sweep int    `json:"sweep,omitempty"`
	At    string `json:"at,omitempty"`  // the position of the sweep
	Met   int    `json:"met,omitempty"` // traces in this pass
}

// EraseTraces does a bounded part, from the position on, and returns where to go on; "" when a pass has met no trace. The first position is "". It
// can be repeated from any position that it returned.
func (e TraceEraser) EraseTraces(ctx context.Context, id ID, position string) (string, error) {
	var at tracing
	if position != "" {
		if err := json.Unmarshal([]byte(position), &at); err != nil {
			return "", fmt.Errorf("read the position of an erasure of traces: %w", err)
		}
	}
	if at.Sweep >= len(e.Sweeps) {
		return "", nil
	}
	if at.Pass > 0 && at.Sweep == 0 && at.At == "" {
		if err := e.Rest(ctx, e.Settle); err != nil {
			return "", err
		}
	}
	met, next, err := e.Sweeps[at.Sweep](ctx, id, at.At)
	if err != nil {
		return "", fmt.Errorf("erase the traces of user %s: %w", id, err)
	}
	at.Met, at.At = at.Met+met, next
	if next == "" {
		at.Sweep++
	}
	if at.Sweep == len(e.Sweeps) {
		if at.Pass > 0 && at.Met == 0 {
			return "", nil
		}
		at = tracing{Pass: at.Pass + 1}
	}
	text, err := json.Marshal(at)
	return string(text), err
}
