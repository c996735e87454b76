package archives

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	archiving "github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/task"
)

const (
	shown   = `id state message createdAt endedAt expiresAt entries bytes url faultCount faults { path message }`
	archive = `query($i: ID!) { node(id: $i) { ... on Archive { ` + shown + ` } } }`
)

// contents are the files of an archive by their paths.
type contents map[string][]byte

// archived has an archive of the client written, and returns what is in it.
func archived(c *apitest.Client) (contents, *apitest.Answer) {
	c.T.Helper()
	created := c.Mutate("createArchive", "archive { "+shown+" }", apitest.Vars{})
	assert.Equal(c.T, "QUEUED", created.Str("result.archive.state"))
	assert.Nil(c.T, created.At("result.archive.url"))
	id := created.Str("result.archive.id")
	var a *apitest.Answer
	c.During(func() {
		require.Eventually(c.T, func() bool {
			a = c.Must(archive, apitest.Vars{"i": id})
			return a.Str("node.state") == "DONE"
		}, time.Minute, 20*time.Millisecond)
	})
	resp, body := apitest.Fetch(c.T, a.Str("node.url"))
	assert.Regexp(c.T, `^attachment; filename=taggie-\d{4}-\d\d-\d\d-\d{6}\.zip$`, resp.Header.Get("Content-Disposition"))
	assert.Equal(c.T, "application/zip", resp.Header.Get("Content-Type"))
	assert.InDelta(c.T, len(body), a.At("node.bytes"), 0)
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	require.NoError(c.T, err)
	all := contents{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(c.T, err)
		require.NotContains(c.T, all, f.Name)
		all[f.Name], err = io.ReadAll(r)
		require.NoError(c.T, err)
	}
	return all, a
}

// lines are the lines of a file of an archive.
func (of contents) lines(t *testing.T, name string) []map[string]any {
	t.Helper()
	require.Contains(t, of, name)
	all := []map[string]any{}
	for _, line := range strings.Split(strings.TrimSuffix(string(of[name]), "\n"), "\n") {
		if line == "" {
			continue
		}
		var one map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &one), "%s", line)
		all = append(all, one)
	}
	return all
}

func ids(lines []map[string]any, name string) (all []string) {
	for _, l := range lines {
		all = append(all, l[name].(string))
	}
	return all
}

