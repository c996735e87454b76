package note

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// Create is the input of [Service.Create].
type Create struct {
	Title, Content string
	Deadline       time.Time
	Tags           []string
	IdempotencyKey *string `json:"-"`
}

// Create creates a note of the viewer.
func (s *Service) Create(ctx context.Context, in Create) (Note, error) {
	owner := viewer.From(ctx).UserID
	if owner == "" {
		return Note{}, domain.SignUpFirst()
	}
	title, err := parseTitle(in.Title)
	if err != nil {
		return Note{}, err
	}
	content, err := parseContent(in.Content)
	if err != nil {
		return Note{}, err
	}
	tags, err := parseTags(owner, in.Tags, errManyTags)
	if err != nil {
		return Note{}, err
	}
	return s.once(ctx, "createNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		now := domain.Later(s.o.Now, time.Time{})
		n := Note{
			ID: ID(s.o.NewID()), Owner: owner, Title: title, Content: content, Deadline: in.Deadline, Tags: tags,
			Version: 1, CreatedAt: now, UpdatedAt: now, UpdatedBy: owner, Author: owner, Permission: Owner,
		}
		return n, s.o.Store.CreateNote(ctx, n, once.With(string(n.ID)))
	})
}

// Update is the input of [Service.Update]; nil leaves a field as it is.
type Update struct {
	ID              ID
	Title, Content  *string
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Update changes title or content and keeps the state before as a version. It returns the note after the change, and
// *[VersionConflict] as an expected outcome.
func (s *Service) Update(ctx context.Context, in Update) (Note, error) {
	var title, content string
	var err error
	if in.Title != nil {
		if title, err = parseTitle(*in.Title); err != nil {
			return Note{}, err
		}
	}
	if in.Content != nil {
		if content, err = parseContent(*in.Content); err != nil {
			return Note{}, err
		}
	}
	return s.once(ctx, "updateNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		return s.rewrite(ctx, in.ID, in.ExpectedVersion, once, func(n *Note) error {
			if in.Title != nil {
				n.Title = title
			}
			if in.Content != nil {
				n.Content = content
			}
			return nil
		})
	})
}

// Restore is the input of [Service.Restore].
type Restore struct {
	Version         VersionID
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Restore makes title, content and tags of a version current again and keeps the state before as a version.
func (s *Service) Restore(ctx context.Context, in Restore) (Note, error) {
	return s.once(ctx, "restoreVersion", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		n, err := s.get(ctx, in.Version.Note, Edit)
		if err != nil {
			return Note{}, err
		}
		version, err := domain.First(s.VersionsByID(ctx, []VersionRequest{n.VersionAt(in.Version.Number)}))
		if err != nil {
			return Note{}, err
		}
		return s.rewrite(ctx, in.Version.Note, in.ExpectedVersion, once, func(n *Note) error {
			n.Title, n.Content = version.Title, version.Content
			n.Tags = slices.Clone(version.Tags)
			for i := range n.Tags {
				n.Tags[i].Author = n.Owner // a version that another program put does not tell whose it is
			}
			return nil
		})
	})
}

// rewrite changes what a version keeps, and keeps the state before.
func (s *Service) rewrite(ctx context.Context, id ID, expected *int, once idempotency.Key, change func(*Note) error) (Note, error) {
	return s.edit(ctx, id, Edit, expected, func(before Note) (Note, error) {
		after := before
		if err := change(&after); err != nil {
			return Note{}, err
		}
		if sameContent(before, after) {
			return s.put(ctx, before, before, nil, once)
		}
		after.Snapshot, after.Author = before.Version, viewer.From(ctx).UserID
		return s.put(ctx, before, after, &Version{
			VersionID: VersionID{Note: id, Number: before.Version},
			Title:     before.Title, Content: before.Content, Tags: before.Tags, Deadline: before.Deadline,
			UpdatedAt: before.UpdatedAt, Author: before.Author,
		}, once)
	})
}

