package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const createUser = `mutation CreateUser($input: CreateUserInput!) {
  createUser(input: $input) {
    user { id }
    problem { __typename ... on Problem { message } ... on AlreadySignedUp { user { id } } }
  }
}`

const findMarker = `query FindMarker($tag: String!) {
  viewer { tag(value: $tag) { notes(first: 10) { nodes { id title deadline tags { value } } } } }
}`

const listNotes = `query ListNotes($after: Cursor) {
  viewer { notes(first: 500, after: $after) { nodes { id title version } pageInfo { hasNextPage endCursor } } }
}`

const createNote = `mutation CreateNote($input: CreateNoteInput!) {
  createNote(input: $input) { note { id version deadline } }
}`

const updateNote = `mutation UpdateNote($input: UpdateNoteInput!) {
  updateNote(input: $input) { note { version } problem { __typename } }
}`

const shareNote = `mutation ShareNote($input: ShareNoteInput!) {
  shareNote(input: $input) { problem { __typename ... on Problem { message } } }
}`

const deleteNote = `mutation DeleteNote($input: DeleteNoteInput!) {
  deleteNote(input: $input) { problem { __typename } }
}`

const addNoteTags = `mutation AddNoteTags($input: AddNoteTagsInput!) {
  addNoteTags(input: $input) { problem { __typename ... on Problem { message } } }
}`

// A note of the demo user says what has been loaded: it carries markerTag from the beginning, and the tag of a part of a
// set once all of that is there. Its deadline is the day around which all others lie, so that a later run plans the same.
const (
	markerTag     = "demo data"
	markerTitle   = "Welcome to Taggie: this is demo data"
	markerContent = "All people and notes here are made up. `make demo` loads more of them.\n\n" +
		"This note remembers what was loaded: while it is there, nothing is loaded twice."
)

// part is what can be loaded, and remembered, on its own.
type part struct {
	name string
	load func(l *loader, ctx context.Context, members []member, day time.Time) error
}

var parts = []part{{"data", (*loader).loadNotes}, {"project", (*loader).loadProject}, {"scope", (*loader).loadScope}, {"scores", (*loader).loadScores}, {"postcards", (*loader).loadPostcards}}

// tag is what the marker carries when the part of the set is there.
func (p part) tag(s size) string { return "demo " + p.name + ": " + s.name }

type noteState struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Version  int        `json:"version"`
	Deadline *time.Time `json:"deadline"`
	Tags     []struct {
		Value string `json:"value"`
	} `json:"tags"`
}

// loader loads one set into one server.
type loader struct {
	options Options
	size    size
	url     string
}

func (l *loader) run(ctx context.Context) error {
	ada, err := l.signUp(ctx, people[0])
	if err != nil {
		return err
	}
	marker, err := l.marker(ctx, ada)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return l.loaded(marker, p) })
	if len(missing) == 0 {
		say(l.options.Progress, "The demo data is already loaded; nothing was added.")
		return nil
	}
	members, err := l.signUpAll(ctx, ada)
	if err != nil {
		return err
	}
	for _, p := range missing {
		if err := p.load(l, ctx, members, *marker.Deadline); err != nil {
			return err
		}
		if err := l.complete(ctx, ada, marker, p); err != nil {
			return err
		}
	}
	say(l.options.Progress, "The demo data is loaded: sign in as %s.", Email)
	return nil
}

func (l *loader) signUp(ctx context.Context, p person) (member, error) {
	m := member{person: p}
	var err error
	if m.token, err = l.options.Token(p.email, p.name); err != nil {
		return m, fmt.Errorf("make a token for %s: %w", p.email, err)
	}
	type account struct {
		ID string `json:"id"`
	}
	var data struct {
		CreateUser struct {
			User    *account `json:"user"`
			Problem *struct {
				Type    string   `json:"__typename"`
				Message string   `json:"message"`
				User    *account `json:"user"`
			} `json:"problem"`
		} `json:"createUser"`
	}
	if err := l.change(ctx, m, createUser, map[string]any{"name": p.name, "email": p.email}, &data); err != nil {
		return m, err
	}
	user, problem := data.CreateUser.User, data.CreateUser.Problem
	if problem != nil && problem.User != nil { // AlreadySignedUp
		user = problem.User
	}
	switch {
	case user != nil:
		m.id = user.ID
		return m, nil
	case problem != nil && problem.Type == "EmailTaken":
		return m, fmt.Errorf("sign up %s: another user has this address; change the address of that user, or load into another data directory", p.email)
	case problem != nil:
		return m, fmt.Errorf("sign up %s: %s", p.email, problem.Message)
	}
	return m, fmt.Errorf("sign up %s: the server returned no user", p.email)
}

func (l *loader) signUpAll(ctx context.Context, ada member) ([]member, error) {
	members := make([]member, l.size.people)
	members[0] = ada
	return members, l.each(ctx, len(members)-1, func(ctx context.Context, i int) (err error) {
		members[i+1], err = l.signUp(ctx, people[i+1])
		return err
	})
}

// marker finds the note that says what was loaded, or creates it.
func (l *loader) marker(ctx context.Context, ada member) (noteState, error) {
	var found struct {
		Viewer *struct {
			Tag *struct {
				Notes struct {
					Nodes []*noteState `json:"nodes"`
				} `json:"notes"`
			} `json:"tag"`
		} `json:"viewer"`
	}
	if err := l.ask(ctx, ada, findMarker, map[string]any{"tag": markerTag}, &found); err != nil {
		return noteState{}, err
	}
	if found.Viewer != nil && found.Viewer.Tag != nil {
		for _, n := range found.Viewer.Tag.Notes.Nodes {
			if n != nil && n.Title == markerTitle && n.Deadline != nil {
				return *n, nil
			}
		}
	}
	day := l.options.Now.UTC().Truncate(24 * time.Hour)
	n := noteState{Deadline: &day}
	created, err := l.create(ctx, ada, markerTitle, markerContent, day, []string{markerTag, "👋"})
	if created != nil && created.Deadline != nil { // not when somebody deleted it today: then this run goes without
		n = *created
	}
	return n, err
}