func TestAnArchiveHasEverythingThatIsAUsers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(3, func(i int, in apitest.Vars) { in["tags"] = []string{"work"} })
	ada.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": notes[0], "title": "second"})
	ada.Share(notes[:1], bob)
	theirs := bob.Notes(2)
	bob.Share(theirs[:1], ada)
	ada.Mutate("blockUser", "user { id }", apitest.Vars{"userId": s.User("eve@example.com").ID})
	space := ada.Space("Films")
	weaver := space.Set("Person", "weaver", apitest.Vars{"name": "Weaver"})
	alien := space.Set("Film", "alien", apitest.Vars{"title": "Alien", "year": 1979}, apitest.Under("stars", weaver))
	ada.Mutate("updateEntity", "entity { id }", apitest.Vars{"entityId": alien, "attributes": apitest.Vars{}, "meta": apitest.Vars{"source": "a list"}})
	lent := bob.Space("Secret").Member(ada, "WRITER")
	lent.Set("Film", "hidden", apitest.Vars{"title": "not hers"})
	birds := ada.Project("Birds")
	ada.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": birds.ID, "text": "Look twice."})
	team := ada.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": birds.ID, "name": "Labellers", "type": "TAGGIE"}).Str("result.team.id")
	invitation := ada.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": team, "uses": 3}).Str("result.invitation.token")
	bob.Project("Fish")
	file := apitest.Staves(t, 1)
	mine := ada.Uploads(file, apitest.Vars{"name": "a/../b.png"})
	again := ada.Uploads(apitest.Staves(t, 2), nil)
	ada.Requests(apitest.Staves(t, 3), nil) // is being uploaded
	opus := ada.Score("Opus", []string{"slow"}, mine, again, mine)
	ada.Snapshot(opus, "first")
	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": opus, "access": "PUBLIC"}})
	his := bob.Uploads(apitest.Staves(t, 4), nil)
	read, hidden := bob.Score("His", nil, his), bob.Score("His alone", nil)
	for _, id := range []string{read, hidden} {
		bob.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "access": "PUBLIC"}})
		ada.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": id})
	}
	bob.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": hidden, "access": "PRIVATE"}})
	ada.Tags(mine, apitest.Vars{"value": "Violin", "visibility": "PUBLIC"})
	bob.Tags(mine, apitest.Vars{"value": "theirs", "visibility": "PUBLIC"})
	ada.Tags(his, apitest.Vars{"value": "mine", "visibility": "PRIVATE"})

	got, a := archived(ada)
	assert.Contains(t, string(got["README.txt"]), "notes.jsonl: your notes")
	for name := range got {
		if strings.HasSuffix(name, ".jsonl") {
			assert.Contains(t, string(got["README.txt"]), "\n"+name+": ")
		}
	}
	user := got.lines(t, "user.jsonl")
	require.Len(t, user, 1)
	assert.Equal(t, []any{ada.ID, "ada@example.com"}, []any{user[0]["id"], user[0]["email"]})
	noted := got.lines(t, "notes.jsonl")
	assert.ElementsMatch(t, notes, ids(noted, "id"))
	for _, n := range noted {
		assert.Equal(t, []any{"work"}, n["tags"])
		if n["id"] != notes[0] {
			assert.Empty(t, n["shares"])
			continue
		}
		assert.Equal(t, "second", n["title"])
		share := n["shares"].([]any)[0].(map[string]any)
		assert.Equal(t, []any{bob.ID, "VIEW"}, []any{share["user"], share["permission"]})
	}
	assert.Equal(t, notes[:1], ids(got.lines(t, "versions.jsonl"), "note"))
	assert.Equal(t, theirs[:1], ids(got.lines(t, "received.jsonl"), "id"))
	assert.Equal(t, "VIEW", got.lines(t, "received.jsonl")[0]["permission"])
	assert.Len(t, got.lines(t, "blocked.jsonl"), 1)
	scopes := got.lines(t, "scopes.jsonl")
	roles := map[any]any{}
	for _, one := range scopes {
		roles[one["id"]] = one["role"]
	}
	assert.Equal(t, map[any]any{space.Scope: "OWNER", lent.Scope: "WRITER"}, roles)
	entities := got.lines(t, "entities.jsonl")
	assert.ElementsMatch(t, []string{"alien", "weaver"}, ids(entities, "key"))
	for _, e := range entities {
		want := map[string]any{"alien": map[string]any{"source": "a list"}, "weaver": nil}[e["key"].(string)]
		assert.Equal(t, want, e["meta"], e["key"])
	}
	relations := got.lines(t, "relations.jsonl")
	require.Len(t, relations, 1)
	assert.Equal(t, []any{alien, "stars", weaver}, []any{relations[0]["subject"], relations[0]["predicate"], relations[0]["object"]})
	projects := got.lines(t, "projects.jsonl")
	assert.Equal(t, []string{birds.ID}, ids(projects, "id"))
	managed := projects[0]["managed"].(map[string]any)
	assert.Len(t, managed["categories"], 2)
	assert.Equal(t, "Look twice.", managed["guidelines"])
	require.Len(t, managed["invitations"], 1)
	assert.Equal(t, []any{team, 3.}, []any{managed["invitations"].([]any)[0].(map[string]any)["team"], managed["invitations"].([]any)[0].(map[string]any)["uses"]})
	assert.NotContains(t, fmt.Sprint(managed), invitation)
	assert.Empty(t, got.lines(t, "efforts.jsonl"))
	scores := got.lines(t, "scores.jsonl")
	assert.Equal(t, []string{opus}, ids(scores, "id"))
	assert.Equal(t, []any{"about Opus", "PUBLIC"}, []any{scores[0]["description"], scores[0]["access"]})
	assert.Equal(t, []any{"slow"}, scores[0]["annotations"])
	snapshots := got.lines(t, "snapshots.jsonl")
	require.Len(t, snapshots, 1)
	assert.Equal(t, opus, snapshots[0]["score"])
	assert.Len(t, snapshots[0]["pages"], 3)
	kept := got.lines(t, "keptscores.jsonl")
	assert.Equal(t, []string{hidden, read}, ids(kept, "score"))
	assert.Equal(t, []any{nil, "His"}, []any{kept[0]["title"], kept[1]["title"]})
	items := got.lines(t, "items.jsonl")
	assert.ElementsMatch(t, []string{mine, again}, ids(items, "id"))
	for _, i := range items {
		path := i["file"].(string)
		assert.Len(t, strings.Split(path, "/"), 3, "a name is no path: %s", path)
		require.Contains(t, got, path)
		if i["id"] == mine {
			assert.Equal(t, file, got[path])
		}
	}
	values := func(name string) []string { return ids(got.lines(t, name), "value") }
	assert.ElementsMatch(t, []string{"Violin", "theirs"}, values("itemtags.jsonl"))
	assert.ElementsMatch(t, []string{"Violin", "mine"}, values("puttags.jsonl"))
	assert.ElementsMatch(t, []string{mine, his}, ids(got.lines(t, "puttags.jsonl"), "item"))
	assert.Len(t, got, 1+16+2, "and nothing else")
	assert.Empty(t, a.List("node.faults"))
	entries := 2
	for name := range got {
		if strings.HasSuffix(name, ".jsonl") {
			entries += len(got.lines(t, name))
		}
	}
	assert.InDelta(t, entries, a.At("node.entries"), 0)

	for _, other := range []*apitest.Client{bob, s.Admin("root@example.com")} {
		assert.Nil(t, other.Must(archive, apitest.Vars{"i": a.Str("node.id")}).At("node"), "for its user alone")
		other.Do(`query($u: ID!) { user(id: $u) { archives { nodes { id } } } }`, apitest.Vars{"u": ada.ID}).Fails("FORBIDDEN", "")
	}
}

