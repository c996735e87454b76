package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const createUser = `mutation($name: String!, $email: String!) { createUser(input: {name: $name, email: $email}) {
	user { id name email version createdAt updatedAt }
	problem { __typename ... on Problem { message } ... on EmailTaken { field } ... on AlreadySignedUp { user { id } } }
} }`

const updateUser = `mutation($input: UpdateUserInput!) { updateUser(input: $input) {
	user { id name email version createdAt updatedAt }
	problem { __typename ... on Problem { message } ... on EmailTaken { field } ... on UserConflict { current { version name } } }
} }`

func TestSigningUp(t *testing.T) {
	s := newServer(t)
	ada := s.as("ada@example.com")
	assert.Nil(t, ada.must("{ viewer { id } }", nil).at("viewer"), "nobody before")

	a := ada.must(createUser, vars{"name": "  Ada Lovelace ", "email": " Ada@Example.com "})
	assert.Nil(t, a.at("createUser.problem"))
	assert.Equal(t, "Ada Lovelace", a.str("createUser.user.name"))
	assert.Equal(t, "Ada@Example.com", a.str("createUser.user.email"), "as typed")
	assert.InDelta(t, 1, a.at("createUser.user.version"), 0)
	created, err := time.Parse(time.RFC3339, a.str("createUser.user.createdAt"))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), created, time.Minute)
	id := a.str("createUser.user.id")
	assert.Equal(t, id, ada.must("{ viewer { id } }", nil).str("viewer.id"))

	again := ada.must(createUser, vars{"name": "Ada", "email": "another@example.com"})
	assert.Nil(t, again.at("createUser.user"))
	assert.Equal(t, "AlreadySignedUp", again.str("createUser.problem.__typename"))
	assert.Equal(t, id, again.str("createUser.problem.user.id"))

	for _, taken := range []string{"ada@example.com", "ADA@EXAMPLE.COM", " aDa@example.com"} {
		a := s.as("bob@example.com").must(createUser, vars{"name": "Bob", "email": taken})
		assert.Nil(t, a.at("createUser.user"), taken)
		assert.Equal(t, "EmailTaken", a.str("createUser.problem.__typename"), taken)
		assert.Equal(t, "input.email", a.str("createUser.problem.field"))
	}
	assert.Nil(t, s.as("bob@example.com").must("{ viewer { id } }", nil).at("viewer"), "nobody was created")
}

// Two spellings that differ in normal form only are one user, wherever an address is looked at.
func TestAddressesInAnyNormalFormAreOne(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "Jos\u00e9@example.com", "jose\u0301@example.com"
	s := newServer(t)
	ada, jose := s.user("ada@example.com"), s.user(composed)
	assert.Equal(t, jose.id, s.as(decomposed).must("{ viewer { id } }", nil).str("viewer.id"), "tokens of the embedded issuer")
	assert.Equal(t, jose.id, jose.must(`query($e: String!) { userByEmail(email: $e) { id } }`, vars{"e": decomposed}).str("userByEmail.id"))

	taken := s.as("bob@example.com").must(createUser, vars{"name": "Bob", "email": decomposed})
	assert.Equal(t, "EmailTaken", taken.str("createUser.problem.__typename"))
	assert.Equal(t, "EmailTaken", ada.must(updateUser, vars{"input": vars{"email": decomposed}}).str("updateUser.problem.__typename"))
	own := jose.must(updateUser, vars{"input": vars{"email": decomposed}})
	assert.Nil(t, own.at("updateUser.problem"), "one's own address in another spelling")
	assert.Equal(t, decomposed, own.str("updateUser.user.email"), "as typed")

	for _, spelling := range []string{composed, decomposed} {
		note := ada.mutate("createNote", "note { id }", vars{"title": "n", "content": "c"}).str("result.note.id")
		shared := ada.mutate("shareNote", "accessEdge { node { id } }", vars{"noteId": note, "email": spelling, "permission": "VIEW"})
		assert.Equal(t, jose.id, shared.str("result.accessEdge.node.id"))
		member := ada.mutate("putScopeMember", "memberEdge { node { id } }", vars{"scopeId": ada.space("S").scope, "email": spelling, "role": "READER"})
		assert.Equal(t, jose.id, member.str("result.memberEdge.node.id"))
		l := ada.project("P")
		team := ada.mutate("createTeam", "team { id }", vars{"projectId": l.id, "name": "T", "type": "TAGGIE"}).str("result.team.id")
		joined := ada.mutate("putProjectMember", "member { user { id } }", vars{"teamId": team, "email": spelling})
		assert.Equal(t, jose.id, joined.str("result.member.user.id"))
	}
}

