package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/gid"
)

// innerText is text that no client should read. The limit of an item of DynamoDB is told in these words, on purpose.
var innerText = regexp.MustCompile(`(?i)\b[PLG]?SK\b|\bPK\b|USER#|NOTE#|dynamo|smithy|\baws|panic|goroutine|/work|\.go\b|0x[0-9a-f]{4}|interface \{\}|json:|strconv`)

func (a *answer) tellsNothingInner() {
	a.t.Helper()
	for _, e := range a.Errors {
		assert.NotRegexp(a.t, innerText, strings.ReplaceAll(e.Message, "one DynamoDB item", ""))
		assert.NotEmpty(a.t, e.Message)
		assert.Less(a.t, len(e.Message), 600)
	}
}

// bad is an input that is refused.
type bad struct {
	reason   string
	mutation string
	input    vars
	code     string
	field    string
}

const invalid, unfit = "INVALID_INPUT", "GRAPHQL_VALIDATION_FAILED"

func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ada, bob, nobody := s.user("ada@example.com"), s.user("bob@example.com"), s.as("nobody@example.com")
	note, foreign := ada.notes(1, func(_ int, input vars) { input["tags"] = []string{"a"} })[0], bob.notes(1)[0]
	versions := map[*client]string{}
	for who, id := range map[*client]string{ada: note, bob: foreign} {
		versions[who] = who.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, vars{"id": id}).str("updateNote.note.latestVersion.id")
	}
	create := func(reason, field string, value any, code string) bad {
		input := vars{"title": "title", "content": "content"}
		input[field] = value
		return bad{reason, "createNote", input, code, "input." + field}
	}
	long := strings.Repeat("x", 350_001)
	cases := []bad{
		create("an empty title", "title", "", invalid),
		create("a title of white space", "title", " \t\n\u00a0\u3000", invalid),
		create("a title of 201 characters", "title", strings.Repeat("é", 201), invalid),
		create("a title with NUL", "title", "a\x00b", invalid),
		create("a title that is null", "title", nil, unfit),
		create("a title that is a list", "title", []string{"a", "b"}, unfit),
		create("an empty content", "content", "", invalid),
		create("a content of white space", "content", "  ", invalid),
		create("a content of 350,001 bytes", "content", long, invalid),
		create("a content of 400 KB", "content", strings.Repeat("x", 400_000), invalid),
		create("a content of few characters and many bytes", "content", strings.Repeat("😀", 87_501), invalid),
		create("a content with NUL", "content", "\x00", invalid),
		create("41 tags", "tags", numbered("tag", 41), invalid),
		create("an empty tag", "tags", []string{""}, invalid),
		create("a tag of white space", "tags", []string{"ok", "\u3000"}, invalid),
		create("a tag of 201 bytes", "tags", []string{strings.Repeat("x", 201)}, invalid),
		create("a tag of 201 bytes in many characters", "tags", []string{strings.Repeat("日", 67)}, invalid),
		create("a tag of separators, which count three each", "tags", []string{strings.Repeat("#", 67)}, invalid),
		create("a tag that grows when it is normalised", "tags", []string{strings.Repeat("\ufdfa", 12)}, invalid),
		create("a tag with a control character", "tags", []string{"a\u0001b"}, invalid),
		create("a tag with NUL", "tags", []string{"a\x00b"}, invalid),
		create("an empty idempotency key", "idempotencyKey", "", invalid),
		create("an idempotency key of 256 bytes", "idempotencyKey", strings.Repeat("é", 128), invalid),
	}
	for _, date := range []any{"2026-13-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z", "tomorrow", "", 5, true} {
		cases = append(cases, create(fmt.Sprintf("the date %v", date), "deadline", date, unfit))
	}
	for _, email := range []string{"", " ", "ada", "ada@", "@example.com", "a b@example.com", "a@b, c@d", "Ada <ada@example.com>", "ada@example.com\nx", "a\x00@example.com", strings.Repeat("x", 250) + "@e.io", "ada@@example.com", "<ada@example.com>"} {
		cases = append(cases,
			bad{fmt.Sprintf("the address %.20q for a new user", email), "createUser", vars{"name": "Name", "email": email}, invalid, "input.email"},
			bad{fmt.Sprintf("the address %.20q", email), "updateUser", vars{"email": email}, invalid, "input.email"})
	}
	for reason, name := range map[string]any{"an empty name": "", "a name of white space": "  ", "a name of 101 characters": strings.Repeat("é", 101), "a name with NUL": "a\x00", "a name of two lines": "a\nb", "a name that is null": nil} {
		cases = append(cases, bad{reason, "updateUser", vars{"name": name}, invalid, "input.name"})
	}
	update := func(id any) vars { return vars{"noteId": id, "title": "changed"} }
	for reason, id := range map[string]string{
		"garbage": "!!!", "no id": "", "an id with padding": note + "==", "an id and more": note + "A", "a very long id": strings.Repeat("A", 2000),
		"an id that is no UTF-8": "_w8A", "an id of no type": "AGE",
	} {
		cases = append(cases, bad{reason, "updateNote", update(id), invalid, "input.noteId"})
	}
	cases = append(cases, []bad{
		{"the id of a user", "updateNote", update(ada.id), invalid, "input.noteId"},
		{"the id of a version", "updateNote", update(versions[ada]), invalid, "input.noteId"},
		{"a shortened id", "updateNote", update(note[:52]), "NOT_FOUND", ""},
		{"another's note", "updateNote", update(foreign), "NOT_FOUND", ""},
		{"another's note to delete", "deleteNote", vars{"noteId": foreign}, "NOT_FOUND", ""},
		{"another's note to undelete", "undeleteNote", vars{"noteId": foreign}, "NOT_FOUND", ""},
		{"a note to undelete that is there", "undeleteNote", vars{"noteId": note}, "NOT_FOUND", ""},
		{"another's note to share", "shareNote", vars{"noteId": foreign, "userId": bob.id, "permission": "VIEW"}, "NOT_FOUND", ""},
		{"another's note to end a share of", "unshareNote", vars{"noteId": foreign, "userId": bob.id}, "NOT_FOUND", ""},
		{"an id that never was", "updateNote", update(gid.Of("Note", "no", "such").String()), invalid, "input.noteId"},
		{"null for a title", "updateNote", vars{"noteId": note, "title": nil}, invalid, "input.title"},
		{"null for a content", "updateNote", vars{"noteId": note, "content": nil}, invalid, "input.content"},
		{"null for an address", "updateUser", vars{"email": nil}, invalid, "input.email"},
		{"a long content in an update", "updateNote", vars{"noteId": note, "content": long}, invalid, "input.content"},
		{"no deadline at all", "changeNoteDeadline", vars{"noteId": note}, invalid, "input.deadline"},
		{"an expected version that is text", "updateNote", vars{"noteId": note, "title": "x", "expectedVersion": "1"}, unfit, "input.expectedVersion"},
		{"an expected version of 33 bits", "updateNote", vars{"noteId": note, "title": "x", "expectedVersion": 1 << 32}, unfit, "input.expectedVersion"},
		{"an expected version that is a fraction", "updateNote", vars{"noteId": note, "title": "x", "expectedVersion": 1.5}, unfit, "input.expectedVersion"},
		{"a field that is not there", "updateNote", vars{"noteId": note, "owner": "x"}, unfit, "input.owner"},
		{"no tags to add", "addNoteTags", vars{"noteId": note, "tags": []string{}}, invalid, "input.tags"},
		{"41 tags to remove", "removeNoteTags", vars{"noteId": note, "tags": numbered("tag", 41)}, invalid, "input.tags"},
		{"null for a tag", "addNoteTags", vars{"noteId": note, "tags": []any{nil}}, unfit, "input.tags.0"},
		{"no tags to remove", "removeNoteTags", vars{"noteId": note, "tags": []string{}}, invalid, "input.tags"},
		{"a bad tag to remove", "removeNoteTags", vars{"noteId": note, "tags": []string{"\x07"}}, invalid, "input.tags"},
		{"another's version", "restoreVersion", vars{"versionId": versions[bob]}, "NOT_FOUND", ""},
		{"a version that never was", "restoreVersion", vars{"versionId": gid.Of("Version", globalKey(t, note)[1], "7").String()}, "NOT_FOUND", ""},
		{"version 0", "restoreVersion", vars{"versionId": gid.Of("Version", globalKey(t, note)[1], "0").String()}, invalid, "input.versionId"},
		{"a version that is text", "restoreVersion", vars{"versionId": gid.Of("Version", globalKey(t, note)[1], "x").String()}, invalid, "input.versionId"},
		{"the id of a note as that of a version", "restoreVersion", vars{"versionId": note}, invalid, "input.versionId"},
		{"sharing with oneself", "shareNote", vars{"noteId": note, "userId": ada.id, "permission": "VIEW"}, invalid, "input.userId"},
		{"sharing with oneself by address", "shareNote", vars{"noteId": note, "email": "ADA@example.com", "permission": "VIEW"}, invalid, "input.email"},
		{"sharing with two", "shareNote", vars{"noteId": note, "userId": bob.id, "email": "bob@example.com", "permission": "VIEW"}, invalid, "input.userId"},
		{"sharing with nobody", "shareNote", vars{"noteId": note, "permission": "VIEW"}, invalid, "input.userId"},
		{"sharing with a note", "shareNote", vars{"noteId": note, "userId": note, "permission": "VIEW"}, invalid, "input.userId"},
		{"an unknown permission", "shareNote", vars{"noteId": note, "userId": bob.id, "permission": "ADMIN"}, unfit, "input.permission"},
		{"the permission of owners", "shareNote", vars{"noteId": note, "userId": bob.id, "permission": "OWNER"}, unfit, "input.permission"},
		{"no permission", "shareNote", vars{"noteId": note, "userId": bob.id, "permission": nil}, unfit, "input.permission"},
	}...)

	before := ada.state() + bob.state()
	for _, c := range cases {
		t.Run(c.mutation+" "+c.reason, func(t *testing.T) {
			who := ada
			if c.mutation == "createUser" {
				who = nobody
			}
			a := who.mutate(c.mutation, "__typename", c.input)
			a.t = t
			a.fails(c.code, c.field)
			a.tellsNothingInner()
			assert.False(t, a.Errors[0].Extensions.Retryable)
			assert.True(t, before == ada.state()+bob.state(), "nothing has changed") // the two would fill pages
		})
	}
	assert.Nil(t, nobody.must("{ viewer { id } }", nil).at("viewer"))
}

