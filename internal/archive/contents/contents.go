// Package contents has the parts of an archive: what is a user's, read by the services of the domain, which show no more than the user may see.
//
// It knows the domain and how its things are told in JSON. It must not know stores, files or tasks. Start reading at [Of].
package contents

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
)

// Sources are the services that are read.
type Sources struct {
	Users    *user.Service
	Notes    *note.Service
	Entities *entity.Service
	Projects *project.Service
	Scores   *score.Service
	Items    *score.Items
	Tags     *filetag.Service
}

// Of returns what is in an archive: the parts in their order, and the files. What may be large has a part of its own, so that no line grows
// without a bound.
func Of(s Sources) archive.Contents {
	return archive.Contents{Files: s.files, Parts: []archive.Part{
		{Name: "user.jsonl", Holds: "you", Lines: s.user},
		{Name: "notes.jsonl", Holds: "your notes, with their tags, and with whom they are shared", Lines: s.notes},
		{Name: "versions.jsonl", Holds: "the earlier versions of your notes", Lines: s.versions},
		{Name: "received.jsonl", Holds: "the notes that others share with you, as they are now", Lines: s.received},
		{Name: "blocked.jsonl", Holds: "the users whom you have blocked", Lines: s.blocked},
		{Name: "scopes.jsonl", Holds: "the scopes that you are a member of, with your role", Lines: s.scopes},
		{Name: "entities.jsonl", Holds: "the entities of the scopes that you own", Lines: s.entities},
		{Name: "relations.jsonl", Holds: "the relations of these entities", Lines: s.relations},
		{Name: "projects.jsonl", Holds: "the projects that you are a member of, with your team; of those that you manage, also guidelines, settings, categories, teams, members and invitations", Lines: s.projects},
		{Name: "efforts.jsonl", Holds: "what you have finished in these projects", Lines: s.efforts},
		{Name: "scores.jsonl", Holds: "your scores, with their pages and annotations", Lines: s.scores},
		{Name: "snapshots.jsonl", Holds: "the snapshots of your scores", Lines: s.snapshots},
		{Name: "keptscores.jsonl", Holds: "the scores of others that you keep; the title of those that you can read", Lines: s.keptScores},
		{Name: "items.jsonl", Holds: "your items", Lines: s.items},
		{Name: "itemtags.jsonl", Holds: "the tags on your items, with who put them there", Lines: s.itemTags},
		{Name: "puttags.jsonl", Holds: "the tags that you have put on your items, and on those of others that you can read", Lines: s.tagsPut},
	}}
}

// few is how many of what may have hundreds of kilobytes are read at once.
const few = 100

// each reads a list to its end, so many at a time, and hands over each page.
func each[T any](limit int, list func(page.Window) (page.Slice[T], error), do func([]T) error) error {
	for w := (page.Window{Limit: limit}); ; {
		s, err := list(w)
		if err != nil {
			return err
		}
		if err := do(s.Items); err != nil {
			return err
		}
		switch {
		case !s.More:
			return nil
		case s.Until != "":
			w.From = s.Until
		case len(s.Positions) == 0:
			return nil
		default:
			w.From = s.Positions[len(s.Positions)-1]
		}
	}
}

// lists are lists that are read together: each has a request.
type lists[R, T any] struct {
	width  int // how many of them are read at once
	window func(*R) *page.Window
	list   func([]R) ([]page.Slice[T], []error)
}

// each reads the lists to their ends, and hands over each page with the number of its list. The first pages of some lists are read together, and the
// others one by one, so that memory does not grow with the lists. A list that is gone meanwhile is left out.
func (l lists[R, T]) each(requests []R, do func(i int, some []T) error) error {
	begin := 0
	for some := range slices.Chunk(requests, l.width) {
		first, errs := l.list(some)
		for i, r := range some {
			if err := l.rest(r, first[i], of(errs, i), func(page []T) error { return do(begin+i, page) }); err != nil {
				return err
			}
		}
		begin += len(some)
	}
	return nil
}

// rest hands over a page that was read, and reads those that follow.
func (l lists[R, T]) rest(r R, s page.Slice[T], err error, do func([]T) error) error {
	for {
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err == nil {
			err = do(s.Items)
		}
		if err != nil || !s.More || len(s.Positions) == 0 {
			return err
		}
		l.window(&r).From = s.Positions[len(s.Positions)-1]
		next, errs := l.list([]R{r})
		s, err = next[0], of(errs, 0)
	}
}

// of returns the error of one of several, which are nil when there is none.
func of(errs []error, i int) error {
	if errs == nil {
		return nil
	}
	return errs[i]
}

// when tells a time; nil for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func userGID(id user.ID) string {
	if id == "" {
		return ""
	}
	return gid.Of("User", string(id)).String()
}

func words(tags []tag.Tag) []string {
	all := make([]string, len(tags))
	for i, t := range tags {
		all[i] = t.Value
	}
	return all
}

type userLine struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func (s Sources) user(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	users, errs := s.Users.ListByID(ctx, []user.ID{id})
	if err := of(errs, 0); err != nil {
		return err
	}
	u := users[0]
	return emit(userLine{userGID(u.ID), u.Name, u.Email, u.CreatedAt, u.UpdatedAt})
}

type blockedLine struct {
	User      string    `json:"user"`
	BlockedAt time.Time `json:"blockedAt"`
}

func (s Sources) blocked(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return each(page.Max, func(w page.Window) (page.Slice[user.Block], error) { return s.Users.ListBlocked(ctx, id, w) }, func(all []user.Block) error {
		for _, b := range all {
			if err := emit(blockedLine{userGID(b.User), b.At}); err != nil {
				return err
			}
		}
		return nil
	})
}
