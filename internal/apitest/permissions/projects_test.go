package permissions

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// itemsFile is what is imported: items that become what [world.renewProject] makes of them, and a line with a mistake.
var itemsFile = func() string {
	var b strings.Builder
	for i := range 10 {
		_, _ = fmt.Fprintf(&b, `{"externalId": "secret-%d", "name": "Secret item", "type": "image/png", "url": "https://example.com/secret.png", "metadata": {"of": "secret"}}`+"\n", i)
	}
	return b.String() + `{"externalId": "secret-mistake"}` + "\n"
}()

// renewProject makes a project of which the owner is a manager, edit is in a team of reviewers, view in one of taggies, and
// revoked was with the reviewers. It has an import that is done, one whose file is there, an export that is done, and items in all
// states, as renewItems says.
func (w *world) renewProject() {
	w.T.Helper()
	w.leaveProject()
	made := w.owner.Must(`mutation { createProject(input: {name: "Secret project", description: "secret description", suggestedKeywords: ["secret word", "spare word"],
		categories: ["Secret category", "taken"], subcategories: ["Secret subcategory", "taken"]}) { project { id categories { id } subcategories { id } teams { id } } } }`, nil)
	w.ids["project"] = made.Str("createProject.project.id")
	for name, list := range map[string]string{"category": "categories", "subcategory": "subcategories", "managers": "teams"} {
		w.ids[name] = apitest.IDsOf(made.List("createProject.project." + list))[0]
	}
	const upload = `createProjectImport(input: {projectId: $project, format: JSON_LINES, bytes: %d}) { import { id } upload { method url headers { name value } } }`
	teams := w.owner.Must(fill(fmt.Sprintf(`mutation {
		reviewers: createTeam(input: {projectId: $project, name: "Secret reviewers", type: REVIEWER}) { team { id } }
		taggies: createTeam(input: {projectId: $project, name: "Secret taggies", type: TAGGIE}) { team { id } }
		imported: `+upload+` import: `+upload+`
	}`, len(itemsFile), len(itemsFile)), w.ids), nil)
	w.ids["reviewers"], w.ids["taggies"] = teams.Str("reviewers.team.id"), teams.Str("taggies.team.id")
	for _, name := range []string{"imported", "import"} {
		w.ids[name] = teams.Str(name + ".import.id")
		w.upload(teams, name+".upload", itemsFile)
	}
	w.ids["invitation"] = w.owner.Must(fill(`mutation { createProjectInvitation(input: {teamId: $taggies, uses: 10}) { invitation { id } } }`, w.ids), nil).
		Str("createProjectInvitation.invitation.id")
	w.renewLobby()
	w.owner.Must(fill(`mutation {
		edit: putProjectMember(input: {teamId: $reviewers, userId: $edit}) { member { type } }
		view: putProjectMember(input: {teamId: $taggies, userId: $view}) { member { type } }
		put: putProjectMember(input: {teamId: $reviewers, userId: $revoked}) { member { type } }
		end: removeProjectMember(input: {projectId: $project, userId: $revoked}) { user { id } }
		startProjectImport(input: {importId: $imported}) { import { state } }
		updateGuidelines(input: {projectId: $project, text: "Secret guidelines"}) { guidelines { version } }
	}`, w.ids), nil)
	w.run(project.RunImport, "imported")
	w.renewItems()
	w.ids["export"] = w.owner.Must(fill(`mutation { createProjectExport(input: {projectId: $project, format: JSON_LINES, status: FINISHED}) { export { id } } }`, w.ids), nil).
		Str("createProjectExport.export.id")
	w.run(project.RunExport, "export")
	w.renewRemoval()
}

// renewLobby has the asker leave a project to which everybody can be invited: in the project of the matrix, who joins would see all.
func (w *world) renewLobby() {
	w.T.Helper()
	if w.ids["lobby"] == "" {
		w.ids["lobby"] = w.owner.Must(`mutation { createProject(input: {name: "Lobby", categories: ["one"]}) { project { id } } }`, nil).Str("createProject.project.id")
		w.ids["guests"] = w.owner.Must(fill(`mutation { createTeam(input: {projectId: $lobby, name: "Guests", type: TAGGIE}) { team { id } } }`, w.ids), nil).Str("createTeam.team.id")
	} else if w.asker != nil && w.asker.ID != "" && w.asker.ID != w.ids["owner"] {
		w.owner.Mutate("removeProjectMember", "user { id }", apitest.Vars{"projectId": w.ids["lobby"], "userId": w.asker.ID})
	} else if w.ids["inviteToken"] != "" {
		return // nobody has joined
	}
	// Who was removed does not join again by the same link.
	if joined := w.ids["invite"]; joined != "" {
		w.owner.Mutate("revokeProjectInvitation", "invitation { id }", apitest.Vars{"invitationId": joined})
	}
	made := w.owner.Mutate("createProjectInvitation", "invitation { id token }", apitest.Vars{"teamId": w.ids["guests"], "uses": project.MaxInvitationUses})
	w.ids["invite"], w.ids["inviteToken"] = made.Str("result.invitation.id"), made.Str("result.invitation.token")
}

