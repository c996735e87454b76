package notes

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
)

const (
	syncNotes = `query($since: DateTime, $first: Int!, $after: Cursor) { viewer { noteChanges(changedSince: $since, first: $first, after: $after) {
		syncedUntil complete pageInfo { hasNextPage endCursor }
		nodes { __typename ... on Note { ...kept } ... on DeletedNote { gone: noteId } ... on NoteShareEnded { gone: noteId } } } } }` + keptOfNotes
	keptOfNotes = ` fragment kept on Note { id title deadline updatedAt version viewerPermission tags { value } owner { id } updatedBy { id } latestVersion { number } }`
)

// device keeps a copy of the notes that its user can read.
type device struct {
	*apitest.Client
	random *rand.Rand
	notes  map[string]any // by id
	since  any
	after  any // where a run that was cut off goes on
	told   int
}

func newDevice(c *apitest.Client, seed uint64) *device {
	return &device{Client: c, random: rand.New(rand.NewPCG(seed, 17)), notes: map[string]any{}}
}

// step reads a page, and reports whether there are more.
func (d *device) step(first int) bool {
	d.T.Helper()
	return d.take(d.Must(syncNotes, apitest.Vars{"since": d.since, "first": first, "after": d.after}))
}

// cut reads a page on a connection that ends after so many bytes, if there are so many.
func (d *device) cut(first, bytes int) {
	d.T.Helper()
	body, err := json.Marshal(map[string]any{"query": syncNotes, "variables": apitest.Vars{"since": d.since, "first": first, "after": d.after}})
	require.NoError(d.T, err)
	r, err := http.NewRequestWithContext(d.T.Context(), http.MethodPost, d.URL+"/graphql", strings.NewReader(string(body)))
	require.NoError(d.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+d.Token)
	transport := &http.Transport{DialContext: apitest.After(bytes)}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	a := &apitest.Answer{T: d.T, Body: string(text)}
	require.NoError(d.T, json.Unmarshal(text, a))
	require.Empty(d.T, a.Errors, "%s", text)
	d.take(a)
}

func (d *device) take(a *apitest.Answer) bool {
	d.T.Helper()
	for _, n := range a.List("viewer.noteChanges.nodes") {
		d.told++
		change, _ := n.(map[string]any)
		if gone, ok := change["gone"].(string); ok {
			delete(d.notes, gone)
			continue
		}
		delete(change, "__typename")
		d.notes[fmt.Sprint(change["id"])] = change
	}
	assert.Equal(d.T, true, a.At("viewer.noteChanges.complete"))
	if a.At("viewer.noteChanges.pageInfo.hasNextPage") == true {
		require.NotEqual(d.T, d.after, a.At("viewer.noteChanges.pageInfo.endCursor"), "a page leads on")
		d.after = a.At("viewer.noteChanges.pageInfo.endCursor")
		return true
	}
	d.since, d.after = a.At("viewer.noteChanges.syncedUntil"), nil
	return false
}

// agrees asserts that the device has exactly what the server has.
func (d *device) agrees() {
	d.T.Helper()
	a := d.Must(`{ viewer { notes(first: 500) { nodes { ...kept } } sharedNotes(first: 500) { nodes { ...kept } } } }`+keptOfNotes, nil)
	want := map[string]any{}
	for _, n := range slices.Concat(a.List("viewer.notes.nodes"), a.List("viewer.sharedNotes.nodes")) {
		note, _ := n.(map[string]any)
		want[fmt.Sprint(note["id"])] = note
	}
	assert.Equal(d.T, want, d.notes)
}

