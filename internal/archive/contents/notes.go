package contents

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
)

type noteLine struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Content   string      `json:"content"`
	Deadline  *time.Time  `json:"deadline"`
	Tags      []string    `json:"tags"`
	Version   int         `json:"version"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
	UpdatedBy string      `json:"updatedBy,omitempty"`
	Shares    []shareLine `json:"shares"`
}

type versionLine struct {
	Note      string     `json:"note"`
	Number    int        `json:"number"`
	Title     string     `json:"title"`
	Content   string     `json:"content"`
	Deadline  *time.Time `json:"deadline"`
	Tags      []string   `json:"tags"`
	UpdatedAt time.Time  `json:"updatedAt"`
	Author    string     `json:"author,omitempty"`
}

type shareLine struct {
	User       string    `json:"user"`
	Permission string    `json:"permission"`
	SharedAt   time.Time `json:"sharedAt"`
}

func (s Sources) eachNote(ctx context.Context, id archive.UserID, do func([]note.Note) error) error {
	return each(few, func(w page.Window) (page.Slice[note.Note], error) {
		return s.Notes.ListByDeadline(ctx, id, note.Due{}, w)
	}, do)
}

func (s Sources) notes(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	shared := lists[note.AccessRequest, note.Share]{
		width: few, window: func(r *note.AccessRequest) *page.Window { return &r.Window }, // those of one owner come together
		list: func(rs []note.AccessRequest) ([]page.Slice[note.Share], []error) { return s.Notes.AccessLists(ctx, rs) },
	}
	return s.eachNote(ctx, id, func(notes []note.Note) error {
		lines, requests := make([]noteLine, len(notes)), make([]note.AccessRequest, len(notes))
		for i, n := range notes {
			lines[i], requests[i] = noteLineOf(n), n.Access(page.Window{Limit: page.Max})
		}
		if err := shared.each(requests, func(i int, shares []note.Share) error {
			for _, share := range shares {
				lines[i].Shares = append(lines[i].Shares, shareLine{userGID(share.User), permissions[share.Permission], share.SharedAt})
			}
			return nil
		}); err != nil {
			return err
		}
		for _, line := range lines {
			if err := emit(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// fewVersions is how many versions of a note are read at once, of as many notes: each may have 350 KB.
const fewVersions = 10

// versions tells the versions of notes. Only those of notes that were changed are asked for.
func (s Sources) versions(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	earlier := lists[note.VersionsRequest, note.Version]{
		width: fewVersions, window: func(r *note.VersionsRequest) *page.Window { return &r.Window },
		list: func(rs []note.VersionsRequest) ([]page.Slice[note.Version], []error) {
			return s.Notes.ListVersions(ctx, rs)
		},
	}
	return s.eachNote(ctx, id, func(notes []note.Note) error {
		changed := slices.DeleteFunc(notes, func(n note.Note) bool { return n.Snapshot == 0 && !n.Foreign })
		requests := make([]note.VersionsRequest, len(changed))
		for i, n := range changed {
			requests[i] = n.Versions(page.Window{Limit: fewVersions})
			changed[i] = note.Note{ID: n.ID} // the texts of a hundred notes are not kept meanwhile
		}
		return earlier.each(requests, func(i int, some []note.Version) error {
			for _, v := range some {
				if err := emit(versionLine{noteGID(changed[i].ID), v.Number, v.Title, v.Content, when(v.Deadline), words(v.Tags), v.UpdatedAt, userGID(v.Author)}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func noteGID(id note.ID) string { return gid.Of("Note", string(id)).String() }

func noteLineOf(n note.Note) noteLine {
	return noteLine{
		noteGID(n.ID), n.Title, n.Content, when(n.Deadline), words(n.Tags), n.Version, n.CreatedAt, n.UpdatedAt, userGID(n.UpdatedBy), []shareLine{},
	}
}

type receivedLine struct {
	Owner      string     `json:"owner"`
	Permission string     `json:"permission"`
	SharedAt   time.Time  `json:"sharedAt"`
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Content    string     `json:"content"`
	Deadline   *time.Time `json:"deadline"`
	Tags       []string   `json:"tags"`
	UpdatedAt  time.Time  `json:"updatedAt"`
}

func (s Sources) received(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return each(few, func(w page.Window) (page.Slice[note.SharedNote], error) { return s.Notes.ListShared(ctx, id, w) }, func(all []note.SharedNote) error {
		for _, shared := range all {
			if shared.Err != nil {
				return shared.Err
			}
			n := shared.Found.Note
			if err := emit(receivedLine{userGID(shared.Owner), permissions[shared.Permission], shared.SharedAt, noteGID(n.ID), n.Title, n.Content, when(n.Deadline), words(n.Tags), n.UpdatedAt}); err != nil {
				return err
			}
		}
		return nil
	})
}
