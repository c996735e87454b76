package queues

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

const (
	deletedShown = "deleted { projectId name description state deletedAt undoUntil deletedBy { id } } problem { __typename ... on ProjectConflict { current { id version } } }"
	wholeProject = `query($p: ID!) { project(id: $p) { id name description suggestedKeywords guidelines { text version updatedAt updatedBy { id } } invitations { id token used } viewerMember { type team { id } }
		teams { id name members(first: 100) { nodes { user { id } type } } statistics { finished incorrect users { user { id } finished incorrect } } }
		categories { id name } subcategories { id name } members(first: 100) { nodes { user { id } type addedAt } }
		items(first: 100) { nodes { id name status version keywords category { id } claim { user { id } } efforts(first: 10) { nodes { id review { verdict } } } } }
		imports(first: 10) { nodes { id state imported } } exports(first: 10) { nodes { id state items } } removals(first: 10) { nodes { id state removed } }
		toReviewCount toReview(first: 50) { nodes { id } } topKeywords { value count } queue { queued counts { total new claimed finished skipped } } } }`
)

// deletedOf lists the deleted projects of a user.
func deletedOf(c *apitest.Client) []any {
	c.T.Helper()
	return c.Must(`{ viewer { deletedProjects(first: 10) { nodes { projectId state } edges { node { name deletedBy { name } } } pageInfo { hasNextPage } } } }`, nil).List("viewer.deletedProjects.nodes")
}

// becomesDeleted waits for the state of a deleted project.
func becomesDeleted(l apitest.Crew, state string) {
	l.T.Helper()
	require.Eventually(l.T, func() bool {
		nodes := deletedOf(l.Client)
		return state == "" && len(nodes) == 0 || len(nodes) == 1 && nodes[0].(map[string]any)["state"] == state
	}, time.Minute, 20*time.Millisecond, "%s", state)
}

// busy is a project with something of all that a project can have.
func busy(s *apitest.Server) (l apitest.Crew, reviewer *apitest.Client, held apitest.Held, file string) {
	s.T.Helper()
	l = s.Labelled(14, 3)
	reviewer = l.Reviewer()
	file = l.Uploads([]byte("music"), apitest.Vars{"name": "one.txt", "type": "text/plain"})
	require.InDelta(s.T, 1, l.Takes(apitest.Vars{"itemIds": []string{file}}).At("imported"), 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	have := l.Claimed(ada, 4)
	effort := l.Finished(ada, have[0], apitest.Vars{"keywords": []string{"Red", "blue"}})
	l.Finished(ada, have[1])
	reviewer.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": effort, "verdict": "CORRECT"})
	ada.Mutate("skipProjectItem", "item { id }", have[2].Input(apitest.Vars{"reason": "TO_OTHERS"}))
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "suggestedKeywords": []string{"Green"}})
	l.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": l.ID, "text": "# How to label"})
	l.Mutate("createProjectInvitation", "invitation { id }", apitest.Vars{"teamId": l.Team, "uses": 5})
	other := l.Claimed(bob, 2)
	bob.Mutate("skipProjectItem", "item { id }", other[0].Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	l.Exported("CSV", nil)
	l.Awaiting("CSV", 10)
	removal := l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "itemIds": []string{have[1].ID}}).Str("result.removal.id")
	s.During(func() { removalBecomes(l, removal, "REMOVED") })
	reviewer.Must(`mutation($p: ID!) { claimReviews(input: {projectId: $p, count: 2}) { efforts { id } } }`, apitest.Vars{"p": l.ID})
	l.Counts("7 2 4 1")
	return l, reviewer, have[3], file
}

