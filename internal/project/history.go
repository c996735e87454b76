package project

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/page"
)

// HistoryKept is for how long a change stays in the history of its project.
const HistoryKept = 365 * 24 * time.Hour

// ChangeType says what was changed.
type ChangeType string

// The types of changes.
const (
	ProjectCreated     ChangeType = "PROJECT_CREATED"
	ProjectUpdated     ChangeType = "PROJECT_UPDATED"
	ProjectDeleted     ChangeType = "PROJECT_DELETED"
	ProjectRestored    ChangeType = "PROJECT_RESTORED"
	GuidelinesUpdated  ChangeType = "GUIDELINES_UPDATED"
	CategoriesAdded    ChangeType = "CATEGORIES_ADDED"
	CategoryUpdated    ChangeType = "CATEGORY_UPDATED"
	SubcategoryUpdated ChangeType = "SUBCATEGORY_UPDATED"
	TeamCreated        ChangeType = "TEAM_CREATED"
	TeamRenamed        ChangeType = "TEAM_RENAMED"
	TeamDeleted        ChangeType = "TEAM_DELETED"
	MemberAdded        ChangeType = "MEMBER_ADDED"
	MemberMoved        ChangeType = "MEMBER_MOVED"
	MemberRemoved      ChangeType = "MEMBER_REMOVED"
	MemberJoined       ChangeType = "MEMBER_JOINED"
	InvitationCreated  ChangeType = "INVITATION_CREATED"
	InvitationRevoked  ChangeType = "INVITATION_REVOKED"
	ImportCreated      ChangeType = "IMPORT_CREATED"
	ImportStarted      ChangeType = "IMPORT_STARTED"
	ImportCancelled    ChangeType = "IMPORT_CANCELLED"
	ExportCreated      ChangeType = "EXPORT_CREATED"
	ItemsRemoved       ChangeType = "ITEMS_REMOVED"
	RemovalUndone      ChangeType = "REMOVAL_UNDONE"
	RemovalPurged      ChangeType = "REMOVAL_PURGED"
)

// Change is one entry in the history of a project. It is stored in the transaction of what it tells of. The zero Change is that there is nothing to tell.
type Change struct {
	Project ID
	ID      string // tells changes of the same time apart
	At      time.Time
	Type    ChangeType
	By      UserID // "" for Taggie itself
	Name    string // of the team or label that was changed, as it was called before; "" for none
	Member  UserID // whom it concerns; "" for none
	Fields  []ChangedField
}

// Subject is the name of what was changed; nil when that is no team or label.
func (c Change) Subject() *string { return unlessEmpty(c.Name) }

// ChangedField is a value that was changed. Of a team, the store keeps the id, and [Service.ListHistory] puts its name there.
type ChangedField struct{ Name, Old, New string }

// Before is the value before the change; nil for none.
func (f ChangedField) Before() *string { return unlessEmpty(f.Old) }

// After is the value after the change; nil for none.
func (f ChangedField) After() *string { return unlessEmpty(f.New) }

func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// The fields whose values are ids of teams.
const (
	teamField    = "team"
	membersField = "membersTo"
)

// HistoryStore keeps the histories of projects. The methods of [Store] that change something write them.
type HistoryStore interface {
	// ListHistory lists the changes of a project that are not older than [HistoryKept], the newest first. It sees every acknowledged write.
	ListHistory(ctx context.Context, id ID, w page.Window) (page.Slice[Change], error)
}

// ListHistory lists what was changed in a project that the viewer was shown, the newest first. Teams are called as they are called now, or were when they
// were deleted. NotFound for others, Forbidden for who is no manager. Cost: that of the store's ListHistory, and of TeamsByID if teams are named.
func (s *Service) ListHistory(ctx context.Context, r TransfersRequest) (page.Slice[Change], error) {
	if err := allow(r.as, Manager, "project"); err != nil {
		return page.Slice[Change]{}, err
	}
	slice, err := s.o.Store.ListHistory(ctx, r.Project, r.Window)
	if err != nil {
		return page.Slice[Change]{}, err
	}
	return slice, s.nameTeams(ctx, slice.Items)
}

// nameTeams puts names in the place of the ids of teams. One that cannot be found has none.
func (s *Service) nameTeams(ctx context.Context, changes []Change) error {
	var values []*string
	var ids []TeamID
	for _, c := range changes {
		for n := range c.Fields {
			f := &c.Fields[n]
			if f.Name != teamField && f.Name != membersField {
				continue
			}
			for _, value := range []*string{&f.Old, &f.New} {
				if id := (TeamID{Project: c.Project, ID: *value}); id.ID != "" {
					values = append(values, value)
					if !slices.Contains(ids, id) {
						ids = append(ids, id)
					}
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	teams, errs := s.o.Store.TeamsByID(ctx, ids)
	names := map[string]string{}
	for n, id := range ids {
		if errs == nil || errs[n] == nil {
			names[id.ID] = teams[n].Name
		} else if err := domain.IgnoreMissing(errs[n]); err != nil {
			return err
		}
	}
	for _, value := range values {
		*value = names[*value]
	}
	return nil
}