func TestOneOfManySignUpsWithAnAddressWins(t *testing.T) {
	s := newServer(t)
	const rivals = 12
	answers := make(chan *answer, rivals)
	for i := range rivals {
		rival := s.as(fmt.Sprintf("rival%d@example.com", i))
		email := []string{"wanted@example.com", "Wanted@example.com", "WANTED@EXAMPLE.COM"}[i%3]
		go func() { answers <- rival.do(createUser, vars{"name": "Rival", "email": email}) }()
	}
	won := 0
	for range rivals {
		a := <-answers
		require.Empty(t, a.Errors, "%s", a.body)
		if a.at("createUser.user") != nil {
			won++
		} else {
			assert.Equal(t, "EmailTaken", a.str("createUser.problem.__typename"))
		}
	}
	assert.Equal(t, 1, won)
}

func TestChangingAUserMovesTheAddress(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	byEmail := func(c *client, email string) any {
		return c.must(`query($email: String!) { userByEmail(email: $email) { id } }`, vars{"email": email}).at("userByEmail.id")
	}
	assert.Equal(t, ada.id, byEmail(ada, "ADA@example.com"))

	a := ada.must(updateUser, vars{"input": vars{"name": "Ada L.", "email": "lovelace@example.com", "expectedVersion": 1}})
	assert.Nil(t, a.at("updateUser.problem"))
	assert.Equal(t, "Ada L.", a.str("updateUser.user.name"))
	assert.Equal(t, "lovelace@example.com", a.str("updateUser.user.email"))
	assert.InDelta(t, 2, a.at("updateUser.user.version"), 0)
	assert.Equal(t, ada.id, byEmail(ada, "Lovelace@Example.com"))
	assert.Nil(t, byEmail(ada, "ada@example.com"), "the old address leads nowhere")

	taken := bob.must(updateUser, vars{"input": vars{"email": "LOVELACE@example.com"}})
	assert.Equal(t, "EmailTaken", taken.str("updateUser.problem.__typename"))
	assert.Equal(t, "bob@example.com", bob.must("{ viewer { email } }", nil).str("viewer.email"))

	free := bob.must(updateUser, vars{"input": vars{"email": "ada@example.com"}})
	assert.Nil(t, free.at("updateUser.problem"), "the old address is free again")
	assert.Equal(t, bob.id, byEmail(bob, "ada@example.com"))

	spelled := bob.must(updateUser, vars{"input": vars{"email": "Ada@Example.com"}})
	assert.Nil(t, spelled.at("updateUser.problem"), "one's own address in another spelling")
	assert.Equal(t, bob.id, byEmail(bob, "ada@example.com"))
	assert.Equal(t, "Ada@Example.com", bob.must("{ viewer { email } }", nil).str("viewer.email"))

	stale := ada.must(updateUser, vars{"input": vars{"name": "nobody", "expectedVersion": 1}})
	assert.Nil(t, stale.at("updateUser.user"))
	assert.Equal(t, "UserConflict", stale.str("updateUser.problem.__typename"))
	assert.InDelta(t, 2, stale.at("updateUser.problem.current.version"), 0)
	assert.Equal(t, "Ada L.", stale.str("updateUser.problem.current.name"))

	same := ada.must(updateUser, vars{"input": vars{"name": "Ada L."}})
	assert.InDelta(t, 2, same.at("updateUser.user.version"), 0, "no change is no new version")
}

