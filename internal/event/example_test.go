package event_test

import (
	"fmt"

	"github.com/taggie/taggie/internal/event"
)

func ExampleEvent_About() {
	fmt.Printf("%q %q\n", event.Event{Kind: event.OfNote, With: "bob"}.About(), event.Event{Kind: event.OfScore, Parts: "TITLE"}.About())
	// Output: "bob" ""
}
