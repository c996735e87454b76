package apitest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/task"
)

// Passes does the work of entities that is due within d, as if that time had passed: it has a clock of its own, and DynamoDB
// for itself, so that neither faults nor counts of the server see it. Not within during: the server works on tasks then.
func (s *Server) Passes(d time.Duration) {
	s.T.Helper()
	now := func() time.Time { return time.Now().Add(d) }
	client, err := awsclient.DynamoDB(s.T.Context(), app.EmbeddedClient(embeddedtest.DynamoDB(s.T)))
	require.NoError(s.T, err)
	db := dynamo.New(dynamo.Options{Client: client, TablePrefix: s.Prefix, Now: now})
	handlers := entity.NewService(entity.Options{Store: entities.Store{DB: db}, Now: now, NewID: uuid.NewString}).Handlers()
	tasks := dynamo.Tasks{DB: db}
	for worked := true; worked; {
		worked = false
		due, err := tasks.ListDueTasks(s.T.Context(), now(), 100)
		require.NoError(s.T, err)
		for _, one := range due {
			handle := handlers[one.Kind]
			if handle == nil {
				continue
			}
			claimed, ok, err := tasks.ClaimTask(s.T.Context(), one, uuid.NewString(), now().Add(task.Lease))
			require.NoError(s.T, err)
			require.True(s.T, ok, "nobody else works on it")
			again, err := handle(s.T.Context(), claimed)
			require.NoError(s.T, err)
			require.NoError(s.T, tasks.FinishTask(s.T.Context(), claimed, again))
			worked = true
		}
	}
}

// Space is a scope and one of its members.
type Space struct {
	*Client
	Scope string // the global id
}

// Space creates a scope, of which the client is the owner.
func (c *Client) Space(name string) Space {
	c.T.Helper()
	a := c.Must(`mutation($n: String!) { createScope(input: {name: $n}) { scope { id } } }`, Vars{"n": name})
	return Space{c, a.Str("createScope.scope.id")}
}

// Member adds a user to the scope and returns the scope as that user's.
func (r Space) Member(user *Client, role string) Space {
	r.T.Helper()
	a := r.Mutate("putScopeMember", "memberEdge { role } problem { __typename }", Vars{"scopeId": r.Scope, "userId": user.ID, "role": role})
	require.Equal(r.T, role, a.Str("result.memberEdge.role"))
	return Space{user, r.Scope}
}

// EntityFields are all that a client may see of an entity itself.
const EntityFields = `id type key attributes version createdAt updatedAt indexEntries { index key }`

// Set creates or replaces an entity and returns its id.
func (r Space) Set(typ, key string, attributes Vars, relations ...Vars) string {
	r.T.Helper()
	input := Vars{"scopeId": r.Scope, "type": typ, "key": key, "attributes": attributes}
	if relations != nil {
		input["relations"] = relations
	}
	a := r.Mutate("setEntity", "entity { id } problem { __typename ... on Problem { message } }", input)
	require.Empty(r.T, a.Errors, "%s", a.Body)
	return a.Str("result.entity.id")
}

// Under is the relations under a predicate.
func Under(predicate string, ids ...string) Vars {
	return Vars{"predicate": predicate, "objects": Objects(ids...)}
}

// Objects are objects of relations.
func Objects(ids ...string) []Vars {
	list := make([]Vars, len(ids))
	for i, id := range ids {
		list[i] = Vars{"entityId": id}
	}
	return list
}

// Declare declares an index, which is ready when it returns.
func (r Space) Declare(name, typ, kind string, path ...string) {
	r.T.Helper()
	a := r.Mutate("declareEntityIndex", "scope { id }", Vars{"scopeId": r.Scope, "name": name, "type": typ, "kind": kind, "path": path})
	require.Empty(r.T, a.Errors, "%s", a.Body)
	r.Passes(entity.Settle)
}