// change has the user do something with a note. It may be refused: the other user may have done anything before.
func change(c *apitest.Client, random *rand.Rand, id string, reader *apitest.Client) {
	c.T.Helper()
	var mutation string
	switch random.IntN(7) {
	case 0, 1:
		mutation = fmt.Sprintf(`updateNote(input: {noteId: $id, title: "title %d"}) { note { id } }`, random.IntN(100))
	case 2:
		mutation = fmt.Sprintf(`changeNoteDeadline(input: {noteId: $id, deadline: "2027-01-%02dT00:00:00Z"}) { note { id } }`, 1+random.IntN(28))
	case 3:
		mutation = fmt.Sprintf(`addNoteTags(input: {noteId: $id, tags: ["tag %d"]}) { note { id } }`, random.IntN(9))
	case 4:
		mutation = []string{`deleteNote(input: {noteId: $id}) { deletedNote { noteId } }`, `undeleteNote(input: {noteId: $id}) { note { id } }`}[random.IntN(2)]
	case 5:
		mutation = fmt.Sprintf(`shareNote(input: {noteId: $id, userId: $reader, permission: %s}) { note { id } }`, []string{"VIEW", "EDIT"}[random.IntN(2)])
	case 6:
		mutation = `unshareNote(input: {noteId: $id, userId: $reader}) { note { id } }`
	}
	parameters := `($id: ID!)`
	if strings.Contains(mutation, "$reader") {
		parameters = `($id: ID!, $reader: ID!)`
	}
	for _, err := range c.Do(`mutation`+parameters+` { `+mutation+` }`, apitest.Vars{"id": id, "reader": reader.ID}).Errors {
		assert.Contains(c.T, []string{"NOT_FOUND", "FORBIDDEN", "INVALID_INPUT"}, err.Extensions.Code, err.Message)
	}
}

// Two users share 250 notes each with the other, and go on changing them, and what they share, while their devices follow, over connections
// that are cut. Each round is two minutes behind the one before, by the servers' clock, so that what a run must not miss does not come by its margin.
func TestTwoDevicesHaveExactlyWhatTheServerHas(t *testing.T) {
	s := apitest.NewServer(t)
	users := []*apitest.Client{s.User("ada@example.com"), s.User("bob@example.com")}
	var notes [2][]string
	for i, user := range users {
		notes[i] = user.Notes(250)
		var shares []apitest.Vars
		for _, id := range notes[i] {
			shares = append(shares, apitest.Vars{"noteId": id, "userId": users[1-i].ID, "permission": "EDIT"})
		}
		user.All("shareNote", "note { id }", shares[:1])
		users[1-i].Mutate("openSharedNote", "openedAt", apitest.Vars{"noteId": notes[i][0]})
		user.All("shareNote", "note { id }", shares[1:])
	}
	devices := []*device{newDevice(users[0], 1), newDevice(users[1], 2)}
	for round := range 4 {
		later := s.Later(time.Duration(round) * 2 * time.Minute)
		var group sync.WaitGroup
		for i, d := range devices {
			d.Client = users[i].At(later)
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), uint64(i)))
				for range 40 {
					owner := random.IntN(2)
					change(d.Client, random, notes[owner][random.IntN(250)], users[1-owner])
				}
			})
			group.Go(func() {
				for range 12 {
					switch first := 1 + d.random.IntN(300); d.random.IntN(4) {
					case 0: // it loses where it was, and begins anew
						d.after = nil
					case 1:
						d.step(first)
					default:
						d.cut(first, d.random.IntN(60_000))
					}
				}
			})
		}
		group.Wait()
		for _, d := range devices {
			for d.after != nil && round%2 == 0 && d.step(500) { // what was begun before all was quiet is brought to its end, or given up
			}
			d.after = nil
			for d.step(100 + 100*round) {
			}
			d.agrees()
		}
	}
	for i, d := range devices {
		d.Client = users[i].At(s.Later(10 * time.Minute))
		for d.step(500) {
		}
		d.told = 0
		for d.step(500) {
		}
		assert.Zero(t, d.told, "nothing happened meanwhile")
		d.agrees()
	}
}

