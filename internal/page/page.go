// Package page pages lists in the manner of Relay.
//
// It knows windows, slices, connections and cursors. It must not know
// what is listed nor where it is kept: a store sees a [Window] and returns a
// [Slice]. Start reading at [Codec.Open] and [Connect].
package page

import (
	"github.com/taggie/taggie/internal/fault"
)

// The bounds of first and last.
const (
	Default = 20
	Max     = 500
)

// Args are the paging arguments as a client gives them.
type Args struct {
	First  *int
	After  *Cursor
	Last   *int
	Before *Cursor
}

// Window is what a store is asked for: up to Limit items after (backward: before) From.
type Window struct {
	Limit    int
	Backward bool
	From     string // the position of an item, exclusive; "" for the start (backward: the end) of the list
	// Probe asks whether there is something on the other side of From too, which costs one more read.
	Probe bool
}

// Slice is what a store returns: items in list order, whatever the direction they were read in.
type Slice[T any] struct {
	Items     []T
	Positions []string // aligned with Items; each can be the From of a later Window
	More      bool     // something lies beyond the far end of the window
	Other     bool     // something lies at or beyond the near end; only when asked for by Window.Probe
	// Until is where a page ends that is short although More is true; "" for a full page, which ends at an item.
	Until string
}

// window checks the arguments and returns the window without its From.
func (a Args) window() (Window, error) {
	switch {
	case a.First != nil && a.Last != nil:
		return Window{}, fault.Invalidf("last", "give first or last, not both")
	case a.After != nil && a.Before != nil:
		return Window{}, fault.Invalidf("before", "give after or before, not both")
	case a.After != nil && a.Last != nil:
		return Window{}, fault.Invalidf("after", "after goes with first, before with last")
	case a.Before != nil && a.First != nil:
		return Window{}, fault.Invalidf("before", "before goes with last, after with first")
	}
	w := Window{Limit: Default, Backward: a.Last != nil || a.Before != nil}
	name, n := "first", a.First
	if w.Backward {
		name, n = "last", a.Last
	}
	if n != nil {
		if *n < 1 || *n > Max {
			return Window{}, fault.Invalidf(name, "%s must be 1 to %d", name, Max)
		}
		w.Limit = *n
	}
	return w, nil
}

// Fill turns what was read in reading direction, up to one item more than the window asks for, into a Slice: the
// surplus item becomes More, and a backward reading is turned round.
func Fill[T any](w Window, items []T, position func(T) string) Slice[T] {
	s := Slice[T]{Items: items}
	if len(s.Items) > w.Limit {
		s.Items, s.More = s.Items[:w.Limit], true
	}
	if w.Backward {
		for i, j := 0, len(s.Items)-1; i < j; i, j = i+1, j-1 {
			s.Items[i], s.Items[j] = s.Items[j], s.Items[i]
		}
	}
	s.Positions = make([]string, len(s.Items))
	for i, item := range s.Items {
		s.Positions[i] = position(item)
	}
	return s
}
