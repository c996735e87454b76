package permissions

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

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/score"
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
func (w *world) crew(id string) apitest.Crew {
	return apitest.Crew{Client: w.owner, ID: w.ids[id], Categories: []string{w.ids["category"]}}
}

// renewItems makes of the items of the project: $item, which the owner finished; $held, which the holder has; $taken, which somebody
// else has; $open, which is NEW; and by the holder $mine, which was finished just now, $undone, $reviewed, $late, which was finished long ago,
// and $gone, which went on since; these are efforts. The effort $hers of view was found incorrect, so that $returned is NEW.
func (w *world) renewItems() {
	w.T.Helper()
	l, me := w.crew("project"), w.people[w.holder()]
	done := apitest.Vars{"subcategoryId": w.ids["subcategory"], "keywords": []string{"secret"}}
	claims := func(who *apitest.Client, n int) []apitest.Held {
		all := l.Claimed(who, n)
		for _, h := range all {
			w.tokens[h.Token] = who
		}
		return all
	}
	item, hers, taken := claims(w.owner, 1)[0], claims(w.people["view"], 1)[0], claims(w.people[besides(w.holder())], 1)[0]
	mine := claims(me, 6)
	w.ids["item"], w.ids["returned"], w.ids["taken"], w.ids["takenToken"] = item.ID, hers.ID, taken.ID, taken.Token
	w.ids["held"], w.ids["token"] = mine[0].ID, mine[0].Token
	w.ids["effort"], w.ids["hers"] = l.Finished(w.owner, item, done), l.Finished(w.people["view"], hers, done)
	names, finishes := []string{"mine", "undone", "reviewed", "late", "gone"}, make([]apitest.Vars, 5)
	for i := range names {
		finishes[i] = l.Finishing(mine[i+1], done)
	}
	for i, o := range me.Mutate("finishProjectItems", "outcomes { effort { id } }", apitest.Vars{"finishes": finishes}).List("result.outcomes") {
		w.ids[names[i]] = apitest.IDsOf([]any{o.(map[string]any)["effort"]})[0]
		w.ids[names[i]+"Item"] = mine[i+1].ID
	}
	w.ids["used"] = mine[3].Token // of $reviewed
	w.people[besides(w.holder())].Must(fill(`mutation { reviewEffort(input: {effortId: $reviewed, verdict: CORRECT, comment: "secret praise"}) { problem { __typename } } }`, w.ids), nil)
	w.owner.Must(fill(`mutation { reviewEffort(input: {effortId: $hers, verdict: INCORRECT, comment: "secret reproach"}) { problem { __typename } } }`, w.ids), nil)
	a := me.Must(fill(`mutation { undoFinish(input: {effortId: $undone}) { item { claim { token } } problem { __typename } } }`, w.ids), nil)
	w.tokens[a.Str("undoFinish.item.claim.token")] = me
	l.Rewrites(w.ids["lateItem"], apitest.Aged(w.ids["late"], time.Hour))
	l.Rewrites(w.ids["goneItem"], func(i *project.Item, _ []project.Effort) *project.Effort { i.Status = project.Skipped; return nil })
	for _, one := range w.owner.Must(fill(`{ project(id: $project) { items(status: NEW) { nodes { id } } } }`, w.ids), nil).List("project.items.nodes") {
		if id := one.(map[string]any)["id"].(string); id != w.ids["returned"] {
			w.ids["open"] = id
		}
	}
	w.scanned()
	w.follow(l)
}

// followNotes has an event of which everything is known after $noteCursor, a cursor of the owner.
func (w *world) followNotes() {
	w.T.Helper()
	stream := w.owner.Subscribe(`subscription { noteEvents { ... on NotePosition { cursor } } }`, nil)
	w.ids["noteCursor"] = stream.Message().Str("cursor")
	stream.Close()
	forged, err := follow.ParseCursor(w.ids["noteCursor"])
	require.NoError(w.T, err)
	forged.Own = "1-1"
	w.ids["forgedNoteCursor"] = forged.String()
	owner, with := note.UserID(apitest.GlobalKey(w.T, w.ids["owner"])[1]), note.UserID(apitest.GlobalKey(w.T, w.ids["edit"])[1])
	_, err = queue.Streams{Queue: w.App.Labelling.Queue}.Append(w.T.Context(), follow.NotesOf(owner), follow.Entry{Event: event.Event{
		Kind: event.OfNote, Type: note.Shared, Of: apitest.GlobalKey(w.T, w.ids["note"])[1], Owner: owner, By: owner, With: with, Version: 1, At: time.Now(),
	}}, true)
	require.NoError(w.T, err)
}