// loaded reports whether the marker carries the tag of this part, of this set or the full one.
func (l *loader) loaded(marker noteState, p part) bool {
	for _, t := range marker.Tags {
		if t.Value == p.tag(l.size) || t.Value == p.tag(full) {
			return true
		}
	}
	return false
}

func (l *loader) complete(ctx context.Context, ada member, marker noteState, p part) error {
	if marker.ID == "" {
		return nil
	}
	return l.change(ctx, ada, addNoteTags, map[string]any{"noteId": marker.ID, "tags": []string{p.tag(l.size)}}, &struct{}{})
}

// existing returns each member's notes by title.
func (l *loader) existing(ctx context.Context, members []member) ([]map[string]noteState, error) {
	all := make([]map[string]noteState, len(members))
	return all, l.each(ctx, len(members), func(ctx context.Context, i int) (err error) {
		all[i], err = l.notesOf(ctx, members[i])
		return err
	})
}

func (l *loader) notesOf(ctx context.Context, m member) (map[string]noteState, error) {
	notes := map[string]noteState{}
	var after *string
	for {
		var data struct {
			Viewer struct {
				Notes struct {
					Nodes    []noteState `json:"nodes"`
					PageInfo struct {
						HasNextPage bool    `json:"hasNextPage"`
						EndCursor   *string `json:"endCursor"`
					} `json:"pageInfo"`
				} `json:"notes"`
			} `json:"viewer"`
		}
		if err := l.ask(ctx, m, listNotes, map[string]any{"after": after}, &data); err != nil {
			return nil, err
		}
		for _, n := range data.Viewer.Notes.Nodes {
			notes[n.Title] = n
		}
		if !data.Viewer.Notes.PageInfo.HasNextPage {
			return notes, nil
		}
		after = data.Viewer.Notes.PageInfo.EndCursor
	}
}

func (l *loader) loadNotes(ctx context.Context, members []member, day time.Time) error {
	existing, err := l.existing(ctx, members)
	if err != nil {
		return err
	}
	notes := plan(day, l.size)
	total := 0
	for _, n := range notes {
		total += n.steps()
	}
	shown := newProgress(l.options.Progress, "notes", total)
	defer shown.finish()
	return l.each(ctx, len(notes), func(ctx context.Context, i int) error {
		n := notes[i]
		var there *noteState
		if state, ok := existing[n.owner][n.title]; ok {
			there = &state
		}
		return l.loadNote(ctx, members, n, there, func() { shown.add(1) })
	})
}

// each does something so often, with a few requests under way at a time, until the first error.
func (l *loader) each(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.options.Concurrency)
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// loadNote brings one note into the state that was planned.
func (l *loader) loadNote(ctx context.Context, members []member, n plannedNote, there *noteState, step func()) (err error) {
	owner := members[n.owner]
	if there == nil {
		if there, err = l.create(ctx, owner, n.title, n.content, n.deadline, n.tags); err != nil {
			return err
		}
	}
	step()
	if there == nil { // somebody deleted it meanwhile: so be it
		for range n.steps() - 1 {
			step()
		}
		return nil
	}
	for i, content := range n.updates {
		// The expected version keeps an update from being made twice; one that is known to be there is not asked for.
		if version := i + 1; there.Version <= version {
			input := map[string]any{"noteId": there.ID, "content": content, "expectedVersion": version}
			if err := l.change(ctx, owner, updateNote, input, &struct{}{}); err != nil {
				return err
			}
		}
		step()
	}
	for _, s := range n.shares {
		if err := l.share(ctx, owner, there.ID, members[s.with], s.permission); err != nil {
			return err
		}
		step()
	}
	if n.deleted {
		if err := l.change(ctx, owner, deleteNote, map[string]any{"noteId": there.ID}, &struct{}{}); err != nil {
			return err
		}
		step()
	}
	return nil
}

// create creates a note. It returns nil when an earlier run did, and the note was deleted since.
func (l *loader) create(ctx context.Context, owner member, title, content string, deadline time.Time, tags []string) (*noteState, error) {
	input := map[string]any{"title": title, "content": content}
	if !deadline.IsZero() {
		input["deadline"] = deadline.Format(time.RFC3339)
	}
	if len(tags) > 0 {
		input["tags"] = slices.Clone(tags)
	}
	var data struct {
		CreateNote struct {
			Note *noteState `json:"note"`
		} `json:"createNote"`
	}
	err := l.change(ctx, owner, createNote, input, &data)
	return data.CreateNote.Note, err
}

func (l *loader) share(ctx context.Context, owner member, note string, with member, permission string) error {
	var data struct {
		ShareNote struct {
			Problem *struct {
				Message string `json:"message"`
			} `json:"problem"`
		} `json:"shareNote"`
	}
	input := map[string]any{"noteId": note, "userId": with.id, "permission": permission}
	if err := l.change(ctx, owner, shareNote, input, &data); err != nil {
		return err
	}
	if problem := data.ShareNote.Problem; problem != nil {
		return fmt.Errorf("share a note of %s with %s: %s", owner.email, with.email, problem.Message)
	}
	return nil
}