// Related returns the keys at the other ends of relations, each with its predicate: "likes:bob likes:carol".
func (c *Client) Related(id, field, arguments string) string {
	c.T.Helper()
	a := c.Must(fmt.Sprintf(`query($e: ID!) { entity(id: $e) { list: %s%s { edges { predicate node { key } } } } }`, field, arguments), Vars{"e": id})
	return a.Edges("entity.list.edges")
}

// Edges spells edges of relations.
func (a *Answer) Edges(path string) string {
	a.T.Helper()
	var words []string
	for _, edge := range a.List(path) {
		e := &Answer{T: a.T, Body: a.Body, Data: edge.(map[string]any)}
		words = append(words, e.Str("predicate")+":"+e.Str("node.key"))
	}
	return strings.Join(words, " ")
}

// GIDOf makes the global id of a thing that need not exist.
func GIDOf(typ string, key ...string) string { return gid.Of(typ, key...).String() }

// ScopeKey returns the id of a scope by which global ids of its entities are made.
func ScopeKey(t *testing.T, id string) string {
	t.Helper()
	return GlobalKey(t, id)[1]
}

// AnEntity reads an entity in four ways, which must agree; nil when there is none.
func (r Space) AnEntity(id, typ, key string) *Answer {
	r.T.Helper()
	a := r.Must(`query($s: ID!, $e: ID!, $t: String!, $k: String!) { entity(id: $e) { ...all } node(id: $e) { ...all } nodes(ids: [$e]) { ...all }
		scope(id: $s) { entity(type: $t, key: $k) { ...all } } } fragment all on Entity { `+EntityFields+` scope { id name } }`,
		Vars{"s": r.Scope, "e": id, "t": typ, "k": key})
	assert.Equal(r.T, a.At("entity"), a.At("node"))
	assert.Equal(r.T, a.At("entity"), a.List("nodes")[0])
	assert.Equal(r.T, a.At("entity"), a.At("scope.entity"))
	e, ok := a.At("entity").(map[string]any)
	if !ok {
		return nil
	}
	return &Answer{T: r.T, Body: a.Body, Data: e}
}

// Paged reads a list forward and backward, two at a time, and returns its edges, spelled by the given function, in order.
func (c *Client) Paged(query, path string, v Vars, spell func(*Answer) string) []string {
	c.T.Helper()
	read := func(size, to, info string) (all []string) {
		cursor := any(nil)
		for range 50 {
			merged := Vars{"cursor": cursor}
			for name, value := range v {
				merged[name] = value
			}
			a := c.Must(strings.ReplaceAll(strings.ReplaceAll(query, "SIZE", size), "TO", to), merged)
			var one []string
			for _, edge := range a.List(path + ".edges") {
				one = append(one, spell(&Answer{T: c.T, Body: a.Body, Data: edge.(map[string]any)}))
			}
			assert.LessOrEqual(c.T, len(one), 2)
			if size == "first" {
				all, cursor = append(all, one...), a.At(path+".pageInfo.endCursor")
			} else {
				all, cursor = append(one, all...), a.At(path+".pageInfo.startCursor")
			}
			if a.At(path+".pageInfo."+info) == false {
				return all
			}
		}
		require.Fail(c.T, "the list has no end")
		return nil
	}
	there := read("first", "after", "hasNextPage")
	assert.Equal(c.T, there, read("last", "before", "hasPreviousPage"), "backward as forward")
	return there
}

// ScopesState is everything that the user can see in the scopes of which he or she is a member.
func (c *Client) ScopesState() string {
	c.T.Helper()
	return c.Must(`{ viewer { scopes { nodes { ...scope } } deletedScopes(first: 100) { nodes { scopeId name state undoUntil } } } }`+scopeFields, nil).Raw()
}

const scopeFields = ` fragment scope on Scope { id name version updatedAt viewerRole indexes { name type path kind ready progress declaredAt }
	members { edges { role addedAt node { id } } } things: entities(type: "Thing", first: 10) { nodes { ` + EntityFields + `
	relations(first: 10) { edges { predicate index attributes node { key } } } reverseRelations(first: 10) { edges { predicate index attributes node { key } } } } } }`