func TestFiveHundredSharedNotesWithoutAChangeCostAtMostEightCalls(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(500, func(i int, input apitest.Vars) {
		if i%2 == 0 {
			input["deadline"] = fmt.Sprintf("2027-01-01T00:00:00.%03dZ", i)
		}
	})
	ada.Share(notes, bob)
	ada.Must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: null}) { note { id } } }`, apitest.Vars{"id": notes[0]})
	later := bob.At(s.Later(2 * time.Minute))
	const query = `query($since: DateTime) { viewer { name noteChanges(changedSince: $since, first: 500) { syncedUntil pageInfo { hasNextPage }
		nodes { ... on Note { id title updatedBy { name } owner { name } } } } } }`
	all := later.Must(query, nil)
	require.Len(t, all.List("viewer.noteChanges.nodes"), 500)
	since := apitest.Vars{"since": all.At("viewer.noteChanges.syncedUntil")}

	c := later.Measure(query, since)
	assert.Empty(t, c.List("viewer.noteChanges.nodes"))
	assert.Equal(t, false, c.At("viewer.noteChanges.pageInfo.hasNextPage"))
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 5 + 1}, c.Operations(), "own changes, shares, locators, and the viewer")
	assert.Equal(t, map[string]int{"LOCATOR": 500, "PROFILE": 1}, c.Keys())
	t.Logf("%v read units", c.Extensions.Dynamo.ConsumedCapacity)

	ada.At(later.Server).Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "new"}) { note { id } } }`, apitest.Vars{"id": notes[7]})
	c = later.Measure(query, since)
	assert.Equal(t, []string{notes[7]}, apitest.IDsOf(c.List("viewer.noteChanges.nodes")))
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 5 + 1 + 2}, c.Operations(), "one batch for the note that changed, and one for who wrote it")
}

func TestWhoWrote(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(3)
	ada.All("shareNote", "note { id }", []apitest.Vars{
		{"noteId": notes[0], "userId": bob.ID, "permission": "EDIT"}, {"noteId": notes[1], "userId": bob.ID, "permission": "EDIT"},
	})
	bob.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "by bob"}, {"noteId": notes[1], "title": "by bob"}})
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "by ada"}})
	for who, name := range map[*apitest.Client]string{ada: "ada", bob: "bob"} {
		c := who.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title owner { name } updatedBy { id name } latestVersion { author { name id } }
			versions(first: 5) { nodes { author { id } } edges { node { author { id name } } } } } } }`, apitest.Vars{"ids": notes[:2]})
		var writers []any
		for _, n := range c.List("nodes") {
			a := &apitest.Answer{T: t, Body: c.Body, Data: n.(map[string]any)}
			writers = append(writers, a.At("updatedBy.id"), a.At("latestVersion.author.id"))
			for _, v := range a.List("versions.nodes") {
				writers = append(writers, (&apitest.Answer{T: t, Data: v.(map[string]any)}).At("author.id"))
			}
		}
		assert.Equal(t, []any{ada.ID, bob.ID, bob.ID, ada.ID, bob.ID, ada.ID, ada.ID}, writers, name)
		assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 2 + 1 + 1}, c.Operations(), "locators, notes, the newest versions, and all users together")
	}
	by := bob.Must(`query($id: ID!) { note(id: $id) { versions { nodes { id } } } }`, apitest.Vars{"id": notes[0]})
	versions := apitest.IDsOf(by.List("note.versions.nodes"))
	c := bob.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Version { author { name } } } }`, apitest.Vars{"ids": versions})
	assert.Equal(t, 1, c.Batches()["PROFILE"], "authors are read together")
	c = ada.Measure(`{ viewer { notes(first: 10) { nodes { updatedBy { id } latestVersion { author { id } } } } } }`, nil)
	assert.Zero(t, c.Keys()["PROFILE"], "of whom only the id is shown, nothing is read")

	// What was written before this was kept has nobody.
	_, err := s.DB.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: s.DB.Table(dynamo.NotesTable), UpdateExpression: aws.String("REMOVE updated_by, author"),
		Key: dynamo.NotesTable.Key(dynamo.Key{PK: keys.UserPK(apitest.GlobalKey(t, ada.ID)[1]), SK: keys.NoteSK(time.Time{}, apitest.GlobalKey(t, notes[2])[1])}),
	})
	require.NoError(t, err)
	old := ada.Must(`query($id: ID!) { note(id: $id) { updatedBy { name } } }`, apitest.Vars{"id": notes[2]})
	assert.Nil(t, old.At("note.updatedBy"))
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[2], "title": "now"}})
	old = ada.Must(`query($id: ID!) { note(id: $id) { updatedBy { id } latestVersion { title author { name } } } }`, apitest.Vars{"id": notes[2]})
	assert.Equal(t, ada.ID, old.At("note.updatedBy.id"))
	assert.Equal(t, "note 002", old.At("note.latestVersion.title"))
	assert.Nil(t, old.At("note.latestVersion.author"))
}
