package limits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
)

// mutated is a provocation by one mutation whose input is made of the declared number.
func mutated(name string, input func(p *provoker) apitest.Vars) provocation {
	return asked(func(p *provoker) *apitest.Answer { return p.Mutate(name, "__typename", input(p)) })
}

// profile is the row that counts what a user creates.
func (p *provoker) profile() map[string]string {
	p.T.Helper()
	return map[string]string{"PK": keys.UserPK(apitest.GlobalKey(p.T, p.ID)[1]), "SK": keys.ProfileSK}
}

// noteWith is the input of a new note, with what is different.
func noteWith(change apitest.Vars) apitest.Vars {
	return apitest.Changed(apitest.Vars{"title": "t", "content": "c"}, change)
}

// wide is an object of so many bytes as JSON.
func wide(bytes int) apitest.Vars {
	return apitest.Vars{"x": strings.Repeat("x", bytes-len(`{"x":""}`))}
}

// setting is a provocation by the attributes of an entity.
func setting(attributes func(most int) apitest.Vars) provocation {
	return mutated("setEntity", func(p *provoker) apitest.Vars {
		return apitest.Vars{"scopeId": p.Space("S").Scope, "type": "t", "key": "k", "attributes": attributes(p.most())}
	})
}

// leftOut sets an entity and tells how many values the index leaves out.
func leftOut(p *provoker, value any) float64 {
	r := p.elsewhere().Space("S")
	r.Declare("i", "T", "STRING", "x")
	r.Set("T", "one", apitest.Vars{"x": value})
	a := r.Must(`query($s: ID!) { scope(id: $s) { indexes { leftOut { values } } } }`, apitest.Vars{"s": r.Scope})
	return a.List("scope.indexes")[0].(map[string]any)["leftOut"].(map[string]any)["values"].(float64)
}

