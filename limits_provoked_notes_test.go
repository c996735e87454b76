package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/keys"
)

// mutated is a provocation by one mutation whose input is made of the declared number.
func mutated(name string, input func(p *provoker) vars) provocation {
	return asked(func(p *provoker) *answer { return p.mutate(name, "__typename", input(p)) })
}

// profile is the row that counts what a user creates.
func (p *provoker) profile() map[string]string {
	p.t.Helper()
	return map[string]string{"PK": keys.UserPK(globalKey(p.t, p.id)[1]), "SK": keys.ProfileSK}
}

// noteWith is the input of a new note, with what is different.
func noteWith(change vars) vars { return changed(vars{"title": "t", "content": "c"}, change) }

// wide is an object of so many bytes as JSON.
func wide(bytes int) vars { return vars{"x": strings.Repeat("x", bytes-len(`{"x":""}`))} }

// setting is a provocation by the attributes of an entity.
func setting(attributes func(most int) vars) provocation {
	return mutated("setEntity", func(p *provoker) vars {
		return vars{"scopeId": p.space("S").scope, "type": "t", "key": "k", "attributes": attributes(p.most())}
	})
}

// leftOut sets an entity and tells how many values the index leaves out.
func leftOut(p *provoker, value any) float64 {
	r := p.elsewhere().space("S")
	r.declare("i", "T", "STRING", "x")
	r.set("T", "one", vars{"x": value})
	a := r.must(`query($s: ID!) { scope(id: $s) { indexes { leftOut { values } } } }`, vars{"s": r.scope})
	return a.list("scope.indexes")[0].(map[string]any)["leftOut"].(map[string]any)["values"].(float64)
}

