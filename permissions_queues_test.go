package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// holder is whose work documents are about: the role's own, if it may work in the project, else the owner's.
func (w *world) holder() string {
	if w.role == "edit" || w.role == "view" {
		return w.role
	}
	return "owner"
}

// besides is another member of the project than the one of this name.
func besides(name string) string {
	if name == "edit" {
		return "owner"
	}
	return "edit"
}

// crew returns the project as one of its members.
func (w *world) crew(id string) crew {
	return crew{client: w.owner, id: w.ids[id], categories: []string{w.ids["category"]}}
}

// renewItems makes of the items of the project: $item, which the owner finished; $held, which the holder has; $taken, which somebody
// else has; $open, which is NEW; and by the holder $mine, which was finished just now, $undone, $reviewed, $late, which was finished long ago,
// and $gone, which went on since; these are efforts. The effort $hers of view was found incorrect, so that $returned is NEW.
func (w *world) renewItems() {
	w.t.Helper()
	l, me := w.crew("project"), w.people[w.holder()]
	done := vars{"subcategoryId": w.ids["subcategory"], "keywords": []string{"secret"}}
	claims := func(who *client, n int) []held {
		all := l.claimed(who, n)
		for _, h := range all {
			w.tokens[h.token] = who
		}
		return all
	}
	item, hers, taken := claims(w.owner, 1)[0], claims(w.people["view"], 1)[0], claims(w.people[besides(w.holder())], 1)[0]
	mine := claims(me, 6)
	w.ids["item"], w.ids["returned"], w.ids["taken"], w.ids["takenToken"] = item.id, hers.id, taken.id, taken.token
	w.ids["held"], w.ids["token"] = mine[0].id, mine[0].token
	w.ids["effort"], w.ids["hers"] = l.finished(w.owner, item, done), l.finished(w.people["view"], hers, done)
	names, finishes := []string{"mine", "undone", "reviewed", "late", "gone"}, make([]vars, 5)
	for i := range names {
		finishes[i] = l.finishing(mine[i+1], done)
	}
	for i, o := range me.mutate("finishProjectItems", "outcomes { effort { id } }", vars{"finishes": finishes}).list("result.outcomes") {
		w.ids[names[i]] = idsOf([]any{o.(map[string]any)["effort"]})[0]
		w.ids[names[i]+"Item"] = mine[i+1].id
	}
	w.ids["used"] = mine[3].token // of $reviewed
	w.people[besides(w.holder())].must(fill(`mutation { reviewEffort(input: {effortId: $reviewed, verdict: CORRECT, comment: "secret praise"}) { problem { __typename } } }`, w.ids), nil)
	w.owner.must(fill(`mutation { reviewEffort(input: {effortId: $hers, verdict: INCORRECT, comment: "secret reproach"}) { problem { __typename } } }`, w.ids), nil)
	a := me.must(fill(`mutation { undoFinish(input: {effortId: $undone}) { item { claim { token } } problem { __typename } } }`, w.ids), nil)
	w.tokens[a.str("undoFinish.item.claim.token")] = me
	l.rewrites(w.ids["lateItem"], aged(w.ids["late"], time.Hour))
	l.rewrites(w.ids["goneItem"], func(i *project.Item, _ []project.Effort) *project.Effort { i.Status = project.Skipped; return nil })
	for _, one := range w.owner.must(fill(`{ project(id: $project) { items(status: NEW) { nodes { id } } } }`, w.ids), nil).list("project.items.nodes") {
		if id := one.(map[string]any)["id"].(string); id != w.ids["returned"] {
			w.ids["open"] = id
		}
	}
	w.scanned()
	w.follow(l)
}

// follow has the queue of the project follow all that happened, with an event of which everything is known after $cursor, and somebody
// who is online.
func (w *world) follow(l crew) {
	w.t.Helper()
	o := w.app.queues.relay.Options
	_, err := labelling.NewRebuilder(o, time.Millisecond).Rebuild(w.t.Context(), l.key(), true)
	require.NoError(w.t, err)
	w.ids["cursor"] = w.owner.must(fill(`{ project(id: $project) { queue { cursor } } }`, w.ids), nil).str("project.queue.cursor")
	w.ids["forged"] = gidOf("ProjectEvent", string(l.key()), "none", "1-1")
	_, err = o.Queue.Note(w.t.Context(), l.key(), uuid.NewString(), labelling.Event{
		Cause: labelling.Reviewed, Item: itemKey(w.t, w.ids["item"]).ID, Status: project.Finished, Team: globalKey(w.t, w.ids["reviewers"])[2],
		User: labelling.UserID(globalKey(w.t, w.ids["edit"])[1]), Author: labelling.UserID(globalKey(w.t, w.ids["owner"])[1]), At: time.Now(),
	})
	require.NoError(w.t, err)
	w.redis().ZAdd(w.t.Context(), "taggie:project:online:{"+string(l.key())+"}", redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: globalKey(w.t, w.ids["edit"])[1]})
	w.renewRebuild()
}