// followScore has an event of which everything is known after $scoreCursor, a cursor of the score.
func (w *world) followScore() {
	w.T.Helper()
	stream := w.owner.Subscribe(`subscription($s: ID!) { scoreEvents(scoreId: $s) { ... on ScorePosition { cursor } } }`, apitest.Vars{"s": w.ids["score"]})
	w.ids["scoreCursor"] = stream.Message().Str("cursor")
	stream.Close()
	forged, err := follow.ParseCursor(w.ids["scoreCursor"])
	require.NoError(w.T, err)
	forged.Own = "1-1"
	w.ids["forgedScoreCursor"] = forged.String()
	of, snapshot := apitest.GlobalKey(w.T, w.ids["score"]), apitest.GlobalKey(w.T, w.ids["snapshot"])
	_, err = queue.Streams{Queue: w.App.Labelling.Queue}.Append(w.T.Context(), follow.Score(score.ID(of[2])), follow.Entry{Event: event.Event{
		Kind: event.OfScore, Type: score.SnapshotRenamed, Of: of[2], Owner: score.UserID(of[1]), By: score.UserID(of[1]), Snapshot: snapshot[3], Version: 1000, At: time.Now(),
	}}, true)
	require.NoError(w.T, err)
}

// follow has the queue of the project follow all that happened, with an event of which everything is known after $cursor, and somebody
// who is online.
func (w *world) follow(l apitest.Crew) {
	w.T.Helper()
	o := w.App.Labelling.Relay.Options
	_, err := labelling.NewRebuilder(o, time.Millisecond).Rebuild(w.T.Context(), l.Key(), true)
	require.NoError(w.T, err)
	w.ids["cursor"] = w.owner.Must(fill(`{ project(id: $project) { queue { cursor } } }`, w.ids), nil).Str("project.queue.cursor")
	w.ids["forged"] = apitest.GIDOf("ProjectEvent", string(l.Key()), "none", "1-1")
	_, err = o.Coordinator.Note(w.T.Context(), l.Key(), uuid.NewString(), labelling.Event{
		Cause: labelling.Reviewed, Item: apitest.ItemKey(w.T, w.ids["item"]).ID, Status: project.Finished, Team: apitest.GlobalKey(w.T, w.ids["reviewers"])[2],
		User: labelling.UserID(apitest.GlobalKey(w.T, w.ids["edit"])[1]), Author: labelling.UserID(apitest.GlobalKey(w.T, w.ids["owner"])[1]), At: time.Now(),
	})
	require.NoError(w.T, err)
	w.followNotes()
	w.redis().ZAdd(w.T.Context(), "taggie:project:online:{"+string(l.Key())+"}", redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: apitest.GlobalKey(w.T, w.ids["edit"])[1]})
	w.renewRebuild()
}

// renewRebuild has the project be one whose queue is being made anew, as far as members are told.
func (w *world) renewRebuild() {
	w.T.Helper()
	key := "taggie:project:rebuild:{" + string(w.crew("project").Key()) + "}:progress"
	require.NoError(w.T, w.redis().HSet(w.T.Context(), key, "token", "somebody", "started", time.Now().UnixMilli(), "read", 7, "total", 9).Err())
}

func (w *world) redis() redis.UniversalClient { return w.App.Stores.Redis }

// renewPaused makes a project that is paused, and whose queue somebody else is rebuilding.
func (w *world) renewPaused() {
	w.T.Helper()
	w.ids["paused"] = w.besideProject("Secret, paused")
	w.owner.Must(fill(`mutation { pauseProject(input: {projectId: $paused}) { project { id } } }`, w.ids), nil)
	require.NoError(w.T, w.redis().Set(w.T.Context(), "taggie:project:rebuild:{"+string(w.crew("paused").Key())+"}", "somebody", time.Hour).Err())
}

