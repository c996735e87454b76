package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
)

// jsonNumber is a number as it is written.
func jsonNumber(text string) json.Number { return json.Number(text) }

// rowOf is the row of a project.
func rowOf(l crew) map[string]string {
	id := string(l.key())
	return map[string]string{"_id": id, "_scope_type_key": keys.ScopeTypeKey(id, "Project")}
}

// creating is a provocation by what is said of a new project.
func creating(change func(p *provoker) vars) provocation {
	return mutated("createProject", func(p *provoker) vars { return changed(vars{"name": "P", "categories": []string{}}, change(p)) })
}

// line is a provocation by a line of a file, which is a mistake of that line.
func line(of func(p *provoker) vars) provocation {
	return met(func(p *provoker) {
		text, err := json.Marshal(changed(vars{"externalId": "e", "name": "n"}, of(p)))
		require.NoError(p.t, err)
		i := p.elsewhere().project("P").importedAs("DONE", "JSON_LINES", string(text)+"\n"+lines(0, 1))
		assert.InDelta(p.t, 1, i.at("mistakes"), 0, "%s", i.body)
		assert.InDelta(p.t, 1, i.at("imported"), 0, "%s", i.body)
		message := i.list("faults")[0].(map[string]any)["message"].(string)
		assert.Contains(p.t, strings.ReplaceAll(message, ",", ""), fmt.Sprint(p.most()))
	})
}

// atWork is a project with items, on a server that works on queues.
func (p *provoker) atWork(items int) crew {
	p.t.Helper()
	l := p.elsewhere().project("P")
	p.works()
	l.importedAs("DONE", "JSON_LINES", lines(0, items))
	l.becomesSo(p.client, `queue { counts { total } }`, func(a *answer) bool { return a.at("queue.counts.total") == float64(items) })
	return l
}

