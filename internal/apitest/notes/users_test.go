package notes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
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
	s := apitest.NewServer(t)
	ada := s.As("ada@example.com")
	assert.Nil(t, ada.Must("{ viewer { id } }", nil).At("viewer"), "nobody before")

	a := ada.Must(createUser, apitest.Vars{"name": "  Ada Lovelace ", "email": " Ada@Example.com "})
	assert.Nil(t, a.At("createUser.problem"))
	assert.Equal(t, "Ada Lovelace", a.Str("createUser.user.name"))
	assert.Equal(t, "Ada@Example.com", a.Str("createUser.user.email"), "as typed")
	assert.InDelta(t, 1, a.At("createUser.user.version"), 0)
	created, err := time.Parse(time.RFC3339, a.Str("createUser.user.createdAt"))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), created, time.Minute)
	id := a.Str("createUser.user.id")
	assert.Equal(t, id, ada.Must("{ viewer { id } }", nil).Str("viewer.id"))

	again := ada.Must(createUser, apitest.Vars{"name": "Ada", "email": "another@example.com"})
	assert.Nil(t, again.At("createUser.user"))
	assert.Equal(t, "AlreadySignedUp", again.Str("createUser.problem.__typename"))
	assert.Equal(t, id, again.Str("createUser.problem.user.id"))

	for _, taken := range []string{"ada@example.com", "ADA@EXAMPLE.COM", " aDa@example.com"} {
		a := s.As("bob@example.com").Must(createUser, apitest.Vars{"name": "Bob", "email": taken})
		assert.Nil(t, a.At("createUser.user"), taken)
		assert.Equal(t, "EmailTaken", a.Str("createUser.problem.__typename"), taken)
		assert.Equal(t, "input.email", a.Str("createUser.problem.field"))
	}
	assert.Nil(t, s.As("bob@example.com").Must("{ viewer { id } }", nil).At("viewer"), "nobody was created")
}

// Two spellings that differ in normal form only are one user, wherever an address is looked at.
func TestAddressesInAnyNormalFormAreOne(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "Jos\u00e9@example.com", "jose\u0301@example.com"
	s := apitest.NewServer(t)
	ada, jose := s.User("ada@example.com"), s.User(composed)
	assert.Equal(t, jose.ID, s.As(decomposed).Must("{ viewer { id } }", nil).Str("viewer.id"), "tokens of the embedded issuer")
	assert.Equal(t, jose.ID, jose.Must(`query($e: String!) { userByEmail(email: $e) { id } }`, apitest.Vars{"e": decomposed}).Str("userByEmail.id"))

	taken := s.As("bob@example.com").Must(createUser, apitest.Vars{"name": "Bob", "email": decomposed})
	assert.Equal(t, "EmailTaken", taken.Str("createUser.problem.__typename"))
	assert.Equal(t, "EmailTaken", ada.Must(updateUser, apitest.Vars{"input": apitest.Vars{"email": decomposed}}).Str("updateUser.problem.__typename"))
	own := jose.Must(updateUser, apitest.Vars{"input": apitest.Vars{"email": decomposed}})
	assert.Nil(t, own.At("updateUser.problem"), "one's own address in another spelling")
	assert.Equal(t, decomposed, own.Str("updateUser.user.email"), "as typed")

	for _, spelling := range []string{composed, decomposed} {
		note := ada.Mutate("createNote", "note { id }", apitest.Vars{"title": "n", "content": "c"}).Str("result.note.id")
		shared := ada.Mutate("shareNote", "accessEdge { node { id } }", apitest.Vars{"noteId": note, "email": spelling, "permission": "VIEW"})
		assert.Equal(t, jose.ID, shared.Str("result.accessEdge.node.id"))
		member := ada.Mutate("putScopeMember", "memberEdge { node { id } }", apitest.Vars{"scopeId": ada.Space("S").Scope, "email": spelling, "role": "READER"})
		assert.Equal(t, jose.ID, member.Str("result.memberEdge.node.id"))
		l := ada.Project("P")
		team := ada.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": l.ID, "name": "T", "type": "TAGGIE"}).Str("result.team.id")
		joined := ada.Mutate("putProjectMember", "member { user { id } }", apitest.Vars{"teamId": team, "email": spelling})
		assert.Equal(t, jose.ID, joined.Str("result.member.user.id"))
	}
}

