package processes

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// looked is a look at the stores of servers, past them.
func looked(t *testing.T, env []string) *apitest.Server {
	t.Helper()
	cfg, err := config.Load(env)
	require.NoError(t, err)
	s, err := app.OpenStores(t.Context(), cfg, app.StoresFor{Beside: true, Queues: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return &apitest.Server{T: t, DB: s.DB, Bucket: s.Bucket, App: &app.Application{Stores: s}}
}

// fate is what is known of a user who is erased.
type fate struct {
	stores *apitest.Server
	id     user.ID
	env    []string
	kill   func() // the server that runs
}

// gone reports whether nothing is left of the profile.
func (f *fate) gone() bool {
	f.stores.T.Helper()
	there, err := f.stores.DB.Get(f.stores.T.Context(), dynamo.NotesTable, users.ProfileKey(f.id), func(dynamo.Item) error { return nil })
	require.NoError(f.stores.T, err)
	return !there
}

// point says which phase of the erasure is under way, and whether it is in the middle.
func (f *fate) point() string {
	f.stores.T.Helper()
	at, err := users.Store{DB: f.stores.DB}.FindProgress(f.stores.T.Context(), f.id)
	require.NoError(f.stores.T, err)
	if at.Position != "" {
		return "in the middle of " + at.Phase
	}
	return at.Phase
}

// rests reports whether all that is to be done waits for something.
func (f *fate) rests() bool {
	f.stores.T.Helper()
	any, err := dynamo.Tasks{DB: f.stores.DB}.AnyUntil(f.stores.T.Context(), time.Now())
	require.NoError(f.stores.T, err)
	return !any
}

// restarts kills a server, and starts another one to which all that is waited for is long ago.
func (f *fate) restarts() {
	f.stores.T.Helper()
	f.kill()
	for _, passed := range slices.Concat(f.tasksPass(), f.erasurePasses(), f.uploadsPass(), f.scopesPass()) {
		require.NoError(f.stores.T, f.stores.DB.Transact(f.stores.T.Context(), passed, idempotency.Key{}))
	}
	_, f.kill = apitest.StartProcess(f.stores.T, f.env, apitest.FreePort(f.stores.T))
}

// ago sets instants of a row to the day before.
func ago(t dynamo.Table, key dynamo.Key, attributes ...string) []dynamo.Action {
	a := dynamo.Action{Table: t, Key: key, Names: map[string]string{}, Values: dynamo.Attrs{":ago": dynamo.Str(keys.Instant(time.Now().Add(-24 * time.Hour)))}}
	for i, name := range attributes {
		a.Update += map[bool]string{true: "SET ", false: ", "}[i == 0] + "#" + name + " = :ago"
		a.Names["#"+name] = name
	}
	return []dynamo.Action{a}
}

// tasksPass has all tasks be due, and nobody work on them.
func (f *fate) tasksPass() (passed [][]dynamo.Action) {
	f.stores.T.Helper()
	all, err := dynamo.Tasks{DB: f.stores.DB}.ListDueTasks(f.stores.T.Context(), time.Now().Add(90*24*time.Hour), 1_000)
	require.NoError(f.stores.T, err)
	for _, one := range all {
		due := one
		due.Due = time.Now()
		passed = append(passed, []dynamo.Action{{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(one), Remove: true}, dynamo.TaskAction(due)})
	}
	return passed
}

// erasurePasses has the erasure have begun, and the rest between two passes have ended, long ago.
func (f *fate) erasurePasses() [][]dynamo.Action {
	f.stores.T.Helper()
	if f.gone() {
		return nil
	}
	store := users.Store{DB: f.stores.DB}
	at, err := store.FindProgress(f.stores.T.Context(), f.id)
	require.NoError(f.stores.T, err)
	var rests map[string]any
	if json.Unmarshal([]byte(at.Position), &rests) == nil && rests["from"] != nil {
		delete(rests, "from")
		position, err := json.Marshal(rests)
		require.NoError(f.stores.T, err)
		at.Position = string(position)
		require.NoError(f.stores.T, store.PutProgress(f.stores.T.Context(), f.id, at))
	}
	return [][]dynamo.Action{ago(dynamo.NotesTable, users.ProfileKey(f.id), "updated_at")}
}

// uploadsPass has nothing be on its way to the addresses of uploads any more.
func (f *fate) uploadsPass() (passed [][]dynamo.Action) {
	f.stores.T.Helper()
	uploads := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemsPK(string(f.id)), Keys: true}
	uploads.Low, uploads.High = dynamo.Prefixed(keys.UploadPrefix)
	_, err := f.stores.DB.Query(f.stores.T.Context(), uploads, func(row dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(row, dynamo.ScoresTable)
		passed = append(passed, ago(dynamo.ScoresTable, key, "until", "signed"))
		return true, err
	})
	require.NoError(f.stores.T, err)
	return passed
}

// scopesPass has scopes be erased since long ago, and nobody go over the tables for them.
func (f *fate) scopesPass() (passed [][]dynamo.Action) {
	f.stores.T.Helper()
	erased := dynamo.Span{Table: dynamo.RelationshipEntries, PK: keys.SubjectKey(entities.OurScope, "Erasures", "scopes")}
	_, err := f.stores.DB.Query(f.stores.T.Context(), erased, func(row dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(row, dynamo.RelationshipEntries)
		if err != nil || key.SK == "sweep" {
			passed = append(passed, ago(dynamo.RelationshipEntries, key, "until"))
			return true, err
		}
		var r entities.RelationRecord
		err = entities.DecodeRelation(row, &r, nil)
		passed = append(passed, ago(dynamo.RelationshipEntries, key, "_created"), ago(dynamo.EntitiesMaster, entities.ShardedKey(r.Object), "_updated"))
		return true, err
	})
	require.NoError(f.stores.T, err)
	return passed
}

// signsInAgain returns the client with a token that was issued after the user was signed out.
func signsInAgain(c *apitest.Client, env []string, email string) *apitest.Client {
	c.T.Helper()
	later := &apitest.Client{Server: c.Server, ID: c.ID}
	require.Eventually(c.T, func() bool {
		token, err := apitest.Run(c.T, env, func(_ context.Context, term *cli.Terminal) error {
			return cli.TokenCommand{Email: email, TTL: time.Hour}.Run(term)
		})
		require.NoError(c.T, err)
		later.Token = strings.TrimSpace(token)
		a := later.Do(`{ viewer { id } }`, nil)
		return len(a.Errors) > 0 && a.Errors[0].Extensions.Code == "USER_DELETED"
	}, apitest.Patience, 50*time.Millisecond)
	return later
}

// Servers are killed at each phase of the erasure of a user that they are seen in. Others go on, and nothing of the user is left in the end.
func TestNothingIsLeftOfAUserThoughServersAreKilledWhileTheyErase(t *testing.T) {
	env := append(apitest.Remote(t), "TAGGIE_COST_BUDGET=0", "TAGGIE_OPERATION_TIMEOUT=5s")
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	stores := looked(t, env)
	server, kill := apitest.StartProcess(t, env, apitest.FreePort(t))
	const email = "ada@example.com"
	ada, bob := signedUp(server, env, email), signedUp(server, env, "bob@example.com")
	ada.ID, bob.ID = ada.Must(`{ viewer { id } }`, nil).Str("viewer.id"), bob.Must(`{ viewer { id } }`, nil).Str("viewer.id")
	notes, theirs := ada.Notes(40), bob.Notes(2)
	ada.Share(notes[:3], bob)
	bob.Share(theirs, ada)
	ada.Space("Films").Set("Film", "alien", apitest.Vars{"title": "Alien"})
	file := ada.Uploads([]byte("a file"), apitest.Vars{"name": "a.txt", "type": "text/plain"})
	ada.Snapshot(ada.Score("Opus", []string{"slow"}), "first")
	mine := bob.Project("Bats")
	chiefs := bob.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": mine.ID, "name": "Chiefs", "type": "MANAGER"}).Str("result.team.id")
	bob.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": chiefs, "userId": ada.ID})
	mine.Becomes("DONE", ada.Mutate("importItems", "import { id }", apitest.Vars{"projectId": mine.ID, "itemIds": []string{file}}).Str("result.import.id"))
	archive := ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id")
	require.Eventually(t, func() bool {
		return ada.Must(archiveState, apitest.Vars{"i": archive}).Str("node.state") == "DONE"
	}, apitest.Patience, 50*time.Millisecond)
	require.Empty(t, ada.Mutate("deleteUser", "deleted { state }", apitest.Vars{}).Errors)
	ada = signsInAgain(ada, env, email)
	require.Equal(t, "PURGING", ada.Mutate("purgeDeletedUser", "deleted { state }", apitest.Vars{}).At("result.deleted.state"))

	erased := &fate{stores: stores, id: user.ID(apitest.GlobalKey(t, ada.ID)[1]), env: env, kill: kill}
	killed := map[string]bool{"": true}
	for rounds := 0; !erased.gone(); rounds++ {
		require.Less(t, rounds, 60, "%v", killed)
		erased.restarts()
		var at string
		require.Eventually(t, func() bool {
			at = erased.point()
			return !killed[at] || erased.rests()
		}, 2*apitest.Patience, time.Millisecond)
		killed[at] = true
	}
	assert.Greater(t, len(killed), 12, "%v", killed)
	for range 2 { // what follows from the erasure ends behind it
		erased.restarts()
		require.Eventually(t, erased.rests, 2*apitest.Patience, 10*time.Millisecond)
	}
	erased.kill()
	for _, found := range stores.Mentions(string(erased.id), email) {
		switch {
		case strings.HasPrefix(found, "notes REVOCATIONS#"): // for a day
		case strings.Contains(found, "{"+string(erased.id)+"}"), !strings.HasPrefix(found, "redis taggie:note:event:") && !strings.HasPrefix(found, "redis taggie:score:event:"):
			t.Error(found) // what is remembered of events of others is theirs, for an hour
		}
	}
	bob.Server, _ = apitest.StartProcess(t, env, apitest.FreePort(t))
	assert.Len(t, bob.Must(`{ viewer { notes { nodes { id } } } }`, nil).List("viewer.notes.nodes"), len(theirs))
}