// provokedNotes are the provocations of limits of users, notes, tags and entities.
func provokedNotes() map[string]map[string]provocation {
	return map[string]map[string]provocation{
		"internal/user": {
			"Characters of a name, at least 1, a user": mutated("updateUser", func(p *provoker) vars { return vars{"name": p.long()} }),
			"Size of an e-mail address, a user":        mutated("updateUser", func(p *provoker) vars { return vars{"email": p.long() + "@example.com"} }),
			"E-mail addresses that are tried at once, a user": unnumbered(asked(func(p *provoker) *answer {
				id := p.notes(1)[0]
				for range 10 * p.most() { // some more are allowed as time goes by
					a := p.mutate("shareNote", "note { id }", vars{"noteId": id, "email": "nobody@example.com", "permission": "VIEW"})
					if len(a.Errors) > 0 {
						return a
					}
				}
				return p.must(`{ viewer { id } }`, nil)
			})),
		},
		"internal/note": {
			"Characters of a title, at least 1, a note":  mutated("createNote", func(p *provoker) vars { return noteWith(vars{"title": p.long()}) }),
			"Size of a content, at least 1 byte, a note": mutated("createNote", func(p *provoker) vars { return noteWith(vars{"content": p.long()}) }),
			"Tags, a note to which some are added; `createNote` says `INVALID_INPUT`": asked(func(p *provoker) *answer {
				id := p.notes(1, func(_ int, input vars) { input["tags"] = numbered("tag", p.most()) })[0]
				return p.mutate("addNoteTags", "problem { __typename }", vars{"noteId": id, "tags": []string{"one more"}})
			}),
			"Changes, those of title and content included, a note": asked(func(p *provoker) *answer {
				id := p.notes(1)[0]
				of := globalKey(p.t, id)[1]
				p.counts("notes", map[string]string{"PK": keys.UserPK(globalKey(p.t, p.id)[1]), "SK": keys.NoteSK(time.Time{}, of)}, "version", p.most())
				return p.mutate("updateNote", "note { id }", vars{"noteId": id, "title": "one more"})
			}),
			"Notes, with those that were deleted within 30 days, a user": asked(func(p *provoker) *answer {
				p.allowed("notes", 3)
				return p.until(3, func(int) *answer { return p.mutate("createNote", "note { id }", noteWith(nil)) })
			}),
			"Shares of notes, a user": asked(func(p *provoker) *answer {
				p.allowed("shares", 2)
				id := p.notes(1)[0]
				return p.until(2, func(n int) *answer {
					return p.mutate("shareNote", "note { id }", vars{"noteId": id, "userId": p.user(fmt.Sprintf("friend%d@example.com", n)).id, "permission": "VIEW"})
				})
			}),
			"Time to undo a deletion, a note": testedIn("internal/storetest", "testUndoEndsAfter30Days", "fault.NotFound"),
		},
		"internal/tag": {"Size, a tag, in which `#`, `:` and `%` count three each": mutated("createNote", func(p *provoker) vars { return noteWith(vars{"tags": []string{p.long()}}) })},
		"internal/entity": {
			"Scopes that one creates, a user": asked(func(p *provoker) *answer {
				p.counts("notes", p.profile(), "scopes", p.most())
				return p.mutate("createScope", "scope { id }", vars{"name": "S"})
			}),
			"Characters of the name, a scope": mutated("createScope", func(p *provoker) vars { return vars{"name": p.long()} }),
			"Members, a scope": asked(func(p *provoker) *answer {
				r := p.space("S")
				id := globalKey(p.t, r.scope)[1]
				p.counts("entities_master", map[string]string{"_id": id, "_scope_type_key": keys.ShardedScopeTypeKey("taggie", "Scope", keys.Shard(id))}, "_meta.members", p.most())
				return p.mutate("putScopeMember", "memberEdge { role } problem { __typename }", vars{"scopeId": r.scope, "userId": p.user(fmt.Sprintf("%x@example.com", id)).id, "role": "READER"})
			}),
			"Entities, a scope": asked(func(p *provoker) *answer {
				r := p.allowed("entities", 3).space("S")
				return p.until(3, func(n int) *answer {
					return p.mutate("setEntity", "entity { id }", vars{"scopeId": r.scope, "type": "t", "key": fmt.Sprint(n), "attributes": vars{}})
				})
			}),
			"Relations, a scope": asked(func(p *provoker) *answer {
				of := p.allowed("relations", 3).space("S").set("t", "of", vars{})
				return p.until(3, func(n int) *answer {
					return p.mutate("addEntityRelations", "entity { id }", vars{"entityId": of, "predicate": fmt.Sprint("p", n), "objects": objects(of)})
				})
			}),
			"Relations, an entity and predicate": testedIn("dynamo", "TestMostRelations", "fault.Exhausted"),
			"Objects of relations, a mutation": mutated("addEntityRelations", func(p *provoker) vars {
				of := p.space("S").set("t", "of", vars{})
				return vars{"entityId": of, "predicate": "p", "objects": objects(many(of, p.most()+1)...)}
			}),
			"Size of a name, a type, a predicate or an index": mutated("setEntity", func(p *provoker) vars {
				return vars{"scopeId": p.space("S").scope, "type": p.long(), "key": "k", "attributes": vars{}}
			}),
			"Size of the key, an entity": mutated("setEntity", func(p *provoker) vars {
				return vars{"scopeId": p.space("S").scope, "type": "t", "key": p.long(), "attributes": vars{}}
			}),
			"Size of the attributes as JSON, an entity":                setting(func(most int) vars { return wide(most + 1) }),
			"Size of the attributes as DynamoDB keeps them, an entity": setting(func(most int) vars { return vars{"x": make([]int, most/3)} }),
			"Size of the attributes as JSON, a relation": mutated("addEntityRelations", func(p *provoker) vars {
				of := p.space("S").set("t", "of", vars{})
				return vars{"entityId": of, "predicate": "p", "objects": []vars{{"entityId": of, "attributes": wide(p.most() + 1)}}}
			}),
			"Levels of nested attributes, an entity":  setting(func(most int) vars { return nested(most + 1) }),
			"Size of a name in attributes, an entity": setting(func(most int) vars { return vars{strings.Repeat("x", most+1): 1} }),
			"Digits of a number, an entity":           setting(func(most int) vars { return vars{"x": jsonNumber(strings.Repeat("9", most+1))} }),
			"Range of a number, 0 aside, an entity": unnumbered(asked(func(p *provoker) *answer {
				p.Most = "126"
				return p.mutate("setEntity", "entity { id }", vars{"scopeId": p.space("S").scope, "type": "t", "key": "k", "attributes": vars{"x": jsonNumber("1e126")}})
			})),
			"Indexes, a scope": asked(func(p *provoker) *answer {
				r := p.space("S")
				return p.until(p.most(), func(n int) *answer {
					return r.mutate("declareEntityIndex", "scope { id }", vars{"scopeId": r.scope, "name": fmt.Sprint("i", n), "type": "t", "kind": "STRING", "path": []string{"x"}})
				})
			}),
			"Names in the path, an index": mutated("declareEntityIndex", func(p *provoker) vars {
				return vars{"scopeId": p.space("S").scope, "name": "i", "type": "t", "kind": "STRING", "path": numbered("a", p.most()+1)}
			}),
			"Entries in all indexes, an entity": met(func(p *provoker) { assert.InDelta(p.t, 1, leftOut(p, numbered("t", p.most()+1)), 0) }),
			"Size of a text, at least 1 byte, an index": met(func(p *provoker) {
				assert.InDelta(p.t, 2, leftOut(p, []string{p.long(), "", p.long()[1:]}), 0)
			}),
			"Entities of which it is counted what indexes leave out, a scope": {because: "10,001 entities with entries of indexes take the embedded engine half a minute"},
			"Entities that are told in `leftOut`, an index": met(func(p *provoker) {
				r := p.elsewhere().space("S")
				r.declare("i", "T", "STRING", "x")
				for n := range p.most() + 1 {
					r.set("T", fmt.Sprint(n), vars{"x": ""})
				}
				a := r.must(`query($s: ID!) { scope(id: $s) { indexes { leftOut { entities examples { key } } } } }`, vars{"s": r.scope})
				told := a.list("scope.indexes")[0].(map[string]any)["leftOut"].(map[string]any)
				assert.InDelta(p.t, p.most()+1, told["entities"], 0)
				assert.Len(p.t, told["examples"], p.most())
			}),
		},
	}
}