// put stores the next state of a note; one that is not different only records the idempotency key.
func (s *Service) put(ctx context.Context, before, after Note, keep *Version, once idempotency.Key) (Note, error) {
	editor := viewer.From(ctx).UserID
	if !sameContent(before, after) || !before.Deadline.Equal(after.Deadline) {
		after.Version = before.Version + 1
		after.UpdatedAt, after.UpdatedBy = domain.Later(s.o.Now, before.UpdatedAt), editor
	}
	return after, s.o.Store.UpdateNote(ctx, editor, before, after, keep, once.With(string(after.ID)))
}

// ChangeDeadline is the input of [Service.ChangeDeadline].
type ChangeDeadline struct {
	ID              ID
	Deadline        time.Time // zero removes it
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// ChangeDeadline moves or removes the deadline. It returns *[VersionConflict] as an expected outcome.
func (s *Service) ChangeDeadline(ctx context.Context, in ChangeDeadline) (Note, error) {
	return s.once(ctx, "changeNoteDeadline", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		return s.edit(ctx, in.ID, Edit, in.ExpectedVersion, func(before Note) (Note, error) {
			after := before
			after.Deadline = in.Deadline
			return s.put(ctx, before, after, nil, once)
		})
	})
}

// ChangeTags is the input of [Service.AddTags] and [Service.RemoveTags].
type ChangeTags struct {
	ID             ID
	Tags           []string
	IdempotencyKey *string `json:"-"`
}

// AddTags adds tags that the note does not carry yet. It returns [ErrTooManyTags] as an expected outcome.
func (s *Service) AddTags(ctx context.Context, in ChangeTags) (Note, error) {
	return s.changeTags(ctx, "addNoteTags", in, ErrTooManyTags, addTag)
}

// RemoveTags removes tags that the note carries.
func (s *Service) RemoveTags(ctx context.Context, in ChangeTags) (Note, error) {
	return s.changeTags(ctx, "removeNoteTags", in, errManyTags, removeTag)
}

func (s *Service) changeTags(ctx context.Context, mutation string, in ChangeTags, tooMany error, change func([]tag.Tag, tag.Tag) []tag.Tag) (Note, error) {
	if len(in.Tags) == 0 {
		return Note{}, fault.Invalidf("input.tags", "give at least one tag")
	}
	tags, err := parseTags("", in.Tags, tooMany)
	if err != nil {
		return Note{}, err
	}
	return s.once(ctx, mutation, in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		return s.edit(ctx, in.ID, Edit, nil, func(before Note) (Note, error) {
			after := before
			for _, t := range tags {
				t.Author = before.Owner
				after.Tags = change(after.Tags, t)
			}
			if len(after.Tags) > MaxTags {
				return Note{}, ErrTooManyTags
			}
			return s.put(ctx, before, after, nil, once)
		})
	})
}

// Delete is the input of [Service.Delete].
type Delete struct {
	ID              ID
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Delete deletes a note of the viewer. It returns *[VersionConflict] as an expected outcome, and the zero Deleted to a
// repeated request when the note was undeleted meanwhile.
func (s *Service) Delete(ctx context.Context, in Delete) (Deleted, error) {
	return domain.Once(ctx, s.guard(), "deleteNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Deleted, error) {
		var deleted Deleted
		_, err := s.edit(ctx, in.ID, Owner, in.ExpectedVersion, func(n Note) (Note, error) {
			deleted = Deleted{ID: n.ID, DeletedAt: domain.Later(s.o.Now, n.UpdatedAt)}
			return n, s.o.Store.DeleteNote(ctx, n, deleted, once.With(string(n.ID)))
		})
		return deleted, err
	}, func(ctx context.Context, result []string) (Deleted, error) {
		_, deleted, err := s.o.Store.FindDeleted(ctx, viewer.From(ctx).UserID, ID(result[0]))
		if fault.Is(err, fault.NotFound) {
			return Deleted{}, nil
		}
		return deleted, err
	})
}

