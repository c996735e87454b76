package main

import (
	"context"
	"errors"
	"fmt"
)

// write makes a note of each labeller.
func (c *claims) write(ctx context.Context) error {
	for _, token := range c.people {
		a, err := c.api.ask(ctx, token, `mutation { createNote(input: {title: "A note", content: "Something to do"}) { note { id } } }`, nil)
		if err != nil {
			return err
		}
		c.notes = append(c.notes, a.text("createNote", "note", "id"))
	}
	return nil
}

// change changes the note of a labeller again and again, and returns how often. What fails is not tried again.
func (c *claims) change(ctx context.Context, labeller int) (done int, err error) {
	for n := range itemsEach {
		a, err := c.api.ask(ctx, c.people[labeller], `mutation($in: UpdateNoteInput!) { updateNote(input: $in) { note { id } problem { ... on Problem { message } } } }`,
			vars{"in": vars{"noteId": c.notes[labeller], "content": fmt.Sprintf("Something to do, %d", n)}})
		if _, failed := errors.AsType[refused](err); failed {
			continue
		}
		if err == nil && a.text("updateNote", "note", "id") == "" {
			err = fmt.Errorf("the note was not changed: %v", a)
		}
		if err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}