func TestAProjectIsDeletedAndBroughtBack(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l, reviewer, held, file := busy(s)
	ada := l.Labellers[0]
	before := l.Must(wholeProject, apitest.Vars{"p": l.ID})
	version := l.Must(`query($p: ID!) { project(id: $p) { version } }`, apitest.Vars{"p": l.ID}).At("project.version")
	follows := l.Listens(ada, nil)
	follows.Snapshot()

	in := apitest.Vars{"projectId": l.ID}
	ada.Mutate("deleteProject", deletedShown, in).Fails("FORBIDDEN", "")
	reviewer.Mutate("deleteProject", deletedShown, in).Fails("FORBIDDEN", "")
	s.User("stranger@example.com").Mutate("deleteProject", deletedShown, in).Fails("NOT_FOUND", "")
	a := l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID, "expectedVersion": 77})
	assert.Equal(t, []any{"ProjectConflict", l.ID, version, nil}, []any{a.At("result.problem.__typename"), a.At("result.problem.current.id"), a.At("result.problem.current.version"), a.At("result.deleted")}, "%s", a.Body)

	a = l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID, "expectedVersion": version, "idempotencyKey": "once"})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, []any{l.ID, "DELETING", l.Client.ID}, []any{a.At("result.deleted.projectId"), a.At("result.deleted.state"), a.At("result.deleted.deletedBy.id")})
	assert.Equal(t, domain.UndoDeletion, a.Time("result.deleted.undoUntil").Sub(a.Time("result.deleted.deletedAt")))
	assert.Nil(t, l.Do(`query($p: ID!) { project(id: $p) { id } }`, apitest.Vars{"p": l.ID}).At("project"), "at once")
	s.During(func() { becomesDeleted(l, "DELETED") })
	a = l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID, "expectedVersion": version, "idempotencyKey": "once"})
	assert.Equal(t, "DELETED", a.At("result.deleted.state"), "the same request: %s", a.Body)

	// Nobody sees anything of it, or does anything with it.
	assert.NoError(t, follows.Ended(), "the server completed it")
	for _, who := range append(l.Labellers, reviewer, l.Client) {
		assert.Nil(t, who.Do(`query($p: ID!) { project(id: $p) { id } }`, apitest.Vars{"p": l.ID}).At("project"))
		assert.Nil(t, who.Do(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": held.ID}).At("node"))
		assert.Empty(t, who.Must(`{ viewer { projects(first: 10) { nodes { id } } } }`, nil).List("viewer.projects.nodes"))
		who.Mutate("claimProjectItems", "items { id }", apitest.Vars{"projectId": l.ID, "count": 1}).Fails("NOT_FOUND", "")
	}
	ada.Mutate("finishProjectItem", "item { id }", l.Finishing(held)).Fails("NOT_FOUND", "")
	ada.Mutate("releaseProjectItem", "item { id }", held.Input()).Fails("NOT_FOUND", "")
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": ada.ID}).Fails("NOT_FOUND", "")
	assert.Empty(t, deletedOf(ada))
	assert.Equal(t, []any{map[string]any{"projectId": l.ID, "state": "DELETED"}}, deletedOf(l.Client))
	assert.Equal(t, "ItemInUse", l.Mutate("deleteItem", "problem { __typename }", apitest.Vars{"itemId": file}).At("result.problem.__typename"))
	l.Mutate("deleteProject", deletedShown, in).Fails("NOT_FOUND", "")
	for _, who := range []*apitest.Client{ada, reviewer, s.User("other@example.com")} {
		who.Mutate("undoDeleteProject", "project { id }", in).Fails("NOT_FOUND", "")
		who.Mutate("purgeDeletedProject", "deleted { state }", in).Fails("NOT_FOUND", "")
	}

	a = l.Mutate("undoDeleteProject", "project { id name viewerMember { type } }", in)
	assert.Equal(t, []any{l.ID, "MANAGER"}, []any{a.At("result.project.id"), a.At("result.project.viewerMember.type")}, "%s", a.Body)
	s.During(func() {
		everybody := func() []any {
			return l.Must(`query($p: ID!) { project(id: $p) { members(first: 100) { nodes { user { id } } } } }`, apitest.Vars{"p": l.ID}).List("project.members.nodes")
		}
		require.Eventually(t, func() bool { return len(everybody()) == len(before.List("project.members.nodes")) }, apitest.Patience, 20*time.Millisecond)
	})
	assert.Equal(t, before.Data, l.Must(wholeProject, apitest.Vars{"p": l.ID}).Data)
	l.Mutate("rebuildProjectQueue", "project { id }", in)
	l.Counts("7 2 4 1")
	a = l.Mutate("undoDeleteProject", "project { id }", in)
	assert.Equal(t, l.ID, a.At("result.project.id"), "it is there: %s", a.Body)
	l.Mutate("purgeDeletedProject", "deleted { state }", in).Fails("NOT_FOUND", "")
	l.Finished(ada, held)
}

// left returns everything that is left of a project in all stores, but what tells of repeated requests, which ends by itself.
func left(l apitest.Crew) (found []string) {
	l.T.Helper()
	ctx, stores := l.T.Context(), l.App.Stores
	for _, table := range []dynamo.Table{dynamo.NotesTable, dynamo.ScoresTable, dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries, dynamo.TagsTable} {
		for key, row := range dynamotest.RowsOf(l.T, l.DB, table) {
			if text := string(dynamo.RowJSON(row)); strings.Contains(text, string(l.Key())) && !strings.HasPrefix(key.PK, "IDEM#") {
				found = append(found, text)
			}
		}
	}
	keys, err := stores.Redis.Keys(ctx, "*"+string(l.Key())+"*").Result()
	require.NoError(l.T, err)
	found = append(found, keys...)
	for _, prefix := range project.FilesOf(l.Key()) {
		objects, err := stores.Bucket.List(ctx, prefix)
		require.NoError(l.T, err)
		found = append(found, objects...)
	}
	return found
}

func TestADeletedProjectLeavesNothing(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l, _, _, file := busy(s)
	require.NotEmpty(t, left(l))
	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID})
	s.During(func() { becomesDeleted(l, "DELETED") })
	a := l.Mutate("purgeDeletedProject", deletedFields, apitest.Vars{"projectId": l.ID})
	require.Empty(t, a.Errors, "%s", a.Body)
	l.Mutate("undoDeleteProject", "project { id }", apitest.Vars{"projectId": l.ID}).Fails("CONFLICT", "")
	s.During(func() {
		becomesDeleted(l, "")
		assert.Eventually(t, func() bool { return len(left(l)) == 0 }, time.Minute, 100*time.Millisecond)
	})
	assert.Empty(t, left(l))
	l.Mutate("undoDeleteProject", "project { id }", apitest.Vars{"projectId": l.ID}).Fails("NOT_FOUND", "")
	assert.Nil(t, l.Mutate("deleteItem", "problem { __typename }", apitest.Vars{"itemId": file}).At("result.problem"))
}