// What others have hidden since is in no archive, although the user has tagged it or was a member.
func TestAnArchiveShowsNoMoreThanItsUserSees(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	his := bob.Uploads(apitest.Staves(t, 1), nil)
	score := bob.Score("His", nil, his)
	access := func(to string) {
		bob.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": score, "access": to}})
	}
	access("PUBLIC")
	ada.Tags(his, apitest.Vars{"value": "mine", "visibility": "PRIVATE"})
	shared := bob.Notes(1)
	bob.Share(shared, ada)
	space := bob.Space("Films").Member(ada, "OWNER")
	space.Set("Film", "alien", apitest.Vars{"title": "Alien"})
	lines := func() map[string]int {
		got, _ := archived(ada)
		all := map[string]int{}
		for _, name := range []string{"puttags.jsonl", "received.jsonl", "scopes.jsonl", "entities.jsonl"} {
			all[name] = len(got.lines(t, name))
		}
		return all
	}
	require.Equal(t, map[string]int{"puttags.jsonl": 1, "received.jsonl": 1, "scopes.jsonl": 1, "entities.jsonl": 1}, lines())
	access("PRIVATE")
	bob.Mutate("unshareNote", "note { id }", apitest.Vars{"noteId": shared[0], "userId": ada.ID})
	bob.Mutate("removeScopeMember", "user { id }", apitest.Vars{"scopeId": space.Scope, "userId": ada.ID})
	require.Equal(t, map[string]int{"puttags.jsonl": 0, "received.jsonl": 0, "scopes.jsonl": 0, "entities.jsonl": 0}, lines())
}

func TestEffortsAreThoseInTheProjectsOfTheUser(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	crew := s.Labelled(3, 1)
	who := crew.Labellers[0]
	got, _ := archived(who)
	projects := got.lines(t, "projects.jsonl")
	assert.Equal(t, []string{crew.ID}, ids(projects, "id"))
	assert.Equal(t, "TAGGIE", projects[0]["role"])
	assert.NotContains(t, projects[0], "managed", "for managers")
	efforts := got.lines(t, "efforts.jsonl")
	require.Len(t, efforts, 1)
	assert.Equal(t, []any{crew.ID, crew.Items[0], crew.Categories[0]}, []any{efforts[0]["project"], efforts[0]["item"], efforts[0]["category"]})
	others, _ := archived(crew.Labellers[1])
	assert.Empty(t, others.lines(t, "efforts.jsonl"), "those of others")

	crew.Client.Mutate("removeProjectMember", "user { id }", apitest.Vars{"projectId": crew.ID, "userId": who.ID})
	got, _ = archived(who)
	assert.Empty(t, got.lines(t, "projects.jsonl"))
	assert.Empty(t, got.lines(t, "efforts.jsonl"), "the project shows nothing to who has left it")
}

func TestOneArchiveOfAUserIsWrittenAtATime(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	first := ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id")
	ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Fails("EXHAUSTED", "")
	bob.Mutate("createArchive", "archive { id }", apitest.Vars{})
	s.During(func() {
		require.Eventually(t, func() bool { return ada.Must(archive, apitest.Vars{"i": first}).Str("node.state") == "DONE" }, time.Minute, 20*time.Millisecond)
	})
	second := ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id")
	of := func(c *apitest.Client) []string {
		return apitest.IDsOf(c.Must(`{ viewer { archives(first: 5) { nodes { id } } } }`, nil).List("viewer.archives.nodes"))
	}
	assert.Equal(t, []string{second, first}, of(ada), "the newest first")
	assert.Len(t, of(bob), 1)

	later := s.Later(archiving.Kept)
	old := &apitest.Client{Server: later, Token: ada.Token, ID: ada.ID}
	assert.Nil(t, old.Must(archive, apitest.Vars{"i": first}).At("node"), "it is expired")
	assert.Empty(t, of(old))
}

