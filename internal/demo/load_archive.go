package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const findProject = `query FindProject {
  viewer { projects(first: 500) { nodes { id name } } }
}`

const createProject = `mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) { project { id } }
}`

const listProject = `query ListProject($id: ID!) {
  project(id: $id) {
    categories { id name }
    subcategories { id name }
    teams { id name }
    members(first: 500) { nodes { user { id } } }
    imports(first: 100) { nodes { id state message bytes lines } }
  }
}`

const createTeam = `mutation CreateTeam($input: CreateTeamInput!) {
  createTeam(input: $input) { team { id } problem { __typename ... on Problem { message } } }
}`

const putProjectMember = `mutation PutProjectMember($input: PutProjectMemberInput!) {
  putProjectMember(input: $input) { problem { __typename ... on Problem { message } } }
}`

const createProjectImport = `mutation CreateProjectImport($input: CreateProjectImportInput!) {
  createProjectImport(input: $input) {
    import { id state message bytes lines }
    upload { method url headers { name value } }
  }
}`

const startProjectImport = `mutation StartProjectImport($input: StartProjectImportInput!) {
  startProjectImport(input: $input) { import { id state message bytes lines } }
}`

const findImport = `query FindImport($id: ID!) {
  node(id: $id) { ... on ProjectImport { id state message bytes lines } }
}`

// looking is how long to wait before an import that runs is looked at again.
const looking = 50 * time.Millisecond

// archive is a project as the server has it.
type archive struct {
	id            string
	Categories    []named `json:"categories"`
	Subcategories []named `json:"subcategories"`
	Teams         []named `json:"teams"`
	Members       struct {
		Nodes []struct {
			User named `json:"user"`
		} `json:"nodes"`
	} `json:"members"`
	Imports struct {
		Nodes []importState `json:"nodes"`
	} `json:"imports"`
}

type importState struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Message string `json:"message"`
	Bytes   int    `json:"bytes"`
	Lines   int    `json:"lines"`
}

// under returns the id of what has the name, "" when there is none.
func under(name string, all []named) string {
	for _, n := range all {
		if n.Name == name {
			return n.ID
		}
	}
	return ""
}

// round makes another key after an import that failed: the key of that one would return it for 24 hours.
func (a archive) round() string {
	failed := 0
	for _, i := range a.Imports.Nodes {
		if i.State == "FAILED" || i.State == "CANCELLED" {
			failed++
		}
	}
	if failed == 0 {
		return ""
	}
	return strconv.Itoa(failed)
}

// loadProject makes what is missing of the project and its teams, imports the items, and has people work on some.
func (l *loader) loadProject(ctx context.Context, members []member, _ time.Time) error {
	items, works := planItems(l.size.items), planWork(l.size)
	total := len(items)
	for _, w := range works {
		total += w.steps()
	}
	shown := newProgress(l.options.Progress, "items", total)
	defer shown.finish()
	ada := members[0]
	p, err := l.project(ctx, ada, townArchive)
	if err != nil {
		return err
	}
	if err := l.fillTeams(ctx, members, p); err != nil {
		return err
	}
	if err := l.importItems(ctx, ada, p, items, shown); err != nil {
		return err
	}
	return l.each(ctx, len(works), func(ctx context.Context, i int) error {
		return l.work(ctx, members, p, works[i], shown)
	})
}

// findProject returns the id of the demo user's project of a name, "" when there is none.
func (l *loader) findProject(ctx context.Context, ada member, name string) (string, error) {
	var found struct {
		Viewer struct {
			Projects struct {
				Nodes []named `json:"nodes"`
			} `json:"projects"`
		} `json:"viewer"`
	}
	err := l.ask(ctx, ada, findProject, nil, &found)
	return under(name, found.Viewer.Projects.Nodes), err
}

// project finds a project by its name, or creates it.
func (l *loader) project(ctx context.Context, ada member, planned plannedProject) (archive, error) {
	id, err := l.findProject(ctx, ada, planned.name)
	if err != nil {
		return archive{}, err
	}
	if id == "" {
		var created struct {
			CreateProject struct {
				Project named `json:"project"`
			} `json:"createProject"`
		}
		input := map[string]any{
			"name": planned.name, "description": planned.description,
			"categories": planned.categories, "subcategories": planned.subcategories, "suggestedKeywords": planned.keywords,
		}
		if err := l.change(ctx, ada, createProject, input, &created); err != nil {
			return archive{}, err
		}
		id = created.CreateProject.Project.ID
	}
	return l.describe(ctx, ada, id)
}