// besideProject makes a project with the same members.
func (w *world) besideProject(name string) string {
	w.T.Helper()
	made := w.owner.Must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["Secret"]}) { project { id } } }`, apitest.Vars{"n": name})
	ids := map[string]string{"id": made.Str("createProject.project.id"), "edit": w.ids["edit"], "view": w.ids["view"]}
	teams := w.owner.Must(fill(`mutation { reviewers: createTeam(input: {projectId: $id, name: "Reviewers", type: REVIEWER}) { team { id } }
		taggies: createTeam(input: {projectId: $id, name: "Taggies", type: TAGGIE}) { team { id } } }`, ids), nil)
	ids["reviewers"], ids["taggies"] = teams.Str("reviewers.team.id"), teams.Str("taggies.team.id")
	w.owner.Must(fill(`mutation { edit: putProjectMember(input: {teamId: $reviewers, userId: $edit}) { member { type } }
		view: putProjectMember(input: {teamId: $taggies, userId: $view}) { member { type } } }`, ids), nil)
	return ids["id"]
}

// fullProject makes a project of which the holder has as many items as one may have.
func (w *world) fullProject() {
	w.T.Helper()
	w.ids["full"] = w.besideProject("Secret, full")
	if w.role != "owner" && w.role != "edit" && w.role != "view" {
		return // who may not claim anyway
	}
	l, text := w.crew("full"), apitest.Lines(0, 50)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(w.T, http.StatusOK, upload(text))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	w.ids["fullImport"] = id
	w.run(project.RunImport, "fullImport")
	for _, h := range l.Claimed(w.people[w.holder()], 50) {
		w.tokens[h.Token] = w.people[w.holder()]
	}
}

// letters makes dead letters, for who may do something about them.
func (w *world) letters() {
	w.T.Helper()
	for _, name := range []string{"letter", "spare", "other letter"} {
		if w.ids[name] = "0/1-1"; w.role != "admin" {
			continue
		}
		entry, err := w.redis().XAdd(w.T.Context(), &redis.XAddArgs{Stream: "taggie:finished:dead:{0}", Values: []any{
			"id", name, "project", "p", "item", "i", "body", "{", "reason", "it cannot be read", "died", fmt.Sprint(time.Now().UnixMilli()), "tries", "10",
		}}).Result()
		require.NoError(w.T, err)
		w.ids[name] = "0/" + entry
	}
}

// hear begins a subscription as the client, and returns its first result as if it were the answer to a query.
func hear(c *apitest.Client, document string) *apitest.Answer {
	c.T.Helper()
	a := &apitest.Answer{T: c.T, Status: http.StatusOK}
	s, err := c.Dial(context.WithoutCancel(c.T.Context()), nil, document, nil)
	if err != nil {
		require.Equal(c.T, websocket.StatusCode(4403), websocket.CloseStatus(err), "%v", err)
		a.Status, a.Body = http.StatusUnauthorized, `{"errors": []}`
		return a
	}
	defer s.Close()
	select {
	case r, came := <-s.Results:
		if a.Data, a.Errors = r.Data, r.Errors; !came && s.Err != nil {
			text, _, _ := strings.Cut(s.Err.Error(), "\n")
			require.NoError(c.T, json.Unmarshal([]byte(text), &a.Errors), "%v", s.Err)
		}
	case <-time.After(apitest.Patience):
		require.Fail(c.T, "nothing came", document)
	}
	text, err := json.Marshal(map[string]any{"data": a.Data, "errors": a.Errors})
	require.NoError(c.T, err)
	a.Body = string(text)
	return a
}

// assertTokensAreSecret reads everything that the role was answered: a token of a claim is for who has the item.
func (w *world) assertTokensAreSecret() {
	w.T.Helper()
	require.NotEmpty(w.T, w.tokens)
	shown := strings.Join(w.shown, "\n")
	own := false
	for token, whose := range w.tokens {
		if strings.Contains(shown, token) {
			assert.Equal(w.T, w.role, w.nameOf(whose), "the token of another user")
			own = true
		}
	}
	assert.Equal(w.T, w.role == "owner" || w.role == "edit" || w.role == "view", own, "the walk must show their own tokens to who has some: else it proves nothing")
}

// nameOf is what a person is called.
func (w *world) nameOf(who *apitest.Client) string {
	for name, one := range w.people {
		if one.ID == who.ID {
			return name
		}
	}
	return ""
}