// Who has as many archives as one may have creates the next one when the oldest is removed.
func TestFewArchivesOfAUserAreKept(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	run := func(on *apitest.Server, id string) {
		key := apitest.GlobalKey(t, id)
		_, err := on.App.Tasks.Handlers[archiving.RunArchive](t.Context(), task.Task{Kind: archiving.RunArchive, Scope: key[1], ID: key[2]})
		require.NoError(t, err)
	}
	var all []*apitest.Answer
	for range archiving.MaxKept {
		a := ada.Mutate("createArchive", "archive { id expiresAt }", apitest.Vars{"idempotencyKey": fmt.Sprint("key ", len(all))})
		run(s, a.Str("result.archive.id"))
		all = append(all, a)
	}
	oldest := all[0].Str("result.archive.id")
	goes, err := time.Parse(time.RFC3339, all[0].Str("result.archive.expiresAt"))
	require.NoError(t, err)
	refused := ada.Mutate("createArchive", "archive { id }", apitest.Vars{})
	refused.Fails("EXHAUSTED", "")
	assert.Contains(t, refused.Errors[0].Message, "3 archives of a user are kept at most: the oldest goes at "+goes.UTC().Format(time.RFC3339))
	again := ada.Mutate("createArchive", "archive { id expiresAt }", apitest.Vars{"idempotencyKey": "key 0"})
	assert.Equal(t, oldest, again.Str("result.archive.id"), "a repetition creates none")
	files := func() []string {
		keys, err := s.Bucket.List(t.Context(), archiving.Key(archiving.ID{User: archiving.UserID(apitest.GlobalKey(t, ada.ID)[1])}))
		require.NoError(t, err)
		return keys
	}
	assert.Len(t, files(), archiving.MaxKept)

	later := s.Later(archiving.Kept)
	old := &apitest.Client{Server: later, Token: ada.Token, ID: ada.ID}
	refused = old.Mutate("createArchive", "archive { id }", apitest.Vars{})
	refused.Fails("EXHAUSTED", "")
	assert.Contains(t, refused.Errors[0].Message, "within minutes")
	run(later, oldest)
	run(later, oldest)
	assert.Len(t, files(), archiving.MaxKept-1)
	run(later, old.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id"))
	old.Mutate("createArchive", "archive { id }", apitest.Vars{}).Fails("EXHAUSTED", "")
}

func TestTheProgressOfAnArchiveIsTold(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id")
	const follow = `subscription($i: ID!) { archiveProgress(archiveId: $i) { state entries url } }`
	s.User("bob@example.com").Subscribe(follow, apitest.Vars{"i": id}).Refused("NOT_FOUND", "")
	told := ada.Subscribe(follow, apitest.Vars{"i": id})
	m := told.Message()
	assert.Equal(t, "QUEUED", m.Str("state"))
	s.During(func() {
		for m.Str("state") != "DONE" {
			m = told.Message()
		}
	})
	assert.InDelta(t, 1, m.At("entries"), 0, "the user")
	assert.NotEmpty(t, m.Str("url"))
	assert.NoError(t, told.Ended())
}

// A thousand notes are listed a hundred at a time, once with their shares and once for their versions, which are read where there are some. Nothing
// else of the user costs more than the look that it is not there.
func TestAnArchiveOfAThousandNotesCostsFewCalls(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	calls := func() map[string]int {
		a := ada.Mutate("createArchive", "archive { id }", apitest.Vars{})
		key := apitest.GlobalKey(t, a.Str("result.archive.id"))
		s.Faults.Recorder().Reset()
		_, err := s.App.Tasks.Handlers[archiving.RunArchive](t.Context(), task.Task{Kind: archiving.RunArchive, Scope: key[1], ID: key[2]})
		require.NoError(t, err)
		all := map[string]int{}
		for _, operation := range []string{"Query", "BatchGetItem", "GetItem", "Scan"} {
			all[operation] = s.Faults.Recorder().Count(faultinject.Operation(operation))
		}
		return all
	}
	none := calls()
	notes := ada.Notes(1000)
	ada.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": notes[0], "title": "second"})
	want := maps.Clone(none)
	want["Query"] += 9 + 9 + 10 + 1 // both lists go on nine times, ten times with shares; one note has versions
	assert.Equal(t, want, calls())
	assert.Equal(t, map[string]int{"Query": 16, "BatchGetItem": 2, "GetItem": 0, "Scan": 0}, none)
}