// describe returns the project of an id.
func (l *loader) describe(ctx context.Context, m member, id string) (archive, error) {
	var data struct {
		Project archive `json:"project"`
	}
	err := l.ask(ctx, m, listProject, map[string]any{"id": id}, &data)
	data.Project.id = id
	return data.Project, err
}

// fillTeams makes the teams and puts people into theirs. Who is in the project already stays where somebody may have put
// them.
func (l *loader) fillTeams(ctx context.Context, members []member, p archive) error {
	there := map[string]bool{}
	for _, m := range p.Members.Nodes {
		there[m.User.ID] = true
	}
	for _, team := range teams {
		id := under(team.name, p.Teams)
		if id == "" {
			var created struct {
				CreateTeam struct {
					Team named `json:"team"`
				} `json:"createTeam"`
			}
			input := map[string]any{"projectId": p.id, "name": team.name, "type": team.kind}
			if err := l.change(ctx, members[0], createTeam, input, &created); err != nil {
				return err
			}
			id = created.CreateTeam.Team.ID
		}
		for _, i := range team.members {
			if i >= len(members) || there[members[i].id] {
				continue
			}
			input := map[string]any{"teamId": id, "userId": members[i].id}
			if err := l.change(ctx, members[0], putProjectMember, input, &struct{}{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// importItems imports the items, unless an import of the same file did or does. Items that are there are left alone.
func (l *loader) importItems(ctx context.Context, ada member, p archive, items []plannedItem, shown progress) error {
	file, err := importFile(items)
	if err != nil {
		return err
	}
	for _, i := range p.Imports.Nodes {
		switch i.State {
		case "QUEUED", "RUNNING", "DONE":
			if i.Bytes == len(file) {
				return l.wait(ctx, ada, i, len(items), shown)
			}
		}
	}
	var created struct {
		CreateProjectImport struct {
			Import importState    `json:"import"`
			Upload *uploadRequest `json:"upload"`
		} `json:"createProjectImport"`
	}
	input := map[string]any{"projectId": p.id, "format": "JSON_LINES", "bytes": len(file)}
	if err := l.changeAgain(ctx, ada, createProjectImport, p.round(), input, &created); err != nil {
		return err
	}
	state := created.CreateProjectImport.Import
	if to := created.CreateProjectImport.Upload; state.State == "AWAITING_UPLOAD" && to != nil {
		if err := l.repeat(ctx, func() error { return l.upload(ctx, *to, file) }); err != nil {
			return fmt.Errorf("upload the items: %w", err)
		}
		var started struct {
			StartProjectImport struct {
				Import importState `json:"import"`
			} `json:"startProjectImport"`
		}
		if err := l.change(ctx, ada, startProjectImport, map[string]any{"importId": state.ID}, &started); err != nil {
			return err
		}
		state = started.StartProjectImport.Import
	}
	return l.wait(ctx, ada, state, len(items), shown)
}

// uploadRequest is how to put a file where the server wants it.
type uploadRequest struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
}

// upload puts the file where the server said.
func (l *loader) upload(ctx context.Context, to uploadRequest, file []byte) error {
	request, err := http.NewRequestWithContext(ctx, to.Method, to.URL, bytes.NewReader(file))
	if err != nil {
		return err
	}
	for _, h := range to.Headers {
		request.Header.Set(h.Name, h.Value)
	}
	response, err := l.options.Client.Do(request)
	if err != nil {
		return transportError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // what it says is not needed
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	switch {
	case response.StatusCode/100 == 2, response.StatusCode == http.StatusPreconditionFailed:
		return nil // the precondition is that the file is not there: then an answer was lost, or an earlier run ended after it
	case response.StatusCode >= 500, response.StatusCode == http.StatusTooManyRequests:
		return later{error: fmt.Errorf("S3 answered %s", response.Status)}
	}
	return fmt.Errorf("S3 answered %s: %s", response.Status, text)
}

// wait returns when the import has ended, and shows how far it is.
func (l *loader) wait(ctx context.Context, ada member, state importState, items int, shown progress) error {
	seen := 0
	for {
		if lines := min(state.Lines, items); lines > seen {
			shown.add(lines - seen)
			seen = lines
		}
		switch state.State {
		case "DONE":
			return nil
		case "FAILED":
			return fmt.Errorf("the import of items failed: %s; run it again", state.Message)
		case "AWAITING_UPLOAD":
			return errors.New("the import of items still waits for its file; run it again")
		case "CANCELLED":
			return errors.New("somebody cancelled the import of items; run it again")
		}
		if err := sleep(ctx, looking); err != nil {
			return err
		}
		var data struct {
			Node importState `json:"node"`
		}
		if err := l.ask(ctx, ada, findImport, map[string]any{"id": state.ID}, &data); err != nil {
			return err
		}
		state = data.Node
	}
}