func TestOneOfManySignUpsWithAnAddressWins(t *testing.T) {
	s := apitest.NewServer(t)
	const rivals = 12
	answers := make(chan *apitest.Answer, rivals)
	for i := range rivals {
		rival := s.As(fmt.Sprintf("rival%d@example.com", i))
		email := []string{"wanted@example.com", "Wanted@example.com", "WANTED@EXAMPLE.COM"}[i%3]
		go func() { answers <- rival.Do(createUser, apitest.Vars{"name": "Rival", "email": email}) }()
	}
	won := 0
	for range rivals {
		a := <-answers
		require.Empty(t, a.Errors, "%s", a.Body)
		if a.At("createUser.user") != nil {
			won++
		} else {
			assert.Equal(t, "EmailTaken", a.Str("createUser.problem.__typename"))
		}
	}
	assert.Equal(t, 1, won)
}

func TestChangingAUserMovesTheAddress(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	byEmail := func(c *apitest.Client, email string) any {
		return c.Must(`query($email: String!) { userByEmail(email: $email) { id } }`, apitest.Vars{"email": email}).At("userByEmail.id")
	}
	assert.Equal(t, ada.ID, byEmail(ada, "ADA@example.com"))

	a := ada.Must(updateUser, apitest.Vars{"input": apitest.Vars{"name": "Ada L.", "email": "lovelace@example.com", "expectedVersion": 1}})
	assert.Nil(t, a.At("updateUser.problem"))
	assert.Equal(t, "Ada L.", a.Str("updateUser.user.name"))
	assert.Equal(t, "lovelace@example.com", a.Str("updateUser.user.email"))
	assert.InDelta(t, 2, a.At("updateUser.user.version"), 0)
	assert.Equal(t, ada.ID, byEmail(ada, "Lovelace@Example.com"))
	assert.Nil(t, byEmail(ada, "ada@example.com"), "the old address leads nowhere")

	taken := bob.Must(updateUser, apitest.Vars{"input": apitest.Vars{"email": "LOVELACE@example.com"}})
	assert.Equal(t, "EmailTaken", taken.Str("updateUser.problem.__typename"))
	assert.Equal(t, "bob@example.com", bob.Must("{ viewer { email } }", nil).Str("viewer.email"))

	free := bob.Must(updateUser, apitest.Vars{"input": apitest.Vars{"email": "ada@example.com"}})
	assert.Nil(t, free.At("updateUser.problem"), "the old address is free again")
	assert.Equal(t, bob.ID, byEmail(bob, "ada@example.com"))

	spelled := bob.Must(updateUser, apitest.Vars{"input": apitest.Vars{"email": "Ada@Example.com"}})
	assert.Nil(t, spelled.At("updateUser.problem"), "one's own address in another spelling")
	assert.Equal(t, bob.ID, byEmail(bob, "ada@example.com"))
	assert.Equal(t, "Ada@Example.com", bob.Must("{ viewer { email } }", nil).Str("viewer.email"))

	stale := ada.Must(updateUser, apitest.Vars{"input": apitest.Vars{"name": "nobody", "expectedVersion": 1}})
	assert.Nil(t, stale.At("updateUser.user"))
	assert.Equal(t, "UserConflict", stale.Str("updateUser.problem.__typename"))
	assert.InDelta(t, 2, stale.At("updateUser.problem.current.version"), 0)
	assert.Equal(t, "Ada L.", stale.Str("updateUser.problem.current.name"))

	same := ada.Must(updateUser, apitest.Vars{"input": apitest.Vars{"name": "Ada L."}})
	assert.InDelta(t, 2, same.At("updateUser.user.version"), 0, "no change is no new version")
}

