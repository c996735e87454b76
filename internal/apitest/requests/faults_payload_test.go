package requests

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
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
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	bob := s.User("bob@example.com")
	one, two := r.Set("Thing", "one", apitest.Vars{}), r.Set("Thing", "two", apitest.Vars{})
	l := s.Labelled(2, 0)
	noteID := r.Notes(1)[0]
	member := apitest.Vars{"scopeId": r.Scope, "userId": bob.ID}
	for _, test := range []struct {
		mutation, fields string
		by               *apitest.Client
		input            apitest.Vars
		unread           []string // by their aliases
		rest             map[string]any
	}{
		{"addEntityRelations", "again: entity { key } entity { id } problem { __typename }", r.Client, apitest.Vars{"entityId": one, "predicate": "likes", "objects": apitest.Objects(two)}, []string{"again", "entity"}, nil},
		{"replaceEntityRelations", "entity { key }", r.Client, apitest.Vars{"entityId": one, "predicate": "likes", "objects": apitest.Objects(two, one)}, []string{"entity"}, nil},
		{"removeEntityRelations", "entity { key }", r.Client, apitest.Vars{"entityId": one, "predicate": "likes", "objectIds": []string{two}}, []string{"entity"}, nil},
		{"removeEntityRelations", "__typename", r.Client, apitest.Vars{"entityId": one, "predicate": "likes", "objectIds": []string{one}}, nil, map[string]any{"__typename": "RemoveEntityRelationsPayload"}},
		{"putScopeMember", "scope { name } memberEdge { role }", r.Client, apitest.Vars{"scopeId": r.Scope, "userId": bob.ID, "role": "READER"}, []string{"scope"}, map[string]any{"memberEdge": map[string]any{"role": "READER"}}},
		{"removeScopeMember", "scope { name } user { name }", r.Client, member, []string{"scope", "user"}, nil},
		{"setEntity", "entity { key scope { name } }", r.Client, apitest.Vars{"scopeId": r.Scope, "type": "Thing", "key": "new", "attributes": apitest.Vars{}}, []string{"entity scope"}, map[string]any{"entity": map[string]any{"key": "new", "scope": nil}}},
		{"removeProjectMember", "project { name } user { name }", l.Client, apitest.Vars{"projectId": l.ID, "userId": l.Labellers[0].ID}, []string{"project", "user"}, nil},
		{"shareNote", "note { title } accessEdge { permission }", r.Client, apitest.Vars{"noteId": noteID, "userId": bob.ID, "permission": "VIEW"}, []string{"note"}, map[string]any{"accessEdge": map[string]any{"permission": "VIEW"}}},
		{"unshareNote", "note { title } user { name }", r.Client, apitest.Vars{"noteId": noteID, "userId": bob.ID}, []string{"note", "user"}, nil},
	} {
		t.Run(test.mutation+" "+test.fields, func(t *testing.T) {
			rule := s.Faults.Fail(400, "AccessDeniedException", faultinject.Always, afterWrite()) // at once: it is not tried again
			a := test.by.Mutate(test.mutation, test.fields, test.input)
			rule.Stop()
			var unread []string
			for _, e := range a.Errors {
				assert.Equal(t, "INTERNAL", e.Extensions.Code)
				unread = append(unread, strings.Trim(fmt.Sprint(e.Path[1:]), "[]"))
			}
			require.ElementsMatch(t, test.unread, unread, "%s", a.Body)
			payload, there := a.At("result").(map[string]any)
			require.True(t, there, "%s", a.Body)
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
