package fleets

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/capacity"
)

// settles makes people and two projects: one to be labelled, and a small one in which single operations are measured.
func (w *capacityWorld) settles(times int) {
	w.t.Helper()
	manager := w.servers[0].user("manager@example.com")
	var labellers []*apitest.Client
	for n := range w.size.Labellers {
		labellers = append(labellers, w.of(n).user(fmt.Sprintf("labeller%d@example.com", n)))
	}
	w.small = w.project(manager, labellers[:min(len(labellers), 5)], times) // of whom each may have 50 items
	w.Crew = w.project(manager, labellers, w.size.Items)
	for n := range max(1, w.size.Labellers/20) {
		w.reviewers = append(w.reviewers, w.of(n).user(fmt.Sprintf("reviewer%d@example.com", n)))
	}
	for _, l := range []apitest.Crew{w.small, w.Crew} {
		team := l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Reviewers", type: REVIEWER}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")
		for _, u := range w.reviewers {
			l.Must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, apitest.Vars{"t": team, "u": u.ID})
		}
	}
}

// operations measures what single operations cost, each so many times, one after the other.
func (w *capacityWorld) operations(times int) {
	w.t.Helper()
	w.ofNotes(times)
	w.ofQueues(times)
	w.ofFiles(min(times, 50))
	w.ofEntities(times)
}

func (w *capacityWorld) ofNotes(times int) {
	u := w.servers[0].user("writer@example.com")
	ids := make([]string, times)
	content := strings.Repeat("What is to be remembered. ", 23) // 598 bytes
	w.measures("createNote", times, func(n int) {
		a := u.Mutate("createNote", "note { id }", apitest.Vars{"title": fmt.Sprintf("Note %d", n), "content": content, "tags": []string{"birds", "feeder"}, "idempotencyKey": uuid.NewString()})
		ids[n] = a.Str("result.note.id")
	})
	w.measures("updateNote", times, func(n int) {
		u.Mutate("updateNote", "note { version } problem { __typename }", apitest.Vars{"noteId": ids[n], "content": content + "More.", "expectedVersion": 1, "idempotencyKey": uuid.NewString()})
	})
	w.measures("note(id:)", times, func(n int) {
		u.Must(`query($i: ID!) { note(id: $i) { title content tags { value } owner { name } } }`, apitest.Vars{"i": ids[n]})
	})
	if times < 50 {
		u.Notes(50-times, func(_ int, input apitest.Vars) { input["content"] = content })
	}
	w.measures("list of 50 notes", times, func(int) {
		require.Len(w.t, u.Must(`{ viewer { notes(first: 50) { nodes { title content tags { value } owner { name } } } } }`, nil).List("viewer.notes.nodes"), 50)
	})
}

func (w *capacityWorld) ofQueues(times int) {
	l := w.small
	var held []apitest.Held
	w.measures("claimProjectItems", times, func(n int) {
		a := l.Labellers[n%len(l.Labellers)].Must(w.board["Claim"], apitest.Vars{"input": apitest.Vars{"projectId": l.ID, "count": 1, "idempotencyKey": uuid.NewString()}})
		held = append(held, apitest.HeldOf(a, "claimProjectItems.items")...)
	})
	require.Len(w.t, held, times)
	w.measures("finishProjectItem", times, func(n int) {
		l.Labellers[n%len(l.Labellers)].Must(w.board["Finish"], apitest.Vars{"input": held[n].Input(apitest.Vars{"categoryId": l.Categories[0], "keywords": []string{"bird"}, "idempotencyKey": uuid.NewString()})})
	})
	reviewer := w.reviewers[0]
	w.measures("claimReviews and reviewEffort", times, func(int) {
		a := reviewer.Must(w.board["ToReview"], apitest.Vars{"project": l.ID, "count": 1})
		for _, effort := range apitest.IDsOf(a.List("claimReviews.efforts")) {
			reviewer.Must(w.board["Review"], apitest.Vars{"input": apitest.Vars{"effortId": effort, "verdict": "CORRECT", "idempotencyKey": uuid.NewString()}})
		}
	})
	for _, u := range w.Labellers { // who is online, so that it shows in what follows
		u.Must(w.board["Heartbeat"], apitest.Vars{"input": apitest.Vars{"projectIds": []string{w.ID}}})
	}
	w.measures(fmt.Sprintf("heartbeat, and who of %d members is online", w.size.Labellers), times, func(n int) {
		u := w.Labellers[n%len(w.Labellers)]
		u.Must(w.board["Heartbeat"], apitest.Vars{"input": apitest.Vars{"projectIds": []string{w.ID}}})
		u.Must(w.board["Online"], apitest.Vars{"project": w.ID})
	})
	s := w.consumed(func() { w.imports(l, 10*times) }) // the first ones are there already
	w.costs = append(w.costs, capacity.CostOf("import of an item", 9*times, s, w.resting))
}