func TestTagsOfAUser(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	words := [][]string{{"work", "Workout"}, {"WORK", "日本語"}, {"#1", "🎉", "work"}, {"50%", "a:b"}}
	notes := ada.notes(len(words), func(i int, input vars) { input["tags"] = words[i] })
	values := func(a *answer, path string) (all []string) {
		for _, node := range a.list(path) {
			all = append(all, node.(map[string]any)["value"].(string))
		}
		return all
	}
	all := values(ada.must(`{ viewer { tags { nodes { value } } } }`, nil), "viewer.tags.nodes")
	// One tag, typed in several ways, is shown in one of them.
	assert.Equal(t, []string{"#1", "50%", "a:b", "work", "workout", "日本語", "🎉"}, lower(all))

	const prefixed = `query($p: String) { viewer { tags(prefix: $p) { nodes { value } } } }`
	assert.Equal(t, []string{"work", "workout"}, lower(values(ada.must(prefixed, vars{"p": "WOR"}), "viewer.tags.nodes")))
	assert.Equal(t, []string{"#1"}, values(ada.must(prefixed, vars{"p": "#"}), "viewer.tags.nodes"))
	assert.Empty(t, values(ada.must(prefixed, vars{"p": "x"}), "viewer.tags.nodes"))

	const page = `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { viewer { tags(first: $first, after: $after, last: $last, before: $before) {
		nodes { value } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	assert.Equal(t, lower(all), lower(pages(ada, page, "viewer.tags", "value", false)))
	assert.Equal(t, lower(all), lower(pages(ada, page, "viewer.tags", "value", true)))

	const tagged = `query($v: String!) { viewer { tag(value: $v) { id value author { id } notes { nodes { id } pageInfo { hasNextPage } } } } }`
	tag := ada.must(tagged, vars{"v": " ｗork "})
	assert.Len(t, tag.list("viewer.tag.notes.nodes"), 3, "in any spelling, and without workout")
	assert.Equal(t, ada.id, tag.str("viewer.tag.author.id"))
	byID := ada.must(`query($id: ID!) { node(id: $id) { ... on Tag { value } } }`, vars{"id": tag.str("viewer.tag.id")})
	assert.Contains(t, []string{"work", "WORK"}, byID.str("node.value"))
	for _, v := range []string{"#1", "🎉", "日本語", "50%", "A:B"} {
		assert.Len(t, ada.must(tagged, vars{"v": v}).list("viewer.tag.notes.nodes"), 1, v)
	}
	assert.Nil(t, ada.must(tagged, vars{"v": "none"}).at("viewer.tag"))

	ada.must(`mutation($id: ID!) { removeNoteTags(input: {noteId: $id, tags: ["WORKOUT", "never there"]}) { note { tags { value } } } }`, vars{"id": notes[0]})
	assert.Nil(t, ada.must(tagged, vars{"v": "workout"}).at("viewer.tag"), "a tag is there as long as a note carries it")
}

func lower(all []string) []string {
	small := make([]string, len(all))
	for i, s := range all {
		small[i] = strings.ToLower(s)
	}
	return small
}

// pages reads a list two by two, forward or backward, and returns one field of its nodes in the order of the list. It checks
// that each page is full and says exactly what lies around it.
func pages(c *client, query, path, field string, backward bool) []string {
	c.t.Helper()
	size, from, more, other, cursor := "first", "after", "hasNextPage", "hasPreviousPage", "endCursor"
	if backward {
		size, from, more, other, cursor = "last", "before", "hasPreviousPage", "hasNextPage", "startCursor"
	}
	var all []string
	v := vars{size: 2}
	for {
		a := c.must(query, v)
		var page []string
		for _, node := range a.list(path + ".nodes") {
			page = append(page, node.(map[string]any)[field].(string))
		}
		assert.Equal(c.t, len(all) > 0, a.at(path+".pageInfo."+other))
		if backward {
			all = append(page, all...)
		} else {
			all = append(all, page...)
		}
		if a.at(path+".pageInfo."+more) == false {
			assert.LessOrEqual(c.t, len(page), 2)
			assert.Positive(c.t, len(page))
			return all
		}
		require.Len(c.t, page, 2, "pages are full")
		v[from] = a.str(path + ".pageInfo." + cursor)
	}
}