// A large project is deleted, brought back, and deleted for good: with `make test-long`, one of 100,000 items.
func TestALargeProjectIsDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l, _, _, _ := busy(s)
	a := l.Must(`query($p: ID!) { project(id: $p) { queue { counts { total claimed finished skipped } } } }`, apitest.Vars{"p": l.ID})
	text := apitest.Lines(0, deletedItems)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(t, 200, upload(text))
	l.Mutate("startProjectImport", "import { id }", apitest.Vars{"importId": id})
	becomes := func(what string, so func() bool) {
		t.Helper()
		began := time.Now()
		require.Eventually(t, so, time.Minute+deletedItems*20*time.Millisecond, 100*time.Millisecond, what)
		t.Logf("%d items are %s: %v", deletedItems, what, time.Since(began).Round(time.Millisecond))
	}
	s.During(func() { becomes("imported", func() bool { return l.AnImport(id).At("state") == "DONE" }) })
	counts := func() *apitest.Answer {
		return l.Must(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped } } teams { statistics { finished incorrect } } } }`, apitest.Vars{"p": l.ID})
	}
	total := a.At("project.queue.counts.total").(float64) + deletedItems
	becomes("counted", func() bool { return counts().At("project.queue.counts.total") == total })
	before := counts()

	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID})
	s.During(func() { becomesDeleted(l, "DELETED") })
	l.Mutate("undoDeleteProject", "project { id }", apitest.Vars{"projectId": l.ID})
	assert.Equal(t, before.Data, counts().Data)
	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID, "purge": true})
	s.During(func() { becomes("gone", func() bool { return len(deletedOf(l.Client)) == 0 && len(left(l)) == 0 }) })
}

const deletedFields = "deleted { projectId state undoUntil }"

// erasing returns what goes on with the deletion of a project, on the stores of a server and without waiting for indexes.
func erasing(s *apitest.Server, of project.ID) func(context.Context) (time.Time, error) {
	e := labelling.NewEraser(labelling.EraserOptions{
		Options: s.App.Labelling.Reaper.Options, Projects: projects.Store{DB: s.DB}, Queues: s.App.Labelling.Queue, Files: s.App.Stores.Bucket,
	}, time.Millisecond)
	return func(ctx context.Context) (time.Time, error) {
		again, err := e.Run(ctx, task.Task{Kind: project.RunDeletion, Scope: string(of)})
		if err == nil && again.IsZero() {
			again, err = e.Erase(ctx, task.Task{Kind: project.RunErasure, Scope: string(of)})
		}
		return again, err
	}
}

// killed kills what runs after each number of calls, again and again, until it ends well, and returns how often.
func killed(s *apitest.Server, run func(context.Context) error) int {
	for calls := 0; ; calls++ {
		rule := s.Faults.KillAfter(calls)
		err := run(s.T.Context())
		rule.Stop()
		if err == nil {
			return calls
		}
	}
}

// A deletion is killed after each number of calls, again and again, and so is what brings a project back: each goes on where it was.
func TestDeletionsAreKilled(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	rests := s.Works()
	l, _, _, _ := busy(s)
	rests() // so that what is killed is the deletion
	erase := erasing(s, l.Key())
	run := func(ctx context.Context) error { _, err := erase(ctx); return err }
	before := l.Must(wholeProject, apitest.Vars{"p": l.ID})
	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID})
	assert.Greater(t, killed(s, run), 2)
	becomesDeleted(l, "DELETED")
	l.Mutate("undoDeleteProject", "project { id }", apitest.Vars{"projectId": l.ID})
	assert.Greater(t, killed(s, run), 2)
	assert.Equal(t, before.Data, l.Must(wholeProject, apitest.Vars{"p": l.ID}).Data)

	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID, "purge": true})
	assert.Greater(t, killed(s, run), 20)
	assert.Empty(t, left(l))
}

// After 30 days, by the clock that is passed in, a deleted project goes by itself, and not before.
func TestADeletedProjectGoesAfterThirtyDays(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	l := s.Labelled(2, 0)
	l.Mutate("deleteProject", deletedShown, apitest.Vars{"projectId": l.ID})
	run := erasing(s, l.Key())
	again, err := run(t.Context())
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(domain.UndoDeletion), again, time.Minute)
	nearly := s.Later(domain.UndoDeletion - time.Hour)
	run = erasing(nearly, l.Key())
	again, err = run(t.Context())
	require.NoError(t, err)
	assert.False(t, again.IsZero())
	over := s.Later(domain.UndoDeletion + time.Hour)
	l.Client.At(over).Mutate("undoDeleteProject", "project { id }", apitest.Vars{"projectId": l.ID}).Fails("CONFLICT", "")
	run = erasing(over, l.Key())
	again, err = run(t.Context())
	require.NoError(t, err)
	assert.True(t, again.IsZero())
	assert.Empty(t, deletedOf(l.Client))
	assert.Empty(t, left(l))
}
