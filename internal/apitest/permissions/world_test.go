package permissions

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/gid"
)

// world is what one role walks through: people of its own, and notes, a scope and a project, each of which is made anew when the
// role changed it.
type world struct {
	*apitest.Server
	key    []byte // with which the server's tokens are signed
	role   string
	asker  *apitest.Client
	owner  *apitest.Client
	people map[string]*apitest.Client
	ids    map[string]string          // the values that documents may name
	tokens map[string]*apitest.Client // of claims, with whose they are
	shown  []string                   // what the role was answered
	count  int
}

// walkServer is a server of whose tokens the test knows the key.
type walkServer struct {
	*apitest.Server
	key []byte
}

func newWalkServer(t *testing.T) walkServer {
	t.Helper()
	var dir string
	s := apitest.NewServer(t, apitest.Within(time.Minute), func(c *config.Config) { dir, c.ItemQuota = c.Data, walkQuota })
	key, err := app.LocalSecret(dir)
	require.NoError(t, err)
	return walkServer{Server: s, key: key}
}

func newWorld(t *testing.T, s walkServer, role string) *world {
	t.Helper()
	own := *s.Server
	own.T = t
	w := &world{Server: &own, key: s.key, role: role, people: map[string]*apitest.Client{}, tokens: map[string]*apitest.Client{}, ids: map[string]string{
		"nobody": gid.Of("User", uuid.NewString()).String(),
	}}
	for _, name := range []string{"owner", "edit", "view", "revoked", "stranger", "taken", "leaver", "heir"} {
		w.people[name] = w.User(w.address(name))
		w.ids[name] = w.people[name].ID
	}
	w.owner = w.people["owner"]
	w.ids["ownerEmail"], w.ids["takenEmail"] = w.address("owner"), w.address("taken")
	w.owner.Must(fill(`mutation { blockUser(input: {userId: $leaver}) { more } }`, w.ids), nil)
	w.renewAsker()
	w.renewNotes()
	w.renewScope()
	w.renewScores()
	w.renewDeletedScopes()
	w.renewDeletedUsers()
	w.renewProject()
	w.renewPaused()
	w.renewDeletedProjects()
	w.fullProject()
	w.letters()
	w.largeScores()
	w.keptScore()
	w.archive()
	return w
}

// address has the role in it, since each role has a world of its own.
func (w *world) address(name string) string { return name + ".of." + w.role + "@example.com" }

// renewAsker makes who asks: the newcomer anew each time.
func (w *world) renewAsker() {
	w.T.Helper()
	w.ids["email"] = w.address(w.role)
	switch w.role {
	case "newcomer":
		w.ids["email"] = w.address("newcomer" + w.fresh())
		w.asker = w.As(w.ids["email"])
	case "admin":
		if w.asker == nil {
			w.asker = w.Admin(w.ids["email"])
		}
	case "anonymous":
		w.asker = &apitest.Client{Server: w.Server}
	case "expired":
		w.asker = &apitest.Client{Server: w.Server, Token: w.mintAs(w.key, time.Now().Add(-2*time.Hour))}
	case "forged":
		w.asker = &apitest.Client{Server: w.Server, Token: w.mintAs([]byte(strings.Repeat("another secret", 3)), time.Now())}
	default:
		w.asker = w.people[w.role]
	}
}

// renewDeletedUsers makes two users, of whom one is deleted.
func (w *world) renewDeletedUsers() {
	w.T.Helper()
	for _, name := range []string{"goer", "departed"} {
		w.people[name] = w.User(w.address(name + w.fresh()))
		w.ids[name] = w.people[name].ID
	}
	w.people["departed"].Must(`mutation { deleteUser(input: {}) { deleted { state } } }`, nil)
}