func TestTagsOfAUser(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	words := [][]string{{"work", "Workout"}, {"WORK", "日本語"}, {"#1", "🎉", "work"}, {"50%", "a:b"}}
	notes := ada.Notes(len(words), func(i int, input apitest.Vars) { input["tags"] = words[i] })
	values := func(a *apitest.Answer, path string) (all []string) {
		for _, node := range a.List(path) {
			all = append(all, node.(map[string]any)["value"].(string))
		}
		return all
	}
	all := values(ada.Must(`{ viewer { tags { nodes { value } } } }`, nil), "viewer.tags.nodes")
	// One tag, typed in several ways, is shown in one of them.
	assert.Equal(t, []string{"#1", "50%", "a:b", "work", "workout", "日本語", "🎉"}, lower(all))

	const prefixed = `query($p: String) { viewer { tags(prefix: $p) { nodes { value } } } }`
	assert.Equal(t, []string{"work", "workout"}, lower(values(ada.Must(prefixed, apitest.Vars{"p": "WOR"}), "viewer.tags.nodes")))
	assert.Equal(t, []string{"#1"}, values(ada.Must(prefixed, apitest.Vars{"p": "#"}), "viewer.tags.nodes"))
	assert.Empty(t, values(ada.Must(prefixed, apitest.Vars{"p": "x"}), "viewer.tags.nodes"))

	const page = `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { viewer { tags(first: $first, after: $after, last: $last, before: $before) {
		nodes { value } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	assert.Equal(t, lower(all), lower(pages(ada, page, "viewer.tags", "value", false)))
	assert.Equal(t, lower(all), lower(pages(ada, page, "viewer.tags", "value", true)))

	const tagged = `query($v: String!) { viewer { tag(value: $v) { id value author { id } notes { nodes { id } pageInfo { hasNextPage } } } } }`
	tag := ada.Must(tagged, apitest.Vars{"v": " ｗork "})
	assert.Len(t, tag.List("viewer.tag.notes.nodes"), 3, "in any spelling, and without workout")
	assert.Equal(t, ada.ID, tag.Str("viewer.tag.author.id"))
	byID := ada.Must(`query($id: ID!) { node(id: $id) { ... on Tag { value } } }`, apitest.Vars{"id": tag.Str("viewer.tag.id")})
	assert.Contains(t, []string{"work", "WORK"}, byID.Str("node.value"))
	for _, v := range []string{"#1", "🎉", "日本語", "50%", "A:B"} {
		assert.Len(t, ada.Must(tagged, apitest.Vars{"v": v}).List("viewer.tag.notes.nodes"), 1, v)
	}
	assert.Nil(t, ada.Must(tagged, apitest.Vars{"v": "none"}).At("viewer.tag"))

	ada.Must(`mutation($id: ID!) { removeNoteTags(input: {noteId: $id, tags: ["WORKOUT", "never there"]}) { note { tags { value } } } }`, apitest.Vars{"id": notes[0]})
	assert.Nil(t, ada.Must(tagged, apitest.Vars{"v": "workout"}).At("viewer.tag"), "a tag is there as long as a note carries it")
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
func pages(c *apitest.Client, query, path, field string, backward bool) []string {
	c.T.Helper()
	size, from, more, other, cursor := "first", "after", "hasNextPage", "hasPreviousPage", "endCursor"
	if backward {
		size, from, more, other, cursor = "last", "before", "hasPreviousPage", "hasNextPage", "startCursor"
	}
	var all []string
	v := apitest.Vars{size: 2}
	for {
		a := c.Must(query, v)
		var page []string
		for _, node := range a.List(path + ".nodes") {
			page = append(page, node.(map[string]any)[field].(string))
		}
		assert.Equal(c.T, len(all) > 0, a.At(path+".pageInfo."+other))
		if backward {
			all = append(page, all...)
		} else {
			all = append(all, page...)
		}
		if a.At(path+".pageInfo."+more) == false {
			assert.LessOrEqual(c.T, len(page), 2)
			assert.Positive(c.T, len(page))
			return all
		}
		require.Len(c.T, page, 2, "pages are full")
		v[from] = a.Str(path + ".pageInfo." + cursor)
	}
}
