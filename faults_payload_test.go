package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// afterWrite matches the reads of many rows that follow the first transaction.
func afterWrite() faultinject.Match {
	var wrote atomic.Bool
	return func(c *faultinject.Call) bool {
		if c.Operation == "TransactWriteItems" {
			wrote.Store(true)
		}
		return wrote.Load() && c.Operation == "BatchGetItem"
	}
}

// A change that was made is told, also when what its payload shows besides cannot be read: who is told of a fault instead makes
// it again.
func TestAChangeStandsWithoutWhatItsPayloadShowsBesides(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	bob := s.user("bob@example.com")
	one, two := r.set("Thing", "one", vars{}), r.set("Thing", "two", vars{})
	l := s.labelled(2, 0)
	noteID := r.notes(1)[0]
	member := vars{"scopeId": r.scope, "userId": bob.id}
	for _, test := range []struct {
		mutation, fields string
		by               *client
		input            vars
		unread           []string // by their aliases
		rest             map[string]any
	}{
		{"addEntityRelations", "again: entity { key } entity { id } problem { __typename }", r.client, vars{"entityId": one, "predicate": "likes", "objects": objects(two)}, []string{"again", "entity"}, nil},
		{"replaceEntityRelations", "entity { key }", r.client, vars{"entityId": one, "predicate": "likes", "objects": objects(two, one)}, []string{"entity"}, nil},
		{"removeEntityRelations", "entity { key }", r.client, vars{"entityId": one, "predicate": "likes", "objectIds": []string{two}}, []string{"entity"}, nil},
		{"removeEntityRelations", "__typename", r.client, vars{"entityId": one, "predicate": "likes", "objectIds": []string{one}}, nil, map[string]any{"__typename": "RemoveEntityRelationsPayload"}},
		{"putScopeMember", "scope { name } memberEdge { role }", r.client, vars{"scopeId": r.scope, "userId": bob.id, "role": "READER"}, []string{"scope"}, map[string]any{"memberEdge": map[string]any{"role": "READER"}}},
		{"removeScopeMember", "scope { name } user { name }", r.client, member, []string{"scope", "user"}, nil},
		{"setEntity", "entity { key scope { name } }", r.client, vars{"scopeId": r.scope, "type": "Thing", "key": "new", "attributes": vars{}}, []string{"entity scope"}, map[string]any{"entity": map[string]any{"key": "new", "scope": nil}}},
		{"removeProjectMember", "project { name } user { name }", l.client, vars{"projectId": l.id, "userId": l.labellers[0].id}, []string{"project", "user"}, nil},
		{"shareNote", "note { title } accessEdge { permission }", r.client, vars{"noteId": noteID, "userId": bob.id, "permission": "VIEW"}, []string{"note"}, map[string]any{"accessEdge": map[string]any{"permission": "VIEW"}}},
		{"unshareNote", "note { title } user { name }", r.client, vars{"noteId": noteID, "userId": bob.id}, []string{"note", "user"}, nil},
	} {
		t.Run(test.mutation+" "+test.fields, func(t *testing.T) {
			rule := s.faults.Fail(400, "AccessDeniedException", faultinject.Always, afterWrite()) // at once: it is not tried again
			a := test.by.mutate(test.mutation, test.fields, test.input)
			rule.Stop()
			var unread []string
			for _, e := range a.Errors {
				assert.Equal(t, "INTERNAL", e.Extensions.Code)
				unread = append(unread, strings.Trim(fmt.Sprint(e.Path[1:]), "[]"))
			}
			require.ElementsMatch(t, test.unread, unread, "%s", a.body)
			payload, there := a.at("result").(map[string]any)
			require.True(t, there, "%s", a.body)
			for _, name := range test.unread {
				if value, named := payload[name]; named {
					assert.Nil(t, value)
				}
			}
			for name, value := range test.rest {
				assert.Equal(t, value, payload[name])
			}
		})
	}
}
