package requests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/gid"
)

// bad is an input that is refused.
type bad struct {
	reason   string
	mutation string
	input    apitest.Vars
	code     string
	field    string
}

func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob, nobody := s.User("ada@example.com"), s.User("bob@example.com"), s.As("nobody@example.com")
	note, foreign := ada.Notes(1, func(_ int, input apitest.Vars) { input["tags"] = []string{"a"} })[0], bob.Notes(1)[0]
	versions := map[*apitest.Client]string{}
	for who, id := range map[*apitest.Client]string{ada: note, bob: foreign} {
		versions[who] = who.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, apitest.Vars{"id": id}).Str("updateNote.note.latestVersion.id")
	}
	create := func(reason, field string, value any, code string) bad {
		input := apitest.Vars{"title": "title", "content": "content"}
		input[field] = value
		return bad{reason, "createNote", input, code, "input." + field}
	}
	long := strings.Repeat("x", 350_001)
	cases := []bad{
		create("an empty title", "title", "", apitest.Invalid),
		create("a title of white space", "title", " \t\n\u00a0\u3000", apitest.Invalid),
		create("a title of 201 characters", "title", strings.Repeat("é", 201), apitest.Invalid),
		create("a title with NUL", "title", "a\x00b", apitest.Invalid),
		create("a title that is null", "title", nil, apitest.Unfit),
		create("a title that is a list", "title", []string{"a", "b"}, apitest.Unfit),
		create("an empty content", "content", "", apitest.Invalid),
		create("a content of white space", "content", "  ", apitest.Invalid),
		create("a content of 350,001 bytes", "content", long, apitest.Invalid),
		create("a content of 400 KB", "content", strings.Repeat("x", 400_000), apitest.Invalid),
		create("a content of few characters and many bytes", "content", strings.Repeat("😀", 87_501), apitest.Invalid),
		create("a content with NUL", "content", "\x00", apitest.Invalid),
		create("41 tags", "tags", apitest.Numbered("tag", 41), apitest.Invalid),
		create("an empty tag", "tags", []string{""}, apitest.Invalid),
		create("a tag of white space", "tags", []string{"ok", "\u3000"}, apitest.Invalid),
		create("a tag of 201 bytes", "tags", []string{strings.Repeat("x", 201)}, apitest.Invalid),
		create("a tag of 201 bytes in many characters", "tags", []string{strings.Repeat("日", 67)}, apitest.Invalid),
		create("a tag of separators, which count three each", "tags", []string{strings.Repeat("#", 67)}, apitest.Invalid),
		create("a tag that grows when it is normalised", "tags", []string{strings.Repeat("\ufdfa", 12)}, apitest.Invalid),
		create("a tag with a control character", "tags", []string{"a\u0001b"}, apitest.Invalid),
		create("a tag with NUL", "tags", []string{"a\x00b"}, apitest.Invalid),
		create("an empty idempotency key", "idempotencyKey", "", apitest.Invalid),
		create("an idempotency key of 256 bytes", "idempotencyKey", strings.Repeat("é", 128), apitest.Invalid),
	}
	for _, date := range []any{"2026-13-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z", "tomorrow", "", 5, true} {
		cases = append(cases, create(fmt.Sprintf("the date %v", date), "deadline", date, apitest.Unfit))
	}
	for _, email := range []string{"", " ", "ada", "ada@", "@example.com", "a b@example.com", "a@b, c@d", "Ada <ada@example.com>", "ada@example.com\nx", "a\x00@example.com", strings.Repeat("x", 250) + "@e.io", "ada@@example.com", "<ada@example.com>"} {
		cases = append(cases,
			bad{fmt.Sprintf("the address %.20q for a new user", email), "createUser", apitest.Vars{"name": "Name", "email": email}, apitest.Invalid, "input.email"},
			bad{fmt.Sprintf("the address %.20q", email), "updateUser", apitest.Vars{"email": email}, apitest.Invalid, "input.email"})
	}
	for reason, name := range map[string]any{"an empty name": "", "a name of white space": "  ", "a name of 101 characters": strings.Repeat("é", 101), "a name with NUL": "a\x00", "a name of two lines": "a\nb", "a name that is null": nil} {
		cases = append(cases, bad{reason, "updateUser", apitest.Vars{"name": name}, apitest.Invalid, "input.name"})
	}
	update := func(id any) apitest.Vars { return apitest.Vars{"noteId": id, "title": "changed"} }
	for reason, id := range map[string]string{
		"garbage": "!!!", "no id": "", "an id with padding": note + "==", "an id and more": note + "A", "a very long id": strings.Repeat("A", 2000),
		"an id that is no UTF-8": "_w8A", "an id of no type": "AGE",
	} {
		cases = append(cases, bad{reason, "updateNote", update(id), apitest.Invalid, "input.noteId"})
	}
	cases = append(cases, []bad{
		{"the id of a user", "updateNote", update(ada.ID), apitest.Invalid, "input.noteId"},
		{"the id of a version", "updateNote", update(versions[ada]), apitest.Invalid, "input.noteId"},
		{"a shortened id", "updateNote", update(note[:52]), "NOT_FOUND", ""},
		{"another's note", "updateNote", update(foreign), "NOT_FOUND", ""},
		{"another's note to delete", "deleteNote", apitest.Vars{"noteId": foreign}, "NOT_FOUND", ""},
		{"another's note to undelete", "undeleteNote", apitest.Vars{"noteId": foreign}, "NOT_FOUND", ""},
		{"a note to undelete that is there", "undeleteNote", apitest.Vars{"noteId": note}, "NOT_FOUND", ""},
		{"another's note to share", "shareNote", apitest.Vars{"noteId": foreign, "userId": bob.ID, "permission": "VIEW"}, "NOT_FOUND", ""},
		{"one's own shares to end", "endShares", apitest.Vars{"byUserId": ada.ID}, apitest.Invalid, "input.byUserId"},
		{"a note for a user whose shares end", "endShares", apitest.Vars{"byUserId": note}, apitest.Invalid, "input.byUserId"},
		{"oneself to block", "blockUser", apitest.Vars{"userId": ada.ID}, apitest.Invalid, "input.userId"},
		{"a note to block", "blockUser", apitest.Vars{"userId": note}, apitest.Invalid, "input.userId"},
		{"nobody to block", "blockUser", apitest.Vars{"userId": gid.Of("User", "nobody").String()}, "NOT_FOUND", ""},
		{"oneself to unblock", "unblockUser", apitest.Vars{"userId": ada.ID}, apitest.Invalid, "input.userId"},
		{"a note to unblock", "unblockUser", apitest.Vars{"userId": note}, apitest.Invalid, "input.userId"},
		{"one's own note to open", "openSharedNote", apitest.Vars{"noteId": note}, apitest.Invalid, "input.noteId"},
		{"another's note to open", "openSharedNote", apitest.Vars{"noteId": foreign}, "NOT_FOUND", ""},
		{"a user to open", "openSharedNote", apitest.Vars{"noteId": bob.ID}, apitest.Invalid, "input.noteId"},
		{"another's note to end a share of", "unshareNote", apitest.Vars{"noteId": foreign, "userId": bob.ID}, "NOT_FOUND", ""},
		{"an id that never was", "updateNote", update(gid.Of("Note", "no", "such").String()), apitest.Invalid, "input.noteId"},
		{"null for a title", "updateNote", apitest.Vars{"noteId": note, "title": nil}, apitest.Invalid, "input.title"},
		{"null for a content", "updateNote", apitest.Vars{"noteId": note, "content": nil}, apitest.Invalid, "input.content"},
		{"null for an address", "updateUser", apitest.Vars{"email": nil}, apitest.Invalid, "input.email"},
		{"a long content in an update", "updateNote", apitest.Vars{"noteId": note, "content": long}, apitest.Invalid, "input.content"},
		{"no deadline at all", "changeNoteDeadline", apitest.Vars{"noteId": note}, apitest.Invalid, "input.deadline"},
		{"an expected version that is text", "updateNote", apitest.Vars{"noteId": note, "title": "x", "expectedVersion": "1"}, apitest.Unfit, "input.expectedVersion"},
		{"an expected version of 33 bits", "updateNote", apitest.Vars{"noteId": note, "title": "x", "expectedVersion": 1 << 32}, apitest.Unfit, "input.expectedVersion"},
		{"an expected version that is a fraction", "updateNote", apitest.Vars{"noteId": note, "title": "x", "expectedVersion": 1.5}, apitest.Unfit, "input.expectedVersion"},
		{"a field that is not there", "updateNote", apitest.Vars{"noteId": note, "owner": "x"}, apitest.Unfit, "input.owner"},
		{"no tags to add", "addNoteTags", apitest.Vars{"noteId": note, "tags": []string{}}, apitest.Invalid, "input.tags"},
		{"41 tags to remove", "removeNoteTags", apitest.Vars{"noteId": note, "tags": apitest.Numbered("tag", 41)}, apitest.Invalid, "input.tags"},
		{"null for a tag", "addNoteTags", apitest.Vars{"noteId": note, "tags": []any{nil}}, apitest.Unfit, "input.tags.0"},
		{"no tags to remove", "removeNoteTags", apitest.Vars{"noteId": note, "tags": []string{}}, apitest.Invalid, "input.tags"},
		{"a bad tag to remove", "removeNoteTags", apitest.Vars{"noteId": note, "tags": []string{"\x07"}}, apitest.Invalid, "input.tags"},
		{"another's version", "restoreVersion", apitest.Vars{"versionId": versions[bob]}, "NOT_FOUND", ""},
		{"a version that never was", "restoreVersion", apitest.Vars{"versionId": gid.Of("Version", apitest.GlobalKey(t, note)[1], "7").String()}, "NOT_FOUND", ""},
		{"version 0", "restoreVersion", apitest.Vars{"versionId": gid.Of("Version", apitest.GlobalKey(t, note)[1], "0").String()}, apitest.Invalid, "input.versionId"},
		{"a version that is text", "restoreVersion", apitest.Vars{"versionId": gid.Of("Version", apitest.GlobalKey(t, note)[1], "x").String()}, apitest.Invalid, "input.versionId"},
		{"the id of a note as that of a version", "restoreVersion", apitest.Vars{"versionId": note}, apitest.Invalid, "input.versionId"},
		{"sharing with oneself", "shareNote", apitest.Vars{"noteId": note, "userId": ada.ID, "permission": "VIEW"}, apitest.Invalid, "input.userId"},
		{"sharing with oneself by address", "shareNote", apitest.Vars{"noteId": note, "email": "ADA@example.com", "permission": "VIEW"}, apitest.Invalid, "input.email"},
		{"sharing with two", "shareNote", apitest.Vars{"noteId": note, "userId": bob.ID, "email": "bob@example.com", "permission": "VIEW"}, apitest.Invalid, "input.userId"},
		{"sharing with nobody", "shareNote", apitest.Vars{"noteId": note, "permission": "VIEW"}, apitest.Invalid, "input.userId"},
		{"sharing with a note", "shareNote", apitest.Vars{"noteId": note, "userId": note, "permission": "VIEW"}, apitest.Invalid, "input.userId"},
		{"an unknown permission", "shareNote", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": "ADMIN"}, apitest.Unfit, "input.permission"},
		{"the permission of owners", "shareNote", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": "OWNER"}, apitest.Unfit, "input.permission"},
		{"null for earlier versions", "shareNote", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": "VIEW", "showEarlierVersions": nil}, apitest.Unfit, "input.showEarlierVersions"},
		{"no permission", "shareNote", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": nil}, apitest.Unfit, "input.permission"},
	}...)

	before := state(ada) + state(bob)
	for n, c := range cases {
		t.Run(c.mutation+" "+c.reason, func(t *testing.T) {
			who := ada
			if c.mutation == "createUser" {
				who = nobody
			}
			a := who.Mutate(c.mutation, "__typename", c.input)
			a.T = t
			a.Fails(c.code, c.field)
			a.TellsNothingInner()
			assert.False(t, a.Errors[0].Extensions.Retryable)
			if looks(a, n, len(cases)) {
				assert.True(t, before == state(ada)+state(bob), "this or one of the %d before changed something", together-1) // the two would fill pages
			}
		})
	}
	assert.Nil(t, nobody.Must("{ viewer { id } }", nil).At("viewer"))
}

func TestAWrongExpectedVersionIsAnOutcomeWithTheCurrentNote(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Notes(1)[0]
	version := ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, apitest.Vars{"id": id}).Str("updateNote.note.latestVersion.id")
	before := state(ada)
	for mutation, input := range map[string]apitest.Vars{
		"updateNote": {"noteId": id, "title": "x"}, "changeNoteDeadline": {"noteId": id, "deadline": nil}, "deleteNote": {"noteId": id}, "restoreVersion": {"versionId": version},
	} {
		for _, expected := range []int{1, 3, 0, -1, 1<<31 - 1} {
			input["expectedVersion"] = expected
			a := ada.Mutate(mutation, "problem { __typename ... on NoteConflict { message current { title version } } }", input)
			require.Empty(t, a.Errors, "%s", a.Body)
			assert.Equal(t, "NoteConflict", a.Str("result.problem.__typename"))
			assert.Equal(t, map[string]any{"title": "second", "version": 2.0}, a.At("result.problem.current"))
			assert.NotEmpty(t, a.Str("result.problem.message"))
		}
	}
	assert.Equal(t, before, state(ada))
}

func TestTheLargestNoteCanBeKept(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	tags := make([]string, 40)
	for i := range tags {
		tags[i] = fmt.Sprintf("%02d%s", i, strings.Repeat("日", 66))
		require.Len(t, tags[i], 200)
	}
	title := strings.Repeat("😀", 200)
	content := strings.Repeat("x", 350_000)
	id := ada.Notes(1, func(_ int, input apitest.Vars) {
		input["title"], input["content"], input["tags"], input["deadline"] = title, content, tags, "2027-01-01T00:00:00Z"
	})[0]
	const read = `query($id: ID!) { note(id: $id) { title content tags { value } versions { nodes { id title content tags { value } } } } }`
	a := ada.Must(read, apitest.Vars{"id": id})
	assert.True(t, a.Str("note.content") == content, "as it was sent")
	assert.Equal(t, title, a.Str("note.title"))
	assert.Len(t, a.List("note.tags"), 40)

	ada.Must(`mutation($id: ID!, $c: String!) { updateNote(input: {noteId: $id, content: $c}) { note { version } } }`, apitest.Vars{"id": id, "c": strings.Repeat("é", 175_000)})
	version := ada.Must(read, apitest.Vars{"id": id}).List("note.versions.nodes")[0].(map[string]any)
	assert.True(t, version["content"] == content, "the version is whole")
	assert.Len(t, version["tags"], 40)
	ada.Must(`mutation($id: ID!) { restoreVersion(input: {versionId: $id}) { note { version } } }`, apitest.Vars{"id": version["id"]})
	ada.Must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId } } }`, apitest.Vars{"id": id})
	assert.Nil(t, ada.Must(read, apitest.Vars{"id": id}).At("note"))
	ada.Must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, apitest.Vars{"id": id})
	a = ada.Must(read, apitest.Vars{"id": id})
	assert.True(t, a.Str("note.content") == content)
	assert.Len(t, a.List("note.tags"), 40)
	assert.Len(t, a.List("note.versions.nodes"), 2)
}

func TestBadArgumentsOfQueries(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(3, func(_ int, input apitest.Vars) {
		input["tags"], input["deadline"] = []string{"a", "ab"}, "2027-01-01T00:00:00Z"
	})
	ada.Share(notes, bob)
	bob.Notes(2)
	for range 2 {
		ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": uuid.NewString()}, {"noteId": notes[1], "title": uuid.NewString()}})
	}
	cursor := func(c *apitest.Client, list string) string {
		a := c.Must(`query($id: ID!) { viewer { `+list+` { edges { cursor } } } note(id: $id) { id } }`, apitest.Vars{"id": notes[0]})
		return a.List("viewer." + list[:strings.IndexAny(list+"(", "(")] + ".edges")[0].(map[string]any)["cursor"].(string)
	}
	ofNote := func(list string) string {
		a := ada.Must(`query($id: ID!) { note(id: $id) { `+list+` { edges { cursor } } } }`, apitest.Vars{"id": notes[0]})
		return a.List("note." + list + ".edges")[0].(map[string]any)["cursor"].(string)
	}
	good := cursor(ada, "notes")
	flipped := []byte(good)
	flipped[3] ^= 1 // stays a letter of the alphabet, or becomes none: both are refused

	inNotes := func(args string) string { return "{ viewer { notes(" + args + ") { nodes { id } } } }" }
	after := func(cursor string) string { return inNotes(`after: "` + cursor + `"`) }
	onNote := func(note, list string) string {
		return `{ node(id: "` + note + `") { ... on Note { ` + list + ` { edges { cursor } } } } }`
	}
	type refused struct{ reason, query, code, field string }
	cases := []refused{
		{"first: 0", inNotes("first: 0"), apitest.Invalid, "first"},
		{"first: -1", inNotes("first: -1"), apitest.Invalid, "first"},
		{"first: 501", inNotes("first: 501"), apitest.Invalid, "first"},
		{"last: 0", inNotes("last: 0"), apitest.Invalid, "last"},
		{"last: 501", inNotes("last: 501"), apitest.Invalid, "last"},
		{"both first and last", inNotes("first: 1, last: 1"), apitest.Invalid, "last"},
		{"after with last", inNotes(`last: 1, after: "` + good + `"`), apitest.Invalid, "after"},
		{"before with first", inNotes(`first: 1, before: "` + good + `"`), apitest.Invalid, "before"},
		{"after and before", inNotes(`after: "` + good + `", before: "` + good + `"`), apitest.Invalid, "before"},
		{"first of 33 bits", inNotes("first: 4294967296"), apitest.Unfit, "first"},
		{"first: 2147483648", inNotes("first: 2147483648"), apitest.Unfit, "first"},
		{"first as text", inNotes(`first: "12"`), apitest.Unfit, ""},
		{"first as a fraction", inNotes("first: 1.5"), apitest.Unfit, ""},
		{"a cursor of garbage", after("!"), apitest.Invalid, "after"},
		{"no cursor", after(""), apitest.Invalid, "after"},
		{"a cursor that was shortened", after(good[:len(good)-4]), apitest.Invalid, "after"},
		{"a cursor of a signature alone", after(good[:22]), apitest.Invalid, "after"},
		{"a cursor that was lengthened", after(good + "AAAA"), apitest.Invalid, "after"},
		{"a cursor that was changed", after(string(flipped)), apitest.Invalid, "after"},
		{"another's cursor", after(cursor(bob, "notes")), apitest.Invalid, "after"},
		{"a cursor of another list", after(cursor(ada, "tags")), apitest.Invalid, "after"},
		{"a cursor of the list with other arguments", after(cursor(ada, `notes(due: {after: "2026-01-01T00:00:00Z"})`)), apitest.Invalid, "after"},
		{"a cursor of tags with another prefix", `{ viewer { tags(prefix: "a", after: "` + cursor(ada, "tags") + `") { nodes { id } } } }`, apitest.Invalid, "after"},
		{"a cursor of another note's versions", onNote(notes[1], `versions(after: "`+ofNote("versions")+`")`), apitest.Invalid, "after"},
		{"a cursor of another note's access list", onNote(notes[1], `accessList(before: "`+ofNote("accessList")+`")`), apitest.Invalid, "before"},
		{"a cursor of versions in an access list", onNote(notes[0], `accessList(after: "`+ofNote("versions")+`")`), apitest.Invalid, "after"},
		{"a cursor of changes since another time", `{ viewer { noteChanges(changedSince: "2026-01-01T00:00:00Z", after: "` + cursor(ada, "noteChanges") + `") { nodes { __typename } } } }`, apitest.Invalid, "after"},
		{"due after what it is due before", inNotes(`due: {after: "2027-01-02T00:00:00Z", before: "2027-01-01T00:00:00Z"}`), apitest.Invalid, "due.before"},
		{"due between nothing", inNotes(`due: {after: "2027-01-01T00:00:00Z", before: "2027-01-01T01:00:00+01:00"}`), apitest.Invalid, "due.before"},
		{"a date that is none", inNotes(`due: {after: "yesterday"}`), apitest.Unfit, "due.after"},
		{"no ids", `{ nodes(ids: []) { id } }`, apitest.Invalid, "ids"},
		{"501 ids", `{ nodes(ids: ["` + strings.Repeat(notes[0]+`", "`, 500) + notes[0] + `"]) { id } }`, apitest.Invalid, "ids"},
		{"a note's id for a user", `{ user(id: "` + notes[0] + `") { id } }`, apitest.Invalid, "id"},
		{"a user's id for a note", `{ note(id: "` + ada.ID + `") { id } }`, apitest.Invalid, "id"},
		{"an id of no known type", `{ node(id: "` + gid.Of("Secret", "1").String() + `") { id } }`, apitest.Invalid, "id"},
		{"version 0", `{ note(id: "` + notes[0] + `") { versionAt(number: 0) { id } } }`, apitest.Invalid, "number"},
		{"a field that is not there", `{ viewer { password } }`, apitest.Unfit, ""},
		{"no end", `{ viewer { id }`, "GRAPHQL_PARSE_FAILED", ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			a := ada.Do(c.query, nil)
			a.T = t
			a.Fails(c.code, c.field)
			a.TellsNothingInner()
		})
	}
	t.Run("what is only unlikely is not found", func(t *testing.T) {
		for _, query := range []string{
			`{ userByEmail(email: "no address") { id } }`, `{ viewer { tag(value: "` + strings.Repeat("long", 300) + `") { id } } }`, `{ viewer { tag(value: "\u0000") { id } } }`,
			`{ note(id: "` + gid.Of("Note", strings.Repeat("x", 700)).String() + `") { id } }`, `{ node(id: "` + gid.Of("Tag", apitest.GlobalKey(t, bob.ID)[1], "a").String() + `") { id } }`,
		} {
			a := ada.Must(query, nil)
			assert.Regexp(t, `:null`, a.Raw())
		}
	})
	t.Run("a cursor of another secret", func(t *testing.T) {
		prefix := "t" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
		with := func(secret string) func(*config.Config) {
			return func(c *config.Config) {
				c.TablePrefix, c.Secrets = prefix, []config.Secret{config.Secret(strings.Repeat(secret, 32))}
			}
		}
		one := apitest.NewServer(t, with("a"))
		carol := one.User("carol@example.com")
		carol.Notes(3)
		made := firstCursor(carol)
		carol.Must(after(made), nil)
		elsewhere := apitest.NewServer(t, with("b")).As("carol@example.com")
		require.Equal(t, carol.ID, elsewhere.Must("{ viewer { id } }", nil).Str("viewer.id"), "the same user and notes")
		elsewhere.Do(after(made), nil).Fails(apitest.Invalid, "after")
	})
}

// firstCursor returns the cursor of the client's first note.
func firstCursor(c *apitest.Client) string {
	return c.Must(`{ viewer { notes { pageInfo { startCursor } } } }`, nil).Str("viewer.notes.pageInfo.startCursor")
}

func TestBadBodiesChangeNothing(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	before := state(ada)
	const create = `{"query": "mutation { createNote(input: {title: \"%s\", content: \"c\"}) { note { id } } }"}`
	for reason, test := range map[string]struct{ body, code string }{
		"broken UTF-8":              {fmt.Sprintf(create, "a\xffb"), "BAD_REQUEST"},
		"half of a character":       {fmt.Sprintf(create, `\ud83d`), apitest.Invalid},
		"the other half":            {fmt.Sprintf(create, `\ude00x`), apitest.Invalid},
		"the halves the wrong way":  {fmt.Sprintf(create, `\ude00\ud83d`), apitest.Invalid},
		"NUL in GraphQL":            {fmt.Sprintf(create, `\\u0000`), apitest.Invalid},
		"NUL in JSON":               {fmt.Sprintf(create, `\u0000`), "GRAPHQL_PARSE_FAILED"},
		"no JSON":                   {`query`, "BAD_REQUEST"},
		"a list":                    {`[` + fmt.Sprintf(create, "x") + `]`, "BAD_REQUEST"},
		"something after the value": {fmt.Sprintf(create, "x") + `{}`, "BAD_REQUEST"},
		"nothing":                   {``, "BAD_REQUEST"},
		"variables of another kind": {`{"query": "{ viewer { id } }", "variables": [1]}`, "BAD_REQUEST"},
		"more than 3 MB":            {fmt.Sprintf(create, strings.Repeat("x", 3<<20)), "BAD_REQUEST"},
	} {
		t.Run(reason, func(t *testing.T) {
			a := ada.Send([]byte(test.body))
			a.T = t
			require.Len(t, a.Errors, 1, "%s", a.Body)
			assert.Equal(t, test.code, a.Errors[0].Extensions.Code, "%s", a.Body)
			a.TellsNothingInner()
			assert.True(t, before == state(ada), "nothing has changed")
		})
	}
}