// Undelete is the input of [Service.Undelete].
type Undelete struct {
	ID             ID
	IdempotencyKey *string `json:"-"`
}

// Undelete brings a note of the viewer back. NotFound when it is not deleted, or was deleted more than 30 days ago.
func (s *Service) Undelete(ctx context.Context, in Undelete) (Note, error) {
	owner := viewer.From(ctx).UserID
	if owner == "" {
		return Note{}, domain.SignUpFirst()
	}
	return s.once(ctx, "undeleteNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Note, error) {
		gone := fault.New(fault.NotFound, "there is no deleted note with this id")
		n, deleted, err := s.o.Store.FindDeleted(ctx, owner, in.ID)
		if fault.Is(err, fault.NotFound) {
			return Note{}, gone
		}
		if err != nil {
			return Note{}, err
		}
		if !s.o.Now().Before(deleted.UndoUntil()) {
			return Note{}, gone
		}
		n.Version++
		n.UpdatedAt, n.UpdatedBy = domain.Later(s.o.Now, deleted.DeletedAt), owner
		n.Permission = Owner
		return n, s.o.Store.UndeleteNote(ctx, n, deleted, once.With(string(n.ID)))
	})
}

// PutShare is the input of [Service.Share]. One of User and Email names the user.
type PutShare struct {
	Note       ID
	User       UserID
	Email      *string
	Permission Permission
	// ShowEarlier lets the user see all versions of the note. Otherwise a new share shows those from the state that the note has now on, and one that
	// there is what it showed.
	ShowEarlier    bool    `json:",omitempty"`
	IdempotencyKey *string `json:"-"`
}

// field returns the input field that names the user.
func (in PutShare) field() string {
	if in.Email != nil {
		return "input.email"
	}
	return "input.userId"
}

// Share shares a note of the viewer, or changes what for. It returns *[UnknownUser] as an expected outcome. [ErrUnopened] beyond [MaxUnopened] shares with
// a user who has opened none.
func (s *Service) Share(ctx context.Context, in PutShare) (Share, error) {
	if (in.User == "") == (in.Email == nil) {
		return Share{}, fault.Invalidf("input.userId", "give one of userId and email")
	}
	share := Share{Note: in.Note, Owner: viewer.From(ctx).UserID, User: in.User, Permission: in.Permission}
	return domain.Once(ctx, s.guard(), "shareNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Share, error) {
		return domain.Edit[*VersionConflict](s.turns.Until(ctx, string(in.Note)), "this note", func() (Note, error) {
			return s.get(ctx, in.Note, Owner)
		}, func(n Note) (Share, error) {
			if share.User == "" { // the note comes first: whether an address is in use is told to owners of notes only
				var err error
				if share.User, err = s.o.People.Lookup(ctx, *in.Email); fault.Is(err, fault.NotFound) {
					return Share{}, &UnknownUser{Field: in.field()}
				} else if err != nil {
					return Share{}, err
				}
			}
			if share.User == share.Owner {
				return Share{}, fault.Invalidf(in.field(), "the note is yours already")
			}
			if !in.ShowEarlier {
				var err error
				if share.FirstVersion, err = s.nextVersion(ctx, n); err != nil {
					return Share{}, err
				}
			}
			share.SharedAt = s.o.Now().UTC().Truncate(time.Millisecond)
			put, err := s.o.Store.PutShare(ctx, n, share, once)
			if _, unknown := errors.AsType[*UnknownUser](err); unknown {
				return Share{}, &UnknownUser{Field: in.field()}
			}
			put.FirstVersion = 0 // the share that there was may have another
			return put, err
		})
	}, func(_ context.Context, result []string) (Share, error) {
		var err error
		share.User = UserID(result[0])
		share.SharedAt, err = time.Parse(time.RFC3339Nano, result[1])
		return share, err
	})
}

