package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/task"
)

// passes does the work of entities that is due within d, as if that time had passed: it has a clock of its own, and DynamoDB
// for itself, so that neither faults nor counts of the server see it. Not within during: the server works on tasks then.
func (s *testServer) passes(d time.Duration) {
	s.t.Helper()
	now := func() time.Time { return time.Now().Add(d) }
	client, err := awsclient.DynamoDB(s.t.Context(), embeddedClient(embeddedtest.DynamoDB(s.t)))
	require.NoError(s.t, err)
	db := dynamo.New(dynamo.Options{Client: client, TablePrefix: s.prefix, Now: now})
	handlers := entity.NewService(entity.Options{Store: dynamo.Entities{DB: db}, Now: now, NewID: uuid.NewString}).Handlers()
	tasks := dynamo.Tasks{DB: db}
	for worked := true; worked; {
		worked = false
		due, err := tasks.ListDueTasks(s.t.Context(), now(), 100)
		require.NoError(s.t, err)
		for _, one := range due {
			handle := handlers[one.Kind]
			if handle == nil {
				continue
			}
			claimed, ok, err := tasks.ClaimTask(s.t.Context(), one, uuid.NewString(), now().Add(task.Lease))
			require.NoError(s.t, err)
			require.True(s.t, ok, "nobody else works on it")
			again, err := handle(s.t.Context(), claimed)
			require.NoError(s.t, err)
			require.NoError(s.t, tasks.FinishTask(s.t.Context(), claimed, again))
			worked = true
		}
	}
}

// space is a scope and one of its members.
type space struct {
	*client
	scope string // the global id
}

// space creates a scope, of which the client is the owner.
func (c *client) space(name string) space {
	c.t.Helper()
	a := c.must(`mutation($n: String!) { createScope(input: {name: $n}) { scope { id } } }`, vars{"n": name})
	return space{c, a.str("createScope.scope.id")}
}

// member adds a user to the scope and returns the scope as that user's.
func (r space) member(user *client, role string) space {
	r.t.Helper()
	a := r.mutate("putScopeMember", "memberEdge { role } problem { __typename }", vars{"scopeId": r.scope, "userId": user.id, "role": role})
	require.Equal(r.t, role, a.str("result.memberEdge.role"))
	return space{user, r.scope}
}

// entity is all that a client may see of an entity itself.
const entityFields = `id type key attributes version createdAt updatedAt indexEntries { index key }`

// set creates or replaces an entity and returns its id.
func (r space) set(typ, key string, attributes vars, relations ...vars) string {
	r.t.Helper()
	input := vars{"scopeId": r.scope, "type": typ, "key": key, "attributes": attributes}
	if relations != nil {
		input["relations"] = relations
	}
	a := r.mutate("setEntity", "entity { id } problem { __typename ... on Problem { message } }", input)
	require.Empty(r.t, a.Errors, "%s", a.body)
	return a.str("result.entity.id")
}

// under is the relations under a predicate.
func under(predicate string, ids ...string) vars {
	return vars{"predicate": predicate, "objects": objects(ids...)}
}

// objects are objects of relations.
func objects(ids ...string) []vars {
	list := make([]vars, len(ids))
	for i, id := range ids {
		list[i] = vars{"entityId": id}
	}
	return list
}

// declare declares an index, which is ready when it returns.
func (r space) declare(name, typ, kind string, path ...string) {
	r.t.Helper()
	a := r.mutate("declareEntityIndex", "scope { id }", vars{"scopeId": r.scope, "name": name, "type": typ, "kind": kind, "path": path})
	require.Empty(r.t, a.Errors, "%s", a.body)
	r.passes(entity.Settle)
}

// related returns the keys at the other ends of relations, each with its predicate: "likes:bob likes:carol".
func (c *client) related(id, field, arguments string) string {
	c.t.Helper()
	a := c.must(fmt.Sprintf(`query($e: ID!) { entity(id: $e) { list: %s%s { edges { predicate node { key } } } } }`, field, arguments), vars{"e": id})
	return a.edges("entity.list.edges")
}

// edges spells edges of relations.
func (a *answer) edges(path string) string {
	a.t.Helper()
	var words []string
	for _, edge := range a.list(path) {
		e := &answer{t: a.t, body: a.body, Data: edge.(map[string]any)}
		words = append(words, e.str("predicate")+":"+e.str("node.key"))
	}
	return strings.Join(words, " ")
}

// gidOf makes the global id of a thing that need not exist.
func gidOf(typ string, key ...string) string { return gid.Of(typ, key...).String() }

// scopeKey returns the id of a scope by which global ids of its entities are made.
func scopeKey(t *testing.T, id string) string {
	t.Helper()
	return globalKey(t, id)[1]
}
