package project

import (
	"strconv"
	"strings"
	"time"
)

// mostShown is how many characters of a value a history keeps: enough to know what it was.
const mostShown = 200

// shown is a value as a history keeps it.
func shown(text string) string {
	runes := 0
	for at := range text {
		if runes++; runes > mostShown {
			return text[:at] + "…"
		}
	}
	return text
}

// changed adds a field if its value was changed.
func (c *Change) changed(name, before, after string) {
	if before != after {
		c.Fields = append(c.Fields, ChangedField{name, shown(before), shown(after)})
	}
}

// number is a value that is a number.
func number(n int) string { return strconv.Itoa(n) }

// flag is a value that is true or false.
func flag(is bool) string { return strconv.FormatBool(is) }

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func namesOf(labels []Label) string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = l.Name
	}
	return strings.Join(all, ", ")
}

// Creation is that a project was created.
func (p Project) Creation() Change {
	c := Change{Project: p.ID, At: p.CreatedAt, Type: ProjectCreated, By: p.Member.User}
	c.changed("name", "", p.Name)
	return c
}

// ChangeTo is that the member of a project changed it, or its deletion; nothing when both are the same to those who read of it.
func (p Project) ChangeTo(after Project) Change {
	c := Change{Project: p.ID, At: after.UpdatedAt, Type: ProjectUpdated, By: p.Member.User}
	if is := after.Deletion.State; is != p.Deletion.State {
		switch is {
		case Deleting:
			c.Type = ProjectDeleted
		case Reinstating:
			c.Type = ProjectRestored
		default: // a task goes on with it
			return Change{}
		}
		return c
	}
	c.changed("name", p.Name, after.Name)
	c.changed("description", p.Description, after.Description)
	c.changed("suggestedKeywords", strings.Join(p.Keywords, ", "), strings.Join(after.Keywords, ", "))
	c.changed("leaseMinutes", number(p.LeaseMinutes()), number(after.LeaseMinutes()))
	c.changed("reviewPercent", number(p.ReviewPercent()), number(after.ReviewPercent()))
	c.changed("newcomerDays", number(p.NewcomerDays()), number(after.NewcomerDays()))
	c.changed("queueSize", number(p.QueueSize), number(after.QueueSize))
	c.changed("paused", flag(p.Paused), flag(after.Paused))
	if len(c.Fields) == 0 {
		return Change{}
	}
	return c
}

// ChangeTo is that guidelines were changed; the text itself is not kept.
func (g Guidelines) ChangeTo(after Guidelines) Change {
	c := Change{Project: after.Project, At: after.UpdatedAt, Type: GuidelinesUpdated, By: after.UpdatedBy}
	before := ""
	if g.Version > 0 {
		before = number(g.Version)
	}
	c.changed("version", before, number(after.Version))
	return c
}

// Additions is that labels were added to the lists of a project.
func Additions(by UserID, id ID, labels []Label, at time.Time) Change {
	c := Change{Project: id, At: at, Type: CategoriesAdded, By: by}
	c.changed("categories", "", namesOf(Category.Of(labels)))
	c.changed("subcategories", "", namesOf(Subcategory.Of(labels)))
	return c
}

// ChangeTo is that a label was changed; into is the name of the label into which it was merged, "" if it was not.
func (l Label) ChangeTo(after Label, into string, by UserID, at time.Time) Change {
	c := Change{Project: l.Project, At: at, Type: CategoryUpdated, By: by, Name: l.Name}
	if l.Kind == Subcategory {
		c.Type = SubcategoryUpdated
	}
	c.changed("name", l.Name, after.Name)
	c.changed("retired", flag(!l.RetiredAt.IsZero()), flag(!after.RetiredAt.IsZero()))
	c.changed("mergedInto", "", into)
	if len(c.Fields) == 0 {
		return Change{}
	}
	return c
}