// renewDeletedProjects makes two projects with edit and view, of which one is deleted.
func (w *world) renewDeletedProjects() {
	w.T.Helper()
	for _, name := range []string{"doomed", "deletedProject"} {
		w.ids[name] = w.owner.Must(`mutation { createProject(input: {name: "Secret `+name+`", description: "secret", categories: ["Secret category"]}) { project { id } } }`, nil).Str("createProject.project.id")
		l := w.crew(name)
		l.Puts(w.people["edit"], "REVIEWER")
		l.Puts(w.people["view"], "TAGGIE")
	}
	w.owner.Must(fill(`mutation { deleteProject(input: {projectId: $deletedProject}) { deleted { state } } }`, w.ids), nil)
	_, err := w.App.Tasks.Handlers[project.RunDeletion](w.T.Context(), task.Task{Kind: project.RunDeletion, Scope: apitest.GlobalKey(w.T, w.ids["deletedProject"])[1]})
	require.NoError(w.T, err)
}

// renewRemoval makes a removal that can be undone, and an item that another one has removed.
func (w *world) renewRemoval() {
	w.T.Helper()
	l := w.crew("project")
	store, now := w.App.Labelling.Relay.Truth, time.Now().UTC().Truncate(time.Millisecond)
	r := project.Removal{
		TransferID: project.TransferID{Project: l.Key(), ID: uuid.NewString()}, Import: apitest.GlobalKey(w.T, w.ids["imported"])[2], Status: project.New, State: project.Undoable,
		CreatedBy: project.UserID(apitest.GlobalKey(w.T, w.ids["owner"])[1]), CreatedAt: now, EndedAt: now, UndoUntil: now.Add(time.Hour), Removed: 2, Left: 1, Purge: true, Version: 1,
	}
	require.NoError(w.T, store.PutRemoval(w.T.Context(), "", nil, r, nil, idempotency.Key{}))
	gone := project.Item{
		ItemID: project.ItemIDOf(l.Key(), "removed"), ExternalID: "removed", Name: "secret removed", Status: project.Removed, Was: project.New, Removal: "another", Seq: "1", Version: 2, CreatedAt: now, UpdatedAt: now,
	}
	_, _, err := truth.Store{Store: projects.Store{DB: w.DB}}.ImportItems(w.T.Context(), []project.Item{gone})
	require.NoError(w.T, err)
	w.ids["removedItem"] = apitest.GIDOf("ProjectItem", string(l.Key()), gone.ID)
	w.ids["removal"] = apitest.GIDOf("ProjectRemoval", string(l.Key()), r.ID)
}

// leaveProject has all but the owner leave what was made before: lists of projects stay short, so that an answer has room for the errors of
// each. The owner stays, who would no longer see which project uses a file.
func (w *world) leaveProject() {
	w.T.Helper()
	if w.ids["project"] == "" {
		return
	}
	w.owner.Do(fill(`mutation {
		a: removeProjectMember(input: {projectId: $project, userId: $edit}) { user { id } } b: removeProjectMember(input: {projectId: $project, userId: $view}) { user { id } }
	}`, w.ids), nil) // some may have left already
}

// upload sends the file of an import as an answer says at the path.
func (w *world) upload(a *apitest.Answer, path, file string) {
	w.T.Helper()
	r, err := http.NewRequestWithContext(w.T.Context(), a.Str(path+".method"), a.Str(path+".url"), strings.NewReader(file))
	require.NoError(w.T, err)
	for _, h := range a.List(path + ".headers") {
		h := h.(map[string]any)
		r.Header.Set(h["name"].(string), h["value"].(string))
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.T, err)
	require.NoError(w.T, resp.Body.Close())
	require.Equal(w.T, http.StatusOK, resp.StatusCode)
}

// run works on the task of an import or export at once: nothing runs in the background of these tests, so that whatever changes
// was changed by who was asked for.
func (w *world) run(kind task.Kind, name string) {
	w.T.Helper()
	id, err := gid.Parse(w.ids[name])
	require.NoError(w.T, err)
	require.Eventually(w.T, func() bool { // as the task is tried again, say while a queue is being rebuilt
		_, err = w.App.Tasks.Handlers[kind](w.T.Context(), task.Task{Kind: kind, ID: id.Key[1], Scope: id.Key[0]})
		return !fault.Is(err, fault.Unavailable)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(w.T, err)
}

// projectShown is what the owner is shown of the projects for a snapshot.
const projectShown = `
	project(id: $project) {
		name description createdAt updatedAt version suggestedKeywords categories { name } subcategories { name }
		teams { name type createdAt statistics { finished incorrect } } members { nodes { user { id } team { id } addedAt } }
		items { nodes { id name type url metadata status keywords updatedAt version category { id } subcategory { id } claim { since until user { id } } returnedTo { id }
			efforts { nodes { id user { id } undoneAt review { verdict comment } } } } }
		imports { nodes { id state endedAt bytesRead lines imported duplicates mistakes } } exports { nodes { id state endedAt items bytes } } removals { nodes { id state removed } } invitations { id used revokedAt }
		paused queue { cursor queued size paused counts { total new claimed finished skipped } }
	}
	paused: project(id: $paused) { paused version }
	deletedProjects: viewer { deletedProjects(first: 500) { nodes { projectId state undoUntil } } }`