// renewRebuild has the project be one whose queue is being made anew, as far as members are told.
func (w *world) renewRebuild() {
	w.t.Helper()
	key := "taggie:project:rebuild:{" + string(w.crew("project").key()) + "}:progress"
	require.NoError(w.t, w.redis().HSet(w.t.Context(), key, "token", "somebody", "started", time.Now().UnixMilli(), "read", 7, "total", 9).Err())
}

func (w *world) redis() redis.UniversalClient { return w.app.stores.redis }

// renewPaused makes a project that is paused, and whose queue somebody else is rebuilding.
func (w *world) renewPaused() {
	w.t.Helper()
	w.ids["paused"] = w.besideProject("Secret, paused")
	w.owner.must(fill(`mutation { pauseProject(input: {projectId: $paused}) { project { id } } }`, w.ids), nil)
	require.NoError(w.t, w.redis().Set(w.t.Context(), "taggie:project:rebuild:{"+string(w.crew("paused").key())+"}", "somebody", time.Hour).Err())
}

// besideProject makes a project with the same members.
func (w *world) besideProject(name string) string {
	w.t.Helper()
	made := w.owner.must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["Secret"]}) { project { id } } }`, vars{"n": name})
	ids := map[string]string{"id": made.str("createProject.project.id"), "edit": w.ids["edit"], "view": w.ids["view"]}
	teams := w.owner.must(fill(`mutation { reviewers: createTeam(input: {projectId: $id, name: "Reviewers", type: REVIEWER}) { team { id } }
		taggies: createTeam(input: {projectId: $id, name: "Taggies", type: TAGGIE}) { team { id } } }`, ids), nil)
	ids["reviewers"], ids["taggies"] = teams.str("reviewers.team.id"), teams.str("taggies.team.id")
	w.owner.must(fill(`mutation { edit: putProjectMember(input: {teamId: $reviewers, userId: $edit}) { member { type } }
		view: putProjectMember(input: {teamId: $taggies, userId: $view}) { member { type } } }`, ids), nil)
	return ids["id"]
}

// fullProject makes a project of which the holder has as many items as one may have.
func (w *world) fullProject() {
	w.t.Helper()
	w.ids["full"] = w.besideProject("Secret, full")
	if w.role != "owner" && w.role != "edit" && w.role != "view" {
		return // who may not claim anyway
	}
	l, text := w.crew("full"), lines(0, 50)
	id, upload := l.awaiting("JSON_LINES", len(text))
	require.Equal(w.t, http.StatusOK, upload(text))
	l.must(startImport, vars{"i": id})
	w.ids["fullImport"] = id
	w.run(project.RunImport, "fullImport")
	for _, h := range l.claimed(w.people[w.holder()], 50) {
		w.tokens[h.token] = w.people[w.holder()]
	}
}

// letters makes dead letters, for who may do something about them.
func (w *world) letters() {
	w.t.Helper()
	for _, name := range []string{"letter", "spare", "other letter"} {
		if w.ids[name] = "0/1-1"; w.role != "admin" {
			continue
		}
		entry, err := w.redis().XAdd(w.t.Context(), &redis.XAddArgs{Stream: "taggie:finished:dead:{0}", Values: []any{
			"id", name, "project", "p", "item", "i", "body", "{", "reason", "it cannot be read", "died", fmt.Sprint(time.Now().UnixMilli()), "tries", "10",
		}}).Result()
		require.NoError(w.t, err)
		w.ids[name] = "0/" + entry
	}
}

// hear begins a subscription as the client, and returns its first result as if it were the answer to a query.
func (c *client) hear(document string) *answer {
	c.t.Helper()
	a := &answer{t: c.t, status: http.StatusOK}
	s, err := c.dial(context.WithoutCancel(c.t.Context()), nil, document, nil)
	if err != nil {
		require.Equal(c.t, websocket.StatusCode(4403), websocket.CloseStatus(err), "%v", err)
		a.status, a.body = http.StatusUnauthorized, `{"errors": []}`
		return a
	}
	defer s.close()
	select {
	case r, came := <-s.results:
		if a.Data, a.Errors = r.Data, r.Errors; !came && s.err != nil {
			text, _, _ := strings.Cut(s.err.Error(), "\n")
			require.NoError(c.t, json.Unmarshal([]byte(text), &a.Errors), "%v", s.err)
		}
	case <-time.After(patience):
		require.Fail(c.t, "nothing came", document)
	}
	text, err := json.Marshal(map[string]any{"data": a.Data, "errors": a.Errors})
	require.NoError(c.t, err)
	a.body = string(text)
	return a
}

// assertTokensAreSecret reads everything that the role was answered: a token of a claim is for who has the item.
func (w *world) assertTokensAreSecret() {
	w.t.Helper()
	require.NotEmpty(w.t, w.tokens)
	shown := strings.Join(w.shown, "\n")
	own := false
	for token, whose := range w.tokens {
		if strings.Contains(shown, token) {
			assert.Equal(w.t, w.role, w.nameOf(whose), "the token of another user")
			own = true
		}
	}
	assert.Equal(w.t, w.role == "owner" || w.role == "edit" || w.role == "view", own, "the walk must show their own tokens to who has some: else it proves nothing")
}

// nameOf is what a person is called.
func (w *world) nameOf(who *client) string {
	for name, one := range w.people {
		if one.id == who.id {
			return name
		}
	}
	return ""
}