// provokedProjects are the provocations of limits of projects and their queues.
func provokedProjects() map[string]map[string]provocation {
	anImport := func(p *provoker, l crew) *answer {
		return p.mutate("createProjectImport", "import { id }", vars{"projectId": l.id, "format": "CSV", "bytes": 10})
	}
	return map[string]map[string]provocation{
		"internal/project": {
			"Projects that one creates, a user": asked(func(p *provoker) *answer {
				p.counts("notes", p.profile(), "projects", p.most())
				return p.mutate("createProject", "project { id }", vars{"name": "P", "categories": []string{}})
			}),
			"Characters of a name, a project, a team or a category": creating(func(p *provoker) vars { return vars{"name": p.long()} }),
			"Size of the description, a project":                    creating(func(p *provoker) vars { return vars{"description": p.long()} }),
			"Categories, and as many subcategories, a project": asked(func(p *provoker) *answer {
				a := p.mutate("createProject", "project { id }", vars{"name": "P", "categories": numbered("c", p.most())})
				return p.mutate("addProjectCategories", "project { id }", vars{"projectId": a.str("result.project.id"), "categories": []string{"one more"}})
			}),
			"Suggested keywords, a project": creating(func(p *provoker) vars { return vars{"suggestedKeywords": numbered("k", p.most()+1)} }),
			"Teams, a project": asked(func(p *provoker) *answer {
				l := p.project("P") // with a team of managers
				return p.until(p.most()-1, func(n int) *answer {
					return p.mutate("createTeam", "team { id }", vars{"projectId": l.id, "name": fmt.Sprint("team ", n), "type": "TAGGIE"})
				})
			}),
			"Members, a project": asked(func(p *provoker) *answer {
				l := p.project("P")
				team := p.mutate("createTeam", "team { id }", vars{"projectId": l.id, "name": "T", "type": "TAGGIE"}).str("result.team.id")
				p.counts("entities_master", rowOf(l), "_meta.members", p.most())
				return p.mutate("putProjectMember", "member { type }", vars{"teamId": team, "userId": p.user("friend" + string(l.key()) + "@example.com").id})
			}),
			"Items, a project": met(func(p *provoker) {
				i := p.allowed("items", 3).project("P").importedAs("DONE", "JSON_LINES", lines(0, 4))
				assert.InDelta(p.t, 1, i.at("mistakes"), 0)
				assert.Contains(p.t, i.body, "at most 3 items")
			}),
			"Imports under way, and as many exports, a project": asked(func(p *provoker) *answer {
				l := p.project("P")
				return p.until(p.most(), func(int) *answer { return anImport(p, l) })
			}),
			"Imports in all, and as many exports, a project": asked(func(p *provoker) *answer {
				l := p.project("P")
				require.Empty(p.t, anImport(p, l).Errors)
				p.counts("entities_master", rowOf(l), "_meta.imports_ever", p.most())
				return anImport(p, l)
			}),
			"Size of the file, an import": mutated("createProjectImport", func(p *provoker) vars {
				return vars{"projectId": p.project("P").id, "format": "CSV", "bytes": p.most() + 1}
			}),
			"Lines, an import":          testedIn("internal/project", "TestAFileWithTooManyLinesIsImportedAsFarAsAllowed", "Failed"),
			"Size of a line, an import": line(func(p *provoker) vars { return vars{"name": p.long()} }),
			"Lines that are told with their mistake, an import": met(func(p *provoker) {
				i := p.elsewhere().project("P").importedAs("DONE", "JSON_LINES", strings.Repeat("{\n", p.most()+1))
				assert.InDelta(p.t, p.most()+1, i.at("mistakes"), 0)
				assert.Len(p.t, i.list("faults"), p.most())
			}),
			"Items that are named in `importItems`, an import": mutated("importItems", func(p *provoker) vars {
				return vars{"projectId": p.project("P").id, "itemIds": many(gidOf("Item", "a", "b", "c"), p.most()+1)}
			}),
			"Size of `externalId`, an item of a project":         line(func(p *provoker) vars { return vars{"externalId": p.long()} }),
			"Characters of the name, an item of a project":       line(func(p *provoker) vars { return vars{"name": p.long()} }),
			"Characters of the type, an item of a project":       line(func(p *provoker) vars { return vars{"type": p.long()} }),
			"Size of the URL, an item of a project":              line(func(p *provoker) vars { return vars{"url": "https://example.com/" + p.long()} }),
			"Size of the metadata as JSON, an item of a project": line(func(p *provoker) vars { return vars{"metadata": wide(p.most() + 1)} }),
			"Levels of nested metadata, an item of a project":    line(func(p *provoker) vars { return vars{"metadata": nested(p.most() + 1)} }),
			"Size of a name in metadata, an item of a project":   line(func(p *provoker) vars { return vars{"metadata": vars{p.long(): 1}} }),
			"Finishes, with those that were taken back or found incorrect, an item of a project": asked(func(p *provoker) *answer {
				l := p.atWork(1)
				h := l.claimed(p.client, 1)[0]
				id := itemKey(p.t, h.id)
				p.counts("entities_master", map[string]string{"_id": id.ID, "_scope_type_key": keys.ShardedScopeTypeKey(string(id.Project), "ProjectItem", keys.Shard(id.ID))}, "_efforts", p.most())
				return p.mutate("finishProjectItem", "effort { id } problem { __typename }", l.finishing(h))
			}),
			"Keywords, a finish": asked(func(p *provoker) *answer {
				l := p.atWork(1)
				return p.mutate("finishProjectItem", "effort { id }", l.finishing(l.claimed(p.client, 1)[0], vars{"keywords": numbered("k", p.most()+1)}))
			}),
			"Characters of a keyword, a finish or a project": creating(func(p *provoker) vars { return vars{"suggestedKeywords": []string{p.long()}} }),
		},
		"internal/labelling": {
			"Claimed items, a user and project": asked(func(p *provoker) *answer {
				l := p.atWork(p.most() + 1)
				l.claimed(p.client, p.most())
				return p.mutate("claimProjectItems", "items { id } problem { __typename }", vars{"projectId": l.id, "count": 1})
			}),
			"Time without `extendClaim`, a claim": asked(func(p *provoker) *answer {
				l := p.atWork(1)
				h := l.claimed(p.client, 1)[0]
				l.expires(h.id)
				return p.mutate("finishProjectItem", "effort { id } problem { __typename }", l.finishing(h))
			}),
			"Time to take a finish back, a finish": testedIn(".", "TestAFinishIsTakenBack", "UndoTooLate"),
			"Finishes, `finishProjectItems`": mutated("finishProjectItems", func(p *provoker) vars {
				id := gidOf("ProjectItem", string(p.project("P").key()), "x")
				finishes := make([]vars, p.most()+1)
				for i := range finishes {
					finishes[i] = vars{"itemId": id, "token": "t", "categoryId": gidOf("Category", "a", "b")}
				}
				return vars{"finishes": finishes}
			}),
			"Time for which an item is put off, a skip": unnumbered(mutated("skipProjectItem", func(p *provoker) vars {
				return vars{"itemId": gidOf("ProjectItem", string(p.project("P").key()), "x"), "token": "t", "reason": "TO_ME_LATER", "minutes": p.most()*24*60 + 1}
			})),
			"Characters of the comment, a review": mutated("reviewEffort", func(p *provoker) vars {
				return vars{"effortId": gidOf("ProjectItemEffort", string(p.project("P").key()), "x"), "verdict": "INCORRECT", "comment": p.long()}
			}),
			"Waiting items, a queue":                             mutated("setProjectQueueSize", func(p *provoker) vars { return vars{"projectId": p.project("P").id, "size": p.most() + 1} }),
			"Events that are told again, a project":              testedIn("internal/labelling", "TestListenSaysThatEventsWereMissed", "MaxEvents"),
			"Projects that are listened to, a user, on a server": testedIn("internal/labelling", "TestAUserListensToSoManyProjects", "fault.Exhausted"),
			"Keywords that are suggested, `keywordCompletions`": asked(func(p *provoker) *answer {
				return p.do(`query($p: ID!, $n: Int!) { project(id: $p) { keywordCompletions(prefix: "", first: $n) } }`, vars{"p": p.project("P").id, "n": p.most() + 1})
			}),
			"Projects, a heartbeat": mutated("heartbeat", func(p *provoker) vars { return vars{"projectIds": many(gidOf("Project", "none"), p.most()+1)} }),
			"Dead letters, `deadLetters`": asked(func(p *provoker) *answer {
				return p.admin("admin@example.com").do(`query($n: Int!) { deadLetters(first: $n) { id } }`, vars{"n": p.most() + 1})
			}),
		},
	}
}