func TestAWrongExpectedVersionIsAnOutcomeWithTheCurrentNote(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	id := ada.notes(1)[0]
	version := ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, vars{"id": id}).str("updateNote.note.latestVersion.id")
	before := ada.state()
	for mutation, input := range map[string]vars{
		"updateNote": {"noteId": id, "title": "x"}, "changeNoteDeadline": {"noteId": id, "deadline": nil}, "deleteNote": {"noteId": id}, "restoreVersion": {"versionId": version},
	} {
		for _, expected := range []int{1, 3, 0, -1, 1<<31 - 1} {
			input["expectedVersion"] = expected
			a := ada.mutate(mutation, "problem { __typename ... on NoteConflict { message current { title version } } }", input)
			require.Empty(t, a.Errors, "%s", a.body)
			assert.Equal(t, "NoteConflict", a.str("result.problem.__typename"))
			assert.Equal(t, map[string]any{"title": "second", "version": 2.0}, a.at("result.problem.current"))
			assert.NotEmpty(t, a.str("result.problem.message"))
		}
	}
	assert.Equal(t, before, ada.state())
}

func TestTheLargestNoteCanBeKept(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	tags := make([]string, 40)
	for i := range tags {
		tags[i] = fmt.Sprintf("%02d%s", i, strings.Repeat("日", 66))
		require.Len(t, tags[i], 200)
	}
	title := strings.Repeat("😀", 200)
	content := strings.Repeat("x", 350_000)
	id := ada.notes(1, func(_ int, input vars) {
		input["title"], input["content"], input["tags"], input["deadline"] = title, content, tags, "2027-01-01T00:00:00Z"
	})[0]
	const read = `query($id: ID!) { note(id: $id) { title content tags { value } versions { nodes { id title content tags { value } } } } }`
	a := ada.must(read, vars{"id": id})
	assert.True(t, a.str("note.content") == content, "as it was sent")
	assert.Equal(t, title, a.str("note.title"))
	assert.Len(t, a.list("note.tags"), 40)

	ada.must(`mutation($id: ID!, $c: String!) { updateNote(input: {noteId: $id, content: $c}) { note { version } } }`, vars{"id": id, "c": strings.Repeat("é", 175_000)})
	version := ada.must(read, vars{"id": id}).list("note.versions.nodes")[0].(map[string]any)
	assert.True(t, version["content"] == content, "the version is whole")
	assert.Len(t, version["tags"], 40)
	ada.must(`mutation($id: ID!) { restoreVersion(input: {versionId: $id}) { note { version } } }`, vars{"id": version["id"]})
	ada.must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId } } }`, vars{"id": id})
	assert.Nil(t, ada.must(read, vars{"id": id}).at("note"))
	ada.must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, vars{"id": id})
	a = ada.must(read, vars{"id": id})
	assert.True(t, a.str("note.content") == content)
	assert.Len(t, a.list("note.tags"), 40)
	assert.Len(t, a.list("note.versions.nodes"), 2)
}

func TestBadArgumentsOfQueries(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	notes := ada.notes(3, func(_ int, input vars) {
		input["tags"], input["deadline"] = []string{"a", "ab"}, "2027-01-01T00:00:00Z"
	})
	ada.share(notes, bob)
	bob.notes(2)
	for range 2 {
		ada.all("updateNote", "note { id }", []vars{{"noteId": notes[0], "title": uuid.NewString()}, {"noteId": notes[1], "title": uuid.NewString()}})
	}
	cursor := func(c *client, list string) string {
		a := c.must(`query($id: ID!) { viewer { `+list+` { edges { cursor } } } note(id: $id) { id } }`, vars{"id": notes[0]})
		return a.list("viewer." + list[:strings.IndexAny(list+"(", "(")] + ".edges")[0].(map[string]any)["cursor"].(string)
	}
	ofNote := func(list string) string {
		a := ada.must(`query($id: ID!) { note(id: $id) { `+list+` { edges { cursor } } } }`, vars{"id": notes[0]})
		return a.list("note." + list + ".edges")[0].(map[string]any)["cursor"].(string)
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
		{"first: 0", inNotes("first: 0"), invalid, "first"},
		{"first: -1", inNotes("first: -1"), invalid, "first"},
		{"first: 501", inNotes("first: 501"), invalid, "first"},
		{"last: 0", inNotes("last: 0"), invalid, "last"},
		{"last: 501", inNotes("last: 501"), invalid, "last"},
		{"both first and last", inNotes("first: 1, last: 1"), invalid, "last"},
		{"after with last", inNotes(`last: 1, after: "` + good + `"`), invalid, "after"},
		{"before with first", inNotes(`first: 1, before: "` + good + `"`), invalid, "before"},
		{"after and before", inNotes(`after: "` + good + `", before: "` + good + `"`), invalid, "before"},
		{"first of 33 bits", inNotes("first: 4294967296"), unfit, "first"},
		{"first: 2147483648", inNotes("first: 2147483648"), unfit, "first"},
		{"first as text", inNotes(`first: "12"`), unfit, ""},
		{"first as a fraction", inNotes("first: 1.5"), unfit, ""},
		{"a cursor of garbage", after("!"), invalid, "after"},
		{"no cursor", after(""), invalid, "after"},
		{"a cursor that was shortened", after(good[:len(good)-4]), invalid, "after"},
		{"a cursor of a signature alone", after(good[:22]), invalid, "after"},
		{"a cursor that was lengthened", after(good + "AAAA"), invalid, "after"},
		{"a cursor that was changed", after(string(flipped)), invalid, "after"},
		{"another's cursor", after(cursor(bob, "notes")), invalid, "after"},
		{"a cursor of another list", after(cursor(ada, "tags")), invalid, "after"},
		{"a cursor of the list with other arguments", after(cursor(ada, `notes(due: {after: "2026-01-01T00:00:00Z"})`)), invalid, "after"},
		{"a cursor of tags with another prefix", `{ viewer { tags(prefix: "a", after: "` + cursor(ada, "tags") + `") { nodes { id } } } }`, invalid, "after"},
		{"a cursor of another note's versions", onNote(notes[1], `versions(after: "`+ofNote("versions")+`")`), invalid, "after"},
		{"a cursor of another note's access list", onNote(notes[1], `accessList(before: "`+ofNote("accessList")+`")`), invalid, "before"},
		{"a cursor of versions in an access list", onNote(notes[0], `accessList(after: "`+ofNote("versions")+`")`), invalid, "after"},
		{"a cursor of changes since another time", `{ viewer { noteChanges(changedSince: "2026-01-01T00:00:00Z", after: "` + cursor(ada, "noteChanges") + `") { nodes { __typename } } } }`, invalid, "after"},
		{"due after what it is due before", inNotes(`due: {after: "2027-01-02T00:00:00Z", before: "2027-01-01T00:00:00Z"}`), invalid, "due.before"},
		{"due between nothing", inNotes(`due: {after: "2027-01-01T00:00:00Z", before: "2027-01-01T01:00:00+01:00"}`), invalid, "due.before"},
		{"a date that is none", inNotes(`due: {after: "yesterday"}`), unfit, "due.after"},
		{"no ids", `{ nodes(ids: []) { id } }`, invalid, "ids"},
		{"501 ids", `{ nodes(ids: ["` + strings.Repeat(notes[0]+`", "`, 500) + notes[0] + `"]) { id } }`, invalid, "ids"},
		{"a note's id for a user", `{ user(id: "` + notes[0] + `") { id } }`, invalid, "id"},
		{"a user's id for a note", `{ note(id: "` + ada.id + `") { id } }`, invalid, "id"},
		{"an id of no known type", `{ node(id: "` + gid.Of("Secret", "1").String() + `") { id } }`, invalid, "id"},
		{"version 0", `{ note(id: "` + notes[0] + `") { versionAt(number: 0) { id } } }`, invalid, "number"},
		{"a field that is not there", `{ viewer { password } }`, unfit, ""},
		{"no end", `{ viewer { id }`, "GRAPHQL_PARSE_FAILED", ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			a := ada.do(c.query, nil)
			a.t = t
			a.fails(c.code, c.field)
			a.tellsNothingInner()
		})
	}
	t.Run("what is only unlikely is not found", func(t *testing.T) {
		for _, query := range []string{
			`{ userByEmail(email: "no address") { id } }`, `{ viewer { tag(value: "` + strings.Repeat("long", 300) + `") { id } } }`, `{ viewer { tag(value: "\u0000") { id } } }`,
			`{ note(id: "` + gid.Of("Note", strings.Repeat("x", 700)).String() + `") { id } }`, `{ node(id: "` + gid.Of("Tag", globalKey(t, bob.id)[1], "a").String() + `") { id } }`,
		} {
			a := ada.must(query, nil)
			assert.Regexp(t, `:null`, a.data())
		}
	})
	t.Run("a cursor of another secret", func(t *testing.T) {
		prefix := "t" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
		with := func(secret string) func(*config.Config) {
			return func(c *config.Config) {
				c.TablePrefix, c.Secrets = prefix, []config.Secret{config.Secret(strings.Repeat(secret, 32))}
			}
		}
		one := newServer(t, with("a"))
		carol := one.user("carol@example.com")
		carol.notes(3)
		made := firstCursor(carol)
		carol.must(after(made), nil)
		elsewhere := newServer(t, with("b")).as("carol@example.com")
		require.Equal(t, carol.id, elsewhere.must("{ viewer { id } }", nil).str("viewer.id"), "the same user and notes")
		elsewhere.do(after(made), nil).fails(invalid, "after")
	})
}

// firstCursor returns the cursor of the client's first note.
func firstCursor(c *client) string {
	return c.must(`{ viewer { notes { pageInfo { startCursor } } } }`, nil).str("viewer.notes.pageInfo.startCursor")
}

func TestBadBodiesChangeNothing(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	before := ada.state()
	const create = `{"query": "mutation { createNote(input: {title: \"%s\", content: \"c\"}) { note { id } } }"}`
	for reason, test := range map[string]struct{ body, code string }{
		"broken UTF-8":              {fmt.Sprintf(create, "a\xffb"), "BAD_REQUEST"},
		"half of a character":       {fmt.Sprintf(create, `\ud83d`), invalid},
		"the other half":            {fmt.Sprintf(create, `\ude00x`), invalid},
		"the halves the wrong way":  {fmt.Sprintf(create, `\ude00\ud83d`), invalid},
		"NUL in GraphQL":            {fmt.Sprintf(create, `\\u0000`), invalid},
		"NUL in JSON":               {fmt.Sprintf(create, `\u0000`), "GRAPHQL_PARSE_FAILED"},
		"no JSON":                   {`query`, "BAD_REQUEST"},
		"a list":                    {`[` + fmt.Sprintf(create, "x") + `]`, "BAD_REQUEST"},
		"something after the value": {fmt.Sprintf(create, "x") + `{}`, "BAD_REQUEST"},
		"nothing":                   {``, "BAD_REQUEST"},
		"variables of another kind": {`{"query": "{ viewer { id } }", "variables": [1]}`, "BAD_REQUEST"},
		"more than 3 MB":            {fmt.Sprintf(create, strings.Repeat("x", 3<<20)), "BAD_REQUEST"},
	} {
		t.Run(reason, func(t *testing.T) {
			a := ada.send([]byte(test.body))
			a.t = t
			require.Len(t, a.Errors, 1, "%s", a.body)
			assert.Equal(t, test.code, a.Errors[0].Extensions.Code, "%s", a.body)
			a.tellsNothingInner()
			assert.True(t, before == ada.state(), "nothing has changed")
		})
	}
}