// nextVersion returns the number that the present state of a note has as a version, or a later one: another program may have kept versions under
// numbers of its own.
func (s *Service) nextVersion(ctx context.Context, n Note) (int, error) {
	if !n.Foreign {
		return n.Version, nil
	}
	newest, err := domain.First(s.ListVersions(ctx, []VersionsRequest{n.Versions(page.Window{Limit: 1})}))
	if err != nil || len(newest.Items) == 0 {
		return n.Version, err
	}
	return max(n.Version, newest.Items[0].Number+1), nil
}

// OpenShare is the input of [Service.Open].
type OpenShare struct {
	Note           ID
	IdempotencyKey *string `json:"-"`
}

// Open says that the viewer has opened a note that is shared with them, and returns when they first did. NotFound when it is not.
func (s *Service) Open(ctx context.Context, in OpenShare) (time.Time, error) {
	self, err := domain.Self(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return domain.Once(ctx, s.guard(), "openSharedNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (time.Time, error) {
		n, err := s.get(ctx, in.Note, View)
		if err != nil {
			return time.Time{}, err
		}
		if n.Owner == self {
			return time.Time{}, fault.Invalidf("input.noteId", "the note is yours")
		}
		at := domain.Later(s.o.Now, time.Time{})
		return s.o.Store.OpenShare(ctx, Share{Note: n.ID, Owner: n.Owner, User: self, OpenedAt: at}, once)
	}, func(_ context.Context, result []string) (time.Time, error) {
		return time.Parse(time.RFC3339Nano, result[0])
	})
}

// DeleteShare is the input of [Service.Unshare].
type DeleteShare struct {
	Note           ID
	User           UserID
	IdempotencyKey *string `json:"-"`
}

// Unshare ends a share: the owner may end any, a user the own one, also when the note is gone. A share that does not exist
// is ended already.
func (s *Service) Unshare(ctx context.Context, in DeleteShare) error {
	self := viewer.From(ctx).UserID
	if self == "" {
		return domain.SignUpFirst()
	}
	_, err := domain.Once(ctx, s.guard(), "unshareNote", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (struct{}, error) {
		share := Share{Note: in.Note, User: in.User}
		if in.User != self {
			if _, err := s.get(ctx, in.Note, Owner); err != nil {
				return struct{}{}, err
			}
			share.Owner = self
		}
		return struct{}{}, s.o.Store.DeleteShare(ctx, share, self, domain.Later(s.o.Now, time.Time{}), once.With(string(in.Note)))
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}

// EndShares is the input of [Service.EndShares].
type EndShares struct {
	By             UserID  // who shared the notes
	IdempotencyKey *string `json:"-"`
}

// endedAtOnce is how many shares one request ends.
const endedAtOnce = 100

// EndShares ends shares that another user gave the viewer, those of deleted notes included, the first 100 by note id. It returns the notes, and whether
// there are more. What fails is reported when all were tried: the same request again goes on with the rest.
//
// Cost: 1 Query per started megabyte of the viewer's shares, and 1 TransactWriteItems per share.
func (s *Service) EndShares(ctx context.Context, in EndShares) (ended []ID, more bool, err error) {
	self, err := domain.Self(ctx)
	if err != nil {
		return nil, false, err
	}
	if in.By == self {
		return nil, false, fault.Invalidf("input.byUserId", "your own notes are not shared with you")
	}
	shares, err := s.o.Store.ListSharesBy(ctx, self, in.By, endedAtOnce+1)
	if err != nil {
		return nil, false, err
	}
	more = len(shares) > endedAtOnce
	shares = shares[:min(len(shares), endedAtOnce)]
	at := domain.Later(s.o.Now, time.Time{})
	errs := make([]error, len(shares))
	var group errgroup.Group
	group.SetLimit(endingAtOnce)
	for n, share := range shares {
		group.Go(func() error {
			errs[n] = s.o.Store.DeleteShare(ctx, share, self, at, idempotency.Key{})
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	for _, share := range shares {
		ended = append(ended, share.Note)
	}
	return ended, more, errors.Join(errs...)
}

// endingAtOnce is how many of these are ended side by side.
const endingAtOnce = 16
