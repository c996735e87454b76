package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/loaders"
)

// projectsAhead reads what is selected below projects: the viewer's membership, and of more than one project the lists, teams, guidelines and invitations.
// Those of a single one, and its pages, begin side by side by themselves.
func (r *Resolver) projectsAhead(ctx context.Context, projects []project.Project, sel selection) {
	load := loaders.From(ctx)
	var mine []project.Member
	var lists wave
	for _, p := range projects {
		load.Projects.Prime(p.ID, p)
		if sel.has("viewerMember") {
			mine = append(mine, p.Member)
		}
		if sel.has("categories") || sel.has("subcategories") {
			lists.labelsOf = append(lists.labelsOf, p.Ref())
		}
		if sel.has("guidelines") {
			lists.guidelines = append(lists.guidelines, p.Ref())
		}
		if sel.has("invitations") {
			lists.invitesOf = append(lists.invitesOf, p.Ref())
		}
		if sel.has("teams") {
			lists.teamsOf = append(lists.teamsOf, p.Ref())
		}
	}
	if len(projects) > 1 {
		lists.read(load)
		var labels []project.Label
		for _, of := range loaded(ctx, load.LabelsOf, lists.labelsOf) {
			labels = append(labels, of...)
		}
		r.labelsAhead(ctx, project.Category.Of(labels), sel.in("categories", "Category", "Node"))
		r.labelsAhead(ctx, project.Subcategory.Of(labels), sel.in("subcategories", "Subcategory", "Node"))
		var teams []project.Team
		for _, of := range loaded(ctx, load.TeamsOf, lists.teamsOf) {
			teams = append(teams, of...)
		}
		r.teamsAhead(ctx, teams, sel.in("teams", "Team", "Node"))
		var invitations []project.Invitation
		for _, of := range loaded(ctx, load.InvitesOf, lists.invitesOf) {
			invitations = append(invitations, of...)
		}
		r.invitationsAhead(ctx, invitations, sel.in("invitations", "ProjectInvitation", "Node"))
		guidelinesAhead(ctx, loaded(ctx, load.Guidelines, lists.guidelines), sel.in("guidelines", "Guidelines"))
	}
	r.membersAhead(ctx, mine, sel.in("viewerMember", "ProjectMember"))
}

// sideBySide bounds how many lists that cannot be batched one look-ahead reads at the same time.
const sideBySide = 16

// teamsAhead reads what is selected below teams.
func (r *Resolver) teamsAhead(ctx context.Context, teams []project.Team, sel selection) {
	if len(teams) == 0 || len(sel.fields) == 0 {
		return
	}
	load := loaders.From(ctx)
	var first wave
	if sel.has("project") || sel.has("statistics") {
		for _, t := range teams {
			first.projects = append(first.projects, t.TeamID.Project)
		}
	}
	lists := r.membersOf(ctx, teams, sel)
	var group errgroup.Group
	group.SetLimit(sideBySide)
	group.Go(func() error { first.read(load); return nil })
	for _, list := range lists {
		for _, request := range list.requests {
			group.Go(func() error { load.ProjectMembers.Prefetch([]project.MembersRequest{request}); return nil })
		}
	}
	_ = group.Wait()

	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	teamStatisticsAhead(ctx, teams, sel)
	for _, list := range lists {
		var found []project.Member
		for n, request := range list.requests {
			slice, err := load.ProjectMembers.Load(ctx, request)
			if err != nil {
				continue
			}
			for _, m := range slice.Items {
				load.Teams.Prime(m.TeamRef(), list.of[n])
			}
			found = append(found, slice.Items...)
		}
		r.membersAhead(ctx, found, list.sel)
	}
}

// membersOf returns the lists of members that are selected of the teams.
func (r *Resolver) membersOf(ctx context.Context, teams []project.Team, sel selection) (all []list[project.Team, project.MembersRequest]) {
	sel.each("members", "ProjectMemberConnection", func(paging page.Args, below selection) {
		l := list[project.Team, project.MembersRequest]{sel: below.items("ProjectMemberEdge", "ProjectMember")}
		for _, t := range teams {
			if o, err := r.openTeam(ctx, below, t, paging); err == nil {
				l.requests, l.of = append(l.requests, t.Members(o.Window)), append(l.of, t)
			}
		}
		all = append(all, l)
	})
	return all
}

// membersAhead reads what is selected below members: users, teams and efforts side by side, then what is below these.
func (r *Resolver) membersAhead(ctx context.Context, members []project.Member, sel selection) {
	if len(members) == 0 || len(sel.fields) == 0 {
		return
	}
	var first wave
	profiles := sel.showsProfiles("user")
	for _, m := range members {
		if profiles {
			first.people = append(first.people, m.User)
		}
		if sel.has("team") {
			first.teams = append(first.teams, m.TeamRef())
		}
	}
	var lists []list[project.Member, project.MemberEffortsRequest]
	sel.each("efforts", "ProjectItemEffortConnection", func(paging page.Args, below selection) {
		l := list[project.Member, project.MemberEffortsRequest]{sel: below.items("ProjectItemEffortEdge", "ProjectItemEffort", "Node")}
		for _, m := range members {
			if o, err := r.openMember(ctx, below, m, paging); err == nil {
				l.requests = append(l.requests, m.Efforts(o.Window))
			}
		}
		lists = append(lists, l)
		first.work = append(first.work, l.requests...)
	})
	load := loaders.From(ctx)
	first.read(load)

	r.teamsAhead(ctx, loaded(ctx, load.Teams, first.teams), sel.in("team", "Team", "Node"))
	for _, list := range lists {
		var found []project.Effort
		for _, slice := range loaded(ctx, load.MemberEfforts, list.requests) {
			found = append(found, slice.Items...)
		}
		r.effortsAhead(ctx, found, list.sel)
	}
}

// importsAhead reads what is selected below imports.
func (r *Resolver) importsAhead(ctx context.Context, imports []project.Import, sel selection) {
	var first wave
	profiles := sel.showsProfiles("createdBy")
	for _, i := range imports {
		if profiles {
			first.people = append(first.people, i.CreatedBy)
		}
		if sel.has("project") {
			first.projects = append(first.projects, i.TransferID.Project)
		}
	}
	load := loaders.From(ctx)
	first.read(load)
	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
}

// exportsAhead reads what is selected below exports. The name of the file of one is made of the project's.
func (r *Resolver) exportsAhead(ctx context.Context, exports []project.Export, sel selection) {
	var first wave
	profiles := sel.showsProfiles("createdBy")
	for _, e := range exports {
		if profiles {
			first.people = append(first.people, e.CreatedBy)
		}
		if sel.has("project") || sel.has("url") && e.State == project.Done {
			first.projects = append(first.projects, e.TransferID.Project)
		}
	}
	load := loaders.From(ctx)
	first.read(load)
	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
}