// renewNotes makes a note with an earlier version, which is shared, or was, and one that was deleted after that.
func (w *world) renewNotes() {
	w.T.Helper()
	const create = `createNote(input: {title: "Secret title", content: "secret content", deadline: "2030-01-01T00:00:00Z", tags: ["WalkSecret"]}) { note { id createdAt tags { id } } }`
	made := w.owner.Must(`mutation { note: `+create+` deleted: `+create+` }`, nil)
	for _, name := range []string{"note", "deleted"} {
		w.ids[name] = made.Str(name + ".note.id")
	}
	w.ids["renewed"] = made.Str("note.note.createdAt")
	w.ids["tag"] = fmt.Sprint(made.List("note.note.tags")[0].(map[string]any)["id"])
	var b strings.Builder
	for _, name := range []string{"note", "deleted"} {
		fmt.Fprintf(&b, `%[1]sUpdate: updateNote(input: {noteId: $%[1]s, content: "secret, the second"}) { note { latestVersion { id } } }
			%[1]sEdit: shareNote(input: {noteId: $%[1]s, userId: $edit, permission: EDIT, showEarlierVersions: true}) { note { id } }
			%[1]sView: shareNote(input: {noteId: $%[1]s, userId: $view, permission: VIEW, showEarlierVersions: true}) { note { id } }
			%[1]sShare: shareNote(input: {noteId: $%[1]s, userId: $revoked, permission: EDIT}) { note { id } }
			%[1]sEnd: unshareNote(input: {noteId: $%[1]s, userId: $revoked}) { note { id } }
			`, name)
	}
	b.WriteString(`deleteNote(input: {noteId: $deleted}) { deletedNote { noteId } }`)
	a := w.owner.Must(fill(`mutation { `+b.String()+` }`, w.ids), nil)
	w.ids["version"] = a.Str("noteUpdate.note.latestVersion.id")
	for _, name := range []string{"edit", "view"} {
		w.people[name].Must(fill(`mutation { openSharedNote(input: {noteId: $note}) { openedAt } }`, w.ids), nil)
	}
}

// mintAs makes a token of the owner with a key and a clock that may be wrong.
func (w *world) mintAs(secret []byte, now time.Time) string {
	w.T.Helper()
	issuer, err := auth.NewLocal(secret, func() time.Time { return now })
	require.NoError(w.T, err)
	token, err := issuer.Mint(app.Person(w.address("owner"), "owner", "", false), time.Hour)
	require.NoError(w.T, err)
	return token
}

func (w *world) fresh() string {
	w.count++
	return fmt.Sprintf("fresh%d", w.count)
}

// subjects returns the ids of the objects of a type that the matrix is about, none when it does not matter which.
func (w *world) subjects(typ string) []string {
	var all []string
	for _, name := range subjectsOf[typ] {
		all = append(all, w.ids[name])
	}
	return all
}

// values are those that a document on the way to a type may name.
func (w *world) values(to string) map[string]string {
	w.ids["fresh"], w.ids["it"] = w.fresh(), w.ids["note"]
	if subjects := w.subjects(to); len(subjects) > 0 {
		w.ids["it"] = subjects[0]
	}
	return w.ids
}

// ask sends a document as the role.
func (w *world) ask(document string) *apitest.Answer {
	w.T.Helper()
	var a *apitest.Answer
	if strings.HasPrefix(document, "subscription") {
		a = hear(w.asker, document)
	} else {
		a = w.asker.Do(document, nil)
	}
	w.shown = append(w.shown, bare(a))
	for _, err := range a.Errors {
		require.NotContains(w.T, []string{"GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED", "BAD_REQUEST"}, err.Extensions.Code, "the walk asked nonsense: %s\n%s", document, a.Body)
	}
	return a
}

