package contents

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

type projectLine struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Team        string    `json:"team"` // of the user
	Role        string    `json:"role"`
	AddedAt     time.Time `json:"addedAt"`
	Managed     *managed  `json:"managed,omitempty"`
}

// managed is what managers see of a project.
type managed struct {
	Guidelines    string       `json:"guidelines"`
	Keywords      []string     `json:"suggestedKeywords"`
	Paused        bool         `json:"paused"`
	QueueSize     int          `json:"queueSize"`
	LeaseMinutes  int          `json:"leaseMinutes"`
	ReviewPercent int          `json:"reviewPercent"`
	NewcomerDays  int          `json:"newcomerDays"`
	Categories    []labelLine  `json:"categories"`
	Subcategories []labelLine  `json:"subcategories"`
	Teams         []teamLine   `json:"teams"`
	Members       []memberLine `json:"members"`
	Invitations   []inviteLine `json:"invitations"`
}

type labelLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type teamLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
}

// inviteLine is an invitation without its token, which is a secret: whoever finds the archive must not join by it.
type inviteLine struct {
	Team      string     `json:"team"`
	CreatedBy string     `json:"createdBy"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt time.Time  `json:"expiresAt"`
	Uses      int        `json:"uses"`
	Used      int        `json:"used"`
	RevokedAt *time.Time `json:"revokedAt"`
}

type memberLine struct {
	User    string    `json:"user"`
	Team    string    `json:"team"`
	AddedAt time.Time `json:"addedAt"`
}

func (s Sources) eachProject(ctx context.Context, id archive.UserID, do func(project.Project) error) error {
	return each(few, func(w page.Window) (page.Slice[project.Project], error) { return s.Projects.List(ctx, id, w) }, func(all []project.Project) error {
		for _, p := range all {
			if err := do(p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Sources) projects(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachProject(ctx, id, func(p project.Project) (err error) {
		line := projectLine{
			gid.Of("Project", string(p.ID)).String(), p.Name, p.Description, p.CreatedAt, p.UpdatedAt, teamGID(p.ID, p.Member.Team), teamType(p.Member.Type), p.Member.AddedAt, nil,
		}
		if p.Member.Type == project.Manager {
			if line.Managed, err = s.managed(ctx, p); err != nil {
				return err
			}
		}
		return emit(line)
	})
}

func teamGID(p project.ID, team string) string { return gid.Of("Team", string(p), team).String() }

func labelGID(p project.ID, kind project.Kind, id string) string {
	if id == "" {
		return ""
	}
	return gid.Of(string(kind), string(p), id).String()
}

// managed reads what a manager sees of a project.
func (s Sources) managed(ctx context.Context, p project.Project) (*managed, error) {
	m := &managed{
		Keywords: append([]string{}, p.Keywords...), Paused: p.Paused, QueueSize: p.QueueSize, LeaseMinutes: p.LeaseMinutes(), ReviewPercent: p.ReviewPercent(), NewcomerDays: p.NewcomerDays(),
		Categories: []labelLine{}, Subcategories: []labelLine{}, Teams: []teamLine{}, Members: []memberLine{}, Invitations: []inviteLine{},
	}
	guidelines, errs := s.Projects.GuidelinesOf(ctx, []project.Ref[project.ID]{p.Ref()})
	if err := of(errs, 0); err != nil {
		return nil, err
	}
	m.Guidelines = guidelines[0].Text
	labels, errs := s.Projects.ListLabels(ctx, []project.Ref[project.ID]{p.Ref()})
	if err := of(errs, 0); err != nil {
		return nil, err
	}
	for kind, to := range map[project.Kind]*[]labelLine{project.Category: &m.Categories, project.Subcategory: &m.Subcategories} {
		for _, l := range kind.Of(labels[0]) {
			*to = append(*to, labelLine{labelGID(p.ID, kind, l.ID), l.Name})
		}
	}
	teams, errs := s.Projects.ListTeams(ctx, []project.Ref[project.ID]{p.Ref()})
	if err := of(errs, 0); err != nil {
		return nil, err
	}
	for _, t := range teams[0] {
		m.Teams = append(m.Teams, teamLine{teamGID(p.ID, t.ID), t.Name, teamType(t.Type)})
		if err := each(page.Max, func(w page.Window) (page.Slice[project.Member], error) {
			return s.Projects.ListMembers(ctx, t.Members(w))
		}, func(all []project.Member) error {
			for _, member := range all {
				m.Members = append(m.Members, memberLine{userGID(member.User), teamGID(p.ID, member.Team), member.AddedAt})
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	invitations, errs := s.Projects.ListInvitations(ctx, []project.Ref[project.ID]{p.Ref()})
	if err := of(errs, 0); err != nil {
		return nil, err
	}
	for _, i := range invitations[0] {
		m.Invitations = append(m.Invitations, inviteLine{teamGID(p.ID, i.Team), userGID(i.CreatedBy), i.CreatedAt(), i.ExpiresAt, i.Uses, i.Used, when(i.RevokedAt)})
	}
	return m, nil
}

type effortLine struct {
	ID          string          `json:"id"`
	Project     string          `json:"project"`
	Item        string          `json:"item"`
	Team        string          `json:"team"`
	Category    string          `json:"category"`
	Subcategory string          `json:"subcategory"`
	Keywords    []string        `json:"keywords"`
	FinishedAt  time.Time       `json:"finishedAt"`
	UndoneAt    *time.Time      `json:"undoneAt"`
	Verdict     project.Verdict `json:"verdict,omitempty"`
	Comment     string          `json:"comment,omitempty"`
	ReviewedAt  *time.Time      `json:"reviewedAt"`
}

func (s Sources) efforts(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachProject(ctx, id, func(p project.Project) error {
		return each(page.Max, func(w page.Window) (page.Slice[project.Effort], error) {
			slices, errs := s.Projects.ListEffortsOfMembers(ctx, []project.MemberEffortsRequest{p.Member.Efforts(w)})
			return slices[0], of(errs, 0)
		}, func(all []project.Effort) error {
			for _, e := range all {
				if err := emit(effortLine{
					gid.Of("ProjectItemEffort", string(e.EffortID.Project), e.EffortID.ID).String(), gid.Of("Project", string(p.ID)).String(),
					gid.Of("ProjectItem", string(p.ID), e.Item).String(), teamGID(p.ID, e.Team), labelGID(p.ID, project.Category, e.Category), labelGID(p.ID, project.Subcategory, e.Subcategory),
					append([]string{}, e.Keywords...), e.FinishedAt, when(e.UndoneAt), e.Review.Verdict, e.Review.Comment, when(e.Review.At),
				}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