// Creation is that a team was created.
func (t Team) Creation(by UserID) Change {
	c := Change{Project: t.Project, At: t.CreatedAt, Type: TeamCreated, By: by, Name: t.Name}
	c.changed("type", "", strings.ToUpper(string(t.Type))) // as the schema spells it
	return c
}

// ChangeTo is that a team got another name; nothing when it is the same.
func (t Team) ChangeTo(after Team, by UserID, at time.Time) Change {
	c := Change{Project: after.Project, At: at, Type: TeamRenamed, By: by, Name: t.Name}
	c.changed("name", t.Name, after.Name)
	if len(c.Fields) == 0 {
		return Change{}
	}
	return c
}

// Removal is that a team was deleted, with the team to which its members move.
func (t Team) Removal(by UserID) Change {
	c := Change{Project: t.Project, At: t.DeletedAt, Type: TeamDeleted, By: by, Name: t.Name}
	c.changed(membersField, "", t.Into)
	return c
}

// ChangeTo is that a user came to another team of the project; the zero Member is in none.
func (m Member) ChangeTo(after Member, by UserID, at time.Time) Change {
	c := Change{Project: after.Project, At: at, Type: MemberMoved, By: by, Member: after.User}
	switch {
	case m.Team == "":
		c.Type = MemberAdded
	case after.Team == "":
		c.Type, c.Project, c.Member = MemberRemoved, m.Project, m.User
	}
	c.changed(teamField, m.Team, after.Team)
	return c
}

// Joining is that a user became a member by an invitation.
func (m Member) Joining() Change {
	c := Member{}.ChangeTo(m, m.User, m.AddedAt)
	c.Type = MemberJoined
	return c
}

// Creation is that an invitation was created.
func (i Invitation) Creation() Change {
	c := Change{Project: i.Project, At: i.CreatedAt(), Type: InvitationCreated, By: i.CreatedBy}
	c.changed(teamField, "", i.Team)
	c.changed("uses", "", number(i.Uses))
	c.changed("expiresAt", "", instant(i.ExpiresAt))
	return c
}

// Revocation is that an invitation was revoked.
func (i Invitation) Revocation(by UserID) Change {
	c := Change{Project: i.Project, At: i.RevokedAt, Type: InvitationRevoked, By: by}
	c.changed(teamField, "", i.Team)
	return c
}

// ChangeFrom is what a manager did to an import, which was nil before if it is new.
func (i Import) ChangeFrom(before *Import, by UserID, at time.Time) Change {
	c := Change{Project: i.Project, At: at, Type: ImportCreated, By: by}
	switch {
	case before == nil:
	case i.State == Cancelled:
		c.Type = ImportCancelled
	default:
		c.Type = ImportStarted
	}
	c.changed("source", "", string(i.Source))
	c.changed("format", "", string(i.Format))
	if i.Bytes > 0 {
		c.changed("bytes", "", strconv.FormatInt(i.Bytes, 10))
	}
	return c
}

// Creation is that an export was created.
func (e Export) Creation() Change {
	c := Change{Project: e.Project, At: e.CreatedAt, Type: ExportCreated, By: e.CreatedBy}
	c.changed("format", "", string(e.Format))
	c.changed("status", "", string(e.Status))
	return c
}

// ChangeFrom is what a manager did to a removal, which was nil before if it is new.
func (r Removal) ChangeFrom(before *Removal, by UserID, at time.Time) Change {
	c := Change{Project: r.Project, At: at, Type: ItemsRemoved, By: by}
	switch {
	case before == nil:
	case r.State == Restoring:
		c.Type = RemovalUndone
	default:
		c.Type = RemovalPurged
	}
	if len(r.Items) > 0 {
		c.changed("items", "", number(len(r.Items)))
	} else if before != nil {
		c.changed("items", "", number(r.Removed))
	}
	c.changed("status", "", string(r.Status))
	if r.Import != "" {
		c.changed("import", "", flag(true))
	}
	if before == nil && r.Purge {
		c.changed("purge", "", flag(true))
	}
	return c
}