// bare is the body without what differs from request to request by design: the ids of requests, and the cost that the
// harness asks for. Errors are in the order of their paths: fields are resolved side by side.
func bare(a *apitest.Answer) string {
	a.T.Helper()
	var body map[string]any
	require.NoError(a.T, json.Unmarshal([]byte(a.Body), &body))
	delete(body, "extensions")
	if errs, ok := body["errors"].([]any); ok {
		for _, err := range errs {
			if extensions, ok := err.(map[string]any)["extensions"].(map[string]any); ok {
				delete(extensions, "requestId")
			}
		}
		slices.SortFunc(errs, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	text, err := json.Marshal(body)
	require.NoError(a.T, err)
	return onlineNow.ReplaceAllString(string(text), `"onlineCount":0`)
}

// onlineNow is how many users are online: all roles share a server.
var onlineNow = regexp.MustCompile(`"onlineCount":\d+`)

// snapshot is what there is to be changed.
type snapshot struct {
	notes           string // everything of the notes that their owner sees
	scope           string // everything in the scope that its owner sees
	scopes          string // all scopes, and those that are deleted
	project         string // everything of the project that its manager sees
	paused          string // whether the paused one is
	deletedProjects string
	scores          string // everything of the score, and all items, that their owner sees
	deletedUsers    string // as an administrator sees them
	users           string // everything that the owner and the role see of themselves, and whether another's token counts
}

func (w *world) snapshot() snapshot {
	w.T.Helper()
	const profile = `viewer {
		id name email version updatedAt notes(last: 3) { nodes { id version } } sharedNotes(last: 3) { edges { permission sharedAt node { id } } }
		scopes(first: 500) { nodes { id } } projects(first: 500) { nodes { id } } deletedProjects(first: 500) { nodes { projectId state undoUntil } } blockedUsers(first: 500) { nodes { blockedAt } } keptScores(first: 500) { edges { keptAt } } archives(first: 500) { nodes { id } } scoreCount itemUsage { uploadCount quota } }`
	all := w.owner.Must(fill(`{ `+notesShown+scopeShown+projectShown+scoresShown+profile+` }`+notesFragments+scopeFragments, w.ids), nil)
	part := func(names ...string) string {
		of := map[string]any{}
		for _, name := range names {
			of[name] = all.Data[name] // the deleted note is null
		}
		text, err := json.Marshal(of)
		require.NoError(w.T, err)
		return string(text)
	}
	require.NotNil(w.T, all.Data["scope"], "%s", all.Body)
	require.NotNil(w.T, all.Data["project"], "%s", all.Body)
	users, deletedUsers := part("viewer"), ""
	if w.asker.ID != "" && w.role != "owner" || w.role == "newcomer" {
		users += bare(w.asker.Do(`{ `+profile+` }`, nil))
	}
	if w.role == "admin" {
		users += bare(w.asker.Must(`{ deadLetters { id } }`, nil))
		for _, gone := range w.asker.Must(`{ deletedUsers(first: 500) { nodes { userId state undoUntil } } }`, nil).List("deletedUsers.nodes") {
			if id := gone.(map[string]any)["userId"]; id == w.ids["goer"] || id == w.ids["departed"] { // others are of other roles
				deletedUsers += fmt.Sprint(gone)
			}
		}
		users += fmt.Sprint(w.people["leaver"].Do(`{ __typename }`, nil).Status)
	}
	return snapshot{
		notes: part("note", "deleted", "changes"), scope: part("scope"), scopes: part("scopes"), project: part("project"), paused: part("paused"),
		deletedProjects: part("deletedProjects"), scores: part("score", "files"), users: users, deletedUsers: deletedUsers,
	}
}

// What the owner is shown of notes for a snapshot.
const (
	notesShown = `
		note(id: $note) { ...note } deleted: note(id: $deleted) { ...note }
		changes: viewer { noteChanges(changedSince: $renewed, first: 5) { nodes { ... on DeletedNote { noteId deletedAt undoUntil } ... on Note { id version } } } }`
	notesFragments = `
		fragment note on Note {
			title content deadline createdAt updatedAt version tags { value }
			accessList { edges { permission sharedAt node { id } } }
			versions { nodes { number title content deadline updatedAt tags { value } } }
		}`
)

var (
	// What only those who may read notes, scope and project may be shown: see the functions that make them anew.
	secret = regexp.MustCompile(`(?i)secret`)
	// Words of the stores, their client library, and of Go.
	inner = regexp.MustCompile(`(USER|NOTE|TAG|SHARED|OWNER|VERSION|EMAIL|SUBJECT|DEADLINE|DUE|USER_NOTE)#|_[a-z_]+_key\b|index_lookup|entities_by_type|taggie:|GSI\d|(?i:dynamodb|smithy|redis|amazon|conditional ?check|validationexception|resourcenotfound|goroutine|runtime error|nil pointer|panic|github\.com|operation error|requestid: )|\*?(note|user|tag|entity|project|score|keys|page|fault|model|gid)\.[A-Z]|\.go:\d|t[0-9a-f]{32}_`)
)

// assertNothingShown reads everything that the role was answered. Nothing that it looks for has a quotation mark in it: so it reads what is
// between them, each text once.
func (w *world) assertNothingShown() {
	w.T.Helper()
	reader := w.role == "owner" || w.role == "edit" || w.role == "view"
	require.NotEmpty(w.T, w.shown)
	slices.Sort(w.shown)
	w.shown = slices.Compact(w.shown)
	texts := map[string]string{} // with an answer that each is from
	for _, body := range w.shown {
		for text := range strings.SplitSeq(body, `"`) {
			texts[text] = body
		}
	}
	var found bool
	for text, body := range texts {
		assert.NotRegexp(w.T, inner, text, "%s", body)
		found = found || secret.MatchString(text)
		if !reader {
			assert.NotRegexp(w.T, secret, text, "%s", body)
		}
		lower := strings.ToLower(text)
		for name := range w.people {
			if w.role != name && w.role != "admin" {
				assert.NotContains(w.T, lower, w.address(name), "the address of another user: %s", body)
			}
		}
	}
	assert.Equal(w.T, reader, found, "the walk must show what is secret to its readers: else it proves nothing")
	w.assertTokensAreSecret()
}