func (w *capacityWorld) ofFiles(times int) {
	u := w.servers[0].user("keeper@example.com")
	var items []string
	files := make([][]byte, times)
	for n := range files {
		files[n] = apitest.Staves(w.t, uint64(n))
	}
	w.measures("upload of a page (requestUpload, PUT, completeUpload)", times, func(n int) { items = append(items, u.Uploads(files[n], nil)) })
	w.measures("setItemTags with 3 tags", times, func(n int) {
		u.Tags(items[n], apitest.Vars{"value": "birds"}, apitest.Vars{"value": fmt.Sprintf("feeder %d", n)}, apitest.Vars{"value": "winter"})
	})
	w.measures("itemTags: search, 10 results", times, func(int) {
		u.Must(`{ itemTags(beginsWith: "fe", first: 10) { nodes { value item { name } author { name } } } }`, nil)
	})
}

func (w *capacityWorld) ofEntities(times int) {
	r := w.servers[0].user("curator@example.com").Space("Library")
	about := strings.Repeat("about it ", 30)
	ids := make([]string, times)
	for n := range ids {
		ids[n] = r.Set("Page", fmt.Sprint("p", n), apitest.Vars{"title": fmt.Sprint("page ", n), "about": about})
	}
	w.measures("addEntityRelations, 1 object", times, func(n int) {
		r.Mutate("addEntityRelations", "entity { id } problem { __typename }", apitest.Vars{"entityId": ids[n], "predicate": "cites", "objects": apitest.Objects(ids[(n+1)%times]), "idempotencyKey": uuid.NewString()})
	})
	if times < timesForIndex {
		return
	}
	a := r.Mutate("declareEntityIndex", "scope { id }", apitest.Vars{"scopeId": r.Scope, "name": "by-title", "type": "Book", "kind": "STRING", "path": []string{"title"}})
	require.Empty(w.t, a.Errors, "%s", a.Body)
	require.Eventually(w.t, func() bool {
		return r.Must(`query($s: ID!) { scope(id: $s) { indexes { ready } } }`, apitest.Vars{"s": r.Scope}).List("scope.indexes")[0].(map[string]any)["ready"] == true
	}, 2*apitest.Patience, 20*time.Millisecond)
	w.measures("setEntity, new, in one index", times, func(n int) {
		r.Set("Book", fmt.Sprint("b", n), apitest.Vars{"title": fmt.Sprint("book ", n), "about": about})
	})
	w.measures("lookup, 10 results", times, func(int) {
		r.Must(`query($s: ID!) { scope(id: $s) { lookup(index: "by-title", key: {beginsWith: "book"}, first: 10) { nodes { key attributes } } } }`, apitest.Vars{"s": r.Scope})
	})
}

// timesForIndex is how often operations have to be measured so that it is worth waiting for an index, which takes a minute to be ready.
const timesForIndex = 10
