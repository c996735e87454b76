package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Writer writes into a note again and again, each time at the version that it saw, as others do.
type Writer struct {
	Work
	User string
	Note string
	Rand *rand.Rand
}

const (
	readQuery  = `query($n: ID!) { note(id: $n) { version } }`
	writeQuery = `mutation($in: UpdateNoteInput!) { result: updateNote(input: $in) { note { version content } problem { __typename } } }`
)

// Run writes until the context ends.
func (w *Writer) Run(ctx context.Context) {
	for n := 1; w.rest(ctx, w.Rand); n++ {
		var seen struct{ Note *struct{ Version int } }
		a := w.ask(ctx, w.Rand, w.User, readQuery, map[string]any{"n": w.Note}, &seen, false)
		if a.outcome != Acknowledged || seen.Note == nil {
			if a.outcome == Acknowledged {
				w.complain(a, w.User, "a note", "nothing")
			}
			continue
		}
		w.write(ctx, seen.Note.Version, fmt.Sprintf("%s %d", w.User, n))
	}
}

func (w *Writer) write(ctx context.Context, at int, content string) {
	var data struct {
		Result struct {
			Note *struct {
				Version int
				Content string
			}
			Problem *struct {
				Typename string `json:"__typename"`
			}
		}
	}
	in := map[string]any{"noteId": w.Note, "content": content, "expectedVersion": at, "idempotencyKey": w.NewID()}
	a := w.ask(ctx, w.Rand, w.User, writeQuery, map[string]any{"in": in}, &data, w.Rand.IntN(10) == 0)
	o := a.did(Write, w.User, w.Note)
	o.Content = content
	if r := data.Result; o.Outcome == Acknowledged && r.Problem != nil {
		o.Outcome, o.Why = Refused, r.Problem.Typename
	} else if o.Outcome == Acknowledged {
		o.Version = at + 1 // the answer of a second request may show what others wrote since
		if r.Note == nil || a.tries == 1 && r.Note.Content == content && r.Note.Version != o.Version {
			w.complain(a, w.User, "a change of a note", fmt.Sprintf("%+v at version %d", r.Note, at))
		}
	}
	w.History.Did(o)
}

// Witness asks who is asking, again and again: whether a token is still good.
type Witness struct {
	Work
	User string
	Rand *rand.Rand
}

// Run asks until the context ends.
func (w *Witness) Run(ctx context.Context) {
	for w.rest(ctx, w.Rand) {
		var data struct{ Viewer *struct{ ID string } }
		a := w.ask(ctx, w.Rand, w.User, `{ viewer { id } }`, nil, &data, true)
		w.History.Did(a.did(Look, w.User, ""))
	}
}