// provokedNotes are the provocations of limits of users, notes, tags and entities.
func provokedNotes() map[string]map[string]provocation {
	return map[string]map[string]provocation{
		"internal/archive": {
			"Archives written at a time, a user": asked(func(p *provoker) *apitest.Answer {
				return p.until(p.most(), func(int) *apitest.Answer { return p.Mutate("createArchive", "archive { id }", apitest.Vars{}) })
			}),
			"Archives kept, with the one that is written, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("notes", p.profile(), "archives_kept", p.most())
				return p.Mutate("createArchive", "archive { id }", apitest.Vars{})
			}),
			"Time to download it, an archive":                  testedIn("internal/apitest/archives", "TestOneArchiveOfAUserIsWrittenAtATime", "it is expired"),
			"Files listed that could not be found, an archive": testedIn("internal/archive", "TestFaultsAreCountedBeyondThoseListed", "MaxFaults"),
		},
		"internal/user": {
			"Characters of a name, at least 1, a user": mutated("updateUser", func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Size of an e-mail address, a user":        mutated("updateUser", func(p *provoker) apitest.Vars { return apitest.Vars{"email": p.long() + "@example.com"} }),
			"Users that a user has blocked, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("notes", p.profile(), "blocked", p.most())
				return p.Mutate("blockUser", "more", apitest.Vars{"userId": p.User("blocked@example.com").ID})
			}),
			"E-mail addresses tried at once, a user": unnumbered(asked(func(p *provoker) *apitest.Answer {
				id := p.Notes(1)[0]
				for range 10 * p.most() { // some more are allowed as time goes by
					a := p.Mutate("shareNote", "note { id }", apitest.Vars{"noteId": id, "email": "nobody@example.com", "permission": "VIEW"})
					if len(a.Errors) > 0 {
						return a
					}
				}
				return p.Must(`{ viewer { id } }`, nil)
			})),
		},
		"internal/note": {
			"Characters of a title, at least 1, a note":  mutated("createNote", func(p *provoker) apitest.Vars { return noteWith(apitest.Vars{"title": p.long()}) }),
			"Size of a content, at least 1 byte, a note": mutated("createNote", func(p *provoker) apitest.Vars { return noteWith(apitest.Vars{"content": p.long()}) }),
			"Tags, a note, with `addNoteTags`; `createNote` says `INVALID_INPUT`": asked(func(p *provoker) *apitest.Answer {
				id := p.Notes(1, func(_ int, input apitest.Vars) { input["tags"] = apitest.Numbered("tag", p.most()) })[0]
				return p.Mutate("addNoteTags", "problem { __typename }", apitest.Vars{"noteId": id, "tags": []string{"one more"}})
			}),
			"Changes, including those of title and content, a note": asked(func(p *provoker) *apitest.Answer {
				id := p.Notes(1)[0]
				of := apitest.GlobalKey(p.T, id)[1]
				p.counts("notes", map[string]string{"PK": keys.UserPK(apitest.GlobalKey(p.T, p.ID)[1]), "SK": keys.NoteSK(time.Time{}, of)}, "version", p.most())
				return p.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": id, "title": "one more"})
			}),
			"Notes, including those deleted within 30 days, a user": asked(func(p *provoker) *apitest.Answer {
				p.allowed("notes", 3)
				return p.until(3, func(int) *apitest.Answer { return p.Mutate("createNote", "note { id }", noteWith(nil)) })
			}),
			"Shares of notes, a user": asked(func(p *provoker) *apitest.Answer {
				p.allowed("shares", 2)
				id := p.Notes(1)[0]
				return p.until(2, func(n int) *apitest.Answer {
					return p.Mutate("shareNote", "note { id }", apitest.Vars{"noteId": id, "userId": p.User(fmt.Sprintf("friend%d@example.com", n)).ID, "permission": "VIEW"})
				})
			}),
			"Shares of notes, a user, with one other who has opened none of them": testedIn("internal/storetest/notetest", "testSharesThatNobodyOpened", "note.MaxUnopened"),
			"Time to undo a deletion, a note":                                     testedIn("internal/storetest/notetest", "testUndoEndsAfter30Days", "fault.NotFound"),
		},
		"internal/follow": {
			"Users who share notes with the caller, `noteEvents`":                           testedIn("internal/follow", "TestOwnersAndSharesAreBounded", "MaxOwners"),
			"Notes shared with the caller, `noteEvents`":                                    testedIn("internal/follow", "TestOwnersAndSharesAreBounded", "MaxShares"),
			"Subscriptions to `noteEvents`, a user, on a server":                            testedIn("internal/follow", "TestAUserListensSoOften", "MaxListening"),
			"Subscriptions to `scoreEvents`, a user, on a server":                           testedIn("internal/follow", "TestAUserFollowsScoresSoOften", "MaxListening"),
			"Events kept for subscribers that resume, a user's notes, or a score":           testedIn("internal/queue", "testStreamsAreTrimmed", "follow.MaxEvents"),
			"Time for which they are kept without a subscriber, a user's notes, or a score": testedIn("internal/queue", "testStreamsAreTrimmed", "follow.KeptFor"),
		},
		"internal/tag": {"Size, a tag, in which `#`, `:` and `%` count three each": mutated("createNote", func(p *provoker) apitest.Vars { return noteWith(apitest.Vars{"tags": []string{p.long()}}) })},
		"internal/entity": {
			"Scopes created, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("notes", p.profile(), "scopes", p.most())
				return p.Mutate("createScope", "scope { id }", apitest.Vars{"name": "S"})
			}),
			"Characters of the name, a scope": mutated("createScope", func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Members, a scope": asked(func(p *provoker) *apitest.Answer {
				r := p.Space("S")
				id := apitest.GlobalKey(p.T, r.Scope)[1]
				p.counts("entities_master", map[string]string{"_id": id, "_scope_type_key": keys.ShardedScopeTypeKey("taggie", "Scope", keys.Shard(id))}, "_meta.members", p.most())
				return p.Mutate("putScopeMember", "memberEdge { role } problem { __typename }", apitest.Vars{"scopeId": r.Scope, "userId": p.User(fmt.Sprintf("%x@example.com", id)).ID, "role": "READER"})
			}),
			"Entities, a scope": asked(func(p *provoker) *apitest.Answer {
				r := p.allowed("entities", 3).Space("S")
				return p.until(3, func(n int) *apitest.Answer {
					return p.Mutate("setEntity", "entity { id }", apitest.Vars{"scopeId": r.Scope, "type": "t", "key": fmt.Sprint(n), "attributes": apitest.Vars{}})
				})
			}),
			"Relations, a scope": asked(func(p *provoker) *apitest.Answer {
				of := p.allowed("relations", 3).Space("S").Set("t", "of", apitest.Vars{})
				return p.until(3, func(n int) *apitest.Answer {
					return p.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": of, "predicate": fmt.Sprint("p", n), "objects": apitest.Objects(of)})
				})
			}),
			"Relations, an entity and predicate": testedIn("dynamo/entities", "TestMostRelations", "fault.Exhausted"),
			"Other scopes of objects, a mutation": mutated("addEntityRelations", func(p *provoker) apitest.Vars {
				ids := make([]string, p.most()+1)
				for i := range ids {
					ids[i] = apitest.GIDOf("Entity", fmt.Sprint("s", i), "t", "k")
				}
				return apitest.Vars{"entityId": apitest.GIDOf("Entity", apitest.ScopeKey(p.T, p.Space("S").Scope), "t", "k"), "predicate": "p", "objects": apitest.Objects(ids...)}
			}),
			"Objects of relations, a mutation": mutated("addEntityRelations", func(p *provoker) apitest.Vars {
				of := p.Space("S").Set("t", "of", apitest.Vars{})
				return apitest.Vars{"entityId": of, "predicate": "p", "objects": apitest.Objects(apitest.Many(of, p.most()+1)...)}
			}),
			"Size of a name, a type, a predicate or an index": mutated("setEntity", func(p *provoker) apitest.Vars {
				return apitest.Vars{"scopeId": p.Space("S").Scope, "type": p.long(), "key": "k", "attributes": apitest.Vars{}}
			}),
			"Size of the key, an entity": mutated("setEntity", func(p *provoker) apitest.Vars {
				return apitest.Vars{"scopeId": p.Space("S").Scope, "type": "t", "key": p.long(), "attributes": apitest.Vars{}}
			}),
			"Size of attributes and `meta` as JSON, an entity":               setting(func(most int) apitest.Vars { return wide(most + 1) }),
			"Size of attributes and `meta` as stored in DynamoDB, an entity": setting(func(most int) apitest.Vars { return apitest.Vars{"x": make([]int, most/3)} }),
			"Size of the attributes as JSON, a relation": mutated("addEntityRelations", func(p *provoker) apitest.Vars {
				of := p.Space("S").Set("t", "of", apitest.Vars{})
				return apitest.Vars{"entityId": of, "predicate": "p", "objects": []apitest.Vars{{"entityId": of, "attributes": wide(p.most() + 1)}}}
			}),
			"Levels of nested attributes, or of `meta`, an entity": setting(func(most int) apitest.Vars { return apitest.Nested(most + 1) }),
			"Size of a name in attributes and `meta`, an entity":   setting(func(most int) apitest.Vars { return apitest.Vars{strings.Repeat("x", most+1): 1} }),
			"Digits of a number, an entity":                        setting(func(most int) apitest.Vars { return apitest.Vars{"x": jsonNumber(strings.Repeat("9", most+1))} }),
			"Range of a number, except 0, an entity": unnumbered(asked(func(p *provoker) *apitest.Answer {
				p.Most = "126"
				return p.Mutate("setEntity", "entity { id }", apitest.Vars{"scopeId": p.Space("S").Scope, "type": "t", "key": "k", "attributes": apitest.Vars{"x": jsonNumber("1e126")}})
			})),
			"Indexes, a scope": asked(func(p *provoker) *apitest.Answer {
				r := p.Space("S")
				return p.until(p.most(), func(n int) *apitest.Answer {
					return r.Mutate("declareEntityIndex", "scope { id }", apitest.Vars{"scopeId": r.Scope, "name": fmt.Sprint("i", n), "type": "t", "kind": "STRING", "path": []string{"x"}})
				})
			}),
			"Names in the path, an index": mutated("declareEntityIndex", func(p *provoker) apitest.Vars {
				return apitest.Vars{"scopeId": p.Space("S").Scope, "name": "i", "type": "t", "kind": "STRING", "path": apitest.Numbered("a", p.most()+1)}
			}),
			"Parts of a key, an index": mutated("declareEntityIndex", func(p *provoker) apitest.Vars {
				part := apitest.Vars{"path": []string{"y"}, "kind": "STRING"}
				return apitest.Vars{"scopeId": p.Space("S").Scope, "name": "i", "type": "t", "kind": "STRING", "path": []string{"x"}, "thenBy": slices.Repeat([]apitest.Vars{part}, p.most())}
			}),
			"Conditions in `where`, an index": mutated("declareEntityIndex", func(p *provoker) apitest.Vars {
				condition := apitest.Vars{"path": []string{"y"}, "exists": true}
				return apitest.Vars{"scopeId": p.Space("S").Scope, "name": "i", "type": "t", "kind": "STRING", "path": []string{"x"}, "where": slices.Repeat([]apitest.Vars{condition}, p.most()+1)}
			}),
			"Attributes carried, an index": mutated("declareEntityIndex", func(p *provoker) apitest.Vars {
				return apitest.Vars{"scopeId": p.Space("S").Scope, "name": "i", "type": "t", "kind": "STRING", "path": []string{"x"}, "carries": apitest.Numbered("a", p.most()+1)}
			}),
			"Size of the attributes carried as JSON, an index entry": testedIn("internal/entity", "TestWhatAnIndexCarries", "as far as there is room"),
			"Entries in all indexes, an entity":                      met(func(p *provoker) { assert.InDelta(p.T, 1, leftOut(p, apitest.Numbered("t", p.most()+1)), 0) }),
			"Size of a text, at least 1 byte, an index": met(func(p *provoker) {
				assert.InDelta(p.T, 2, leftOut(p, []string{p.long(), "", p.long()[1:]}), 0)
			}),
			"Entities counted in `leftOut`, a scope": {because: "10,001 entities with entries of indexes take the embedded engine half a minute"},
			"Examples in `leftOut`, an index": met(func(p *provoker) {
				r := p.elsewhere().Space("S")
				r.Declare("i", "T", "STRING", "x")
				for n := range p.most() + 1 {
					r.Set("T", fmt.Sprint(n), apitest.Vars{"x": ""})
				}
				a := r.Must(`query($s: ID!) { scope(id: $s) { indexes { leftOut { entities examples { key } } } } }`, apitest.Vars{"s": r.Scope})
				told := a.List("scope.indexes")[0].(map[string]any)["leftOut"].(map[string]any)
				assert.InDelta(p.T, p.most()+1, told["entities"], 0)
				assert.Len(p.T, told["examples"], p.most())
			}),
		},
	}
}
