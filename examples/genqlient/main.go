// Command genqlient shows how a Go program talks to Taggie, with a client that genqlient makes of schema.graphqls and
// operations.graphql: it pages through the caller's notes and renames the last one, there and back. TAGGIE_URL says which
// server, TAGGIE_TOKEN as whom.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"

	"github.com/Khan/genqlient/graphql"
)

//go:generate go tool genqlient

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	url := cmp.Or(os.Getenv("TAGGIE_URL"), "http://127.0.0.1:8080") + "/graphql"
	client := graphql.NewClient(url, &http.Client{Transport: bearer(os.Getenv("TAGGIE_TOKEN"))})
	if err := run(ctx, client); err != nil {
		log.Fatal("genqlient: ", err)
	}
}

// bearer signs requests with a token.
type bearer string

// RoundTrip signs and sends a request.
func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func run(ctx context.Context, client graphql.Client) error {
	notes, err := allNotes(ctx, client)
	if err != nil {
		return err
	}
	if len(notes) == 0 {
		return errors.New("the caller has no notes")
	}
	for _, note := range notes {
		fmt.Println(note.Title)
	}
	last := notes[len(notes)-1]

	renamed, err := rename(ctx, client, last, last.Title+" (genqlient)")
	if err != nil {
		return err
	}
	fmt.Println("renamed:", renamed.Title)

	// Whoever saw the note before that is refused, and gets it as it is.
	_, err = rename(ctx, client, last, "too late")
	conflict, ok := errors.AsType[*conflictError](err)
	if !ok {
		return fmt.Errorf("a late change was not refused: %w", err)
	}
	fmt.Println("refused:", conflict)
	_, err = rename(ctx, client, conflict.current, last.Title)
	return err
}

// allNotes reads page after page.
func allNotes(ctx context.Context, client graphql.Client) ([]NoteFields, error) {
	var all []NoteFields
	for after := (*string)(nil); ; {
		page, err := Notes(ctx, client, 2, after)
		if err != nil {
			return nil, err
		}
		if page.Viewer == nil {
			return nil, errors.New("not signed in: set TAGGIE_TOKEN")
		}
		all = append(all, page.Viewer.Notes.Nodes...)
		if after = page.Viewer.Notes.PageInfo.EndCursor; !page.Viewer.Notes.PageInfo.HasNextPage {
			return all, nil
		}
	}
}

// conflictError says that somebody else has changed a note.
type conflictError struct {
	message string
	current NoteFields
}

func (e *conflictError) Error() string { return e.message }

// rename changes the title of a note, unless somebody else has changed the note since.
func rename(ctx context.Context, client graphql.Client, note NoteFields, title string) (NoteFields, error) {
	key := rand.Text() // sent again with it, after an answer that was lost, the request would have no second effect
	answer, err := UpdateNote(ctx, client, UpdateNoteInput{
		NoteId: note.Id, Title: &title, ExpectedVersion: &note.Version, IdempotencyKey: &key,
	})
	if err != nil {
		return NoteFields{}, err
	}
	switch problem := answer.UpdateNote.Problem.(type) {
	case nil:
		return *answer.UpdateNote.Note, nil
	case *ProblemNoteConflict:
		return NoteFields{}, &conflictError{message: problem.Message, current: problem.Current}
	default:
		return NoteFields{}, fmt.Errorf("a problem that this client does not know: %T", problem)
	}
}
