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
// one operation has. So all sweeps are made again, after that time, until a pass meets no trace: there are two passes or more. What the passes meet
// gets rarer, so the time between them doubles, up to an hour.
//
// A sweep may cause what those behind it look for, of the same eraser and of later ones, and nothing that earlier erasers look for.
type TraceEraser struct {
	Sweeps []Sweep
	Settle time.Duration // how long an operation that has begun may go on
	Now    func() time.Time
}

// longestRest is the longest time between two passes.
const longestRest = time.Hour

// tracing is a position of a [TraceEraser]. The zero one is its beginning.
type tracing struct {
	Pass  int       `json:"pass,omitempty"`
	From  time.Time `json:"from,omitzero"` // before which the pass does not begin
	Sweep int       `json:"sweep,omitempty"`
	At    string    `json:"at,omitempty"`  // the position of the sweep
	Met   int       `json:"met,omitempty"` // traces in this pass
}

// EraseTraces does a bounded part, from the position on, and returns where to go on; "" when a pass has met no trace. The first position is "". It
// can be repeated from any position that it returned. *[Later] comes together with a position from which it goes on at that time.
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
	if e.Now().Before(at.From) {
		return position, &Later{At: at.From}
	}
	met, next, err := e.Sweeps[at.Sweep](ctx, id, at.At)
	if err != nil {
		return "", fmt.Errorf("erase the traces of user %s: %w", id, err)
	}
	at.Met, at.At = at.Met+met, next
	if next == "" {
		at.Sweep++
	}
	if at.Sweep < len(e.Sweeps) {
		return at.String(), nil
	}
	if at.Pass > 0 && at.Met == 0 {
		return "", nil
	}
	at = tracing{Pass: at.Pass + 1, From: e.Now().Add(e.rest(at.Pass))}
	return at.String(), &Later{At: at.From}
}

// rest returns how long nothing is done after a pass.
func (e TraceEraser) rest(pass int) time.Duration {
	return max(e.Settle, min(e.Settle<<min(pass, 10), longestRest))
}

// String returns the position as it is kept.
func (t tracing) String() string {
	text, _ := json.Marshal(t) // it has nothing that cannot be written
	return string(text)
}
