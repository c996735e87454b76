package limits

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
)

// jsonNumber is a number as it is written.
func jsonNumber(text string) json.Number { return json.Number(text) }

// rowOf is the row of a project.
func rowOf(l apitest.Crew) map[string]string {
	id := string(l.Key())
	return map[string]string{"_id": id, "_scope_type_key": keys.ScopeTypeKey(id, "Project")}
}

// creating is a provocation by what is said of a new project.
func creating(change func(p *provoker) apitest.Vars) provocation {
	return mutated("createProject", func(p *provoker) apitest.Vars {
		return apitest.Changed(apitest.Vars{"name": "P", "categories": []string{}}, change(p))
	})
}

// line is a provocation by a line of a file, which is a mistake of that line.
func line(of func(p *provoker) apitest.Vars) provocation {
	return met(func(p *provoker) {
		text, err := json.Marshal(apitest.Changed(apitest.Vars{"externalId": "e", "name": "n"}, of(p)))
		require.NoError(p.T, err)
		i := p.elsewhere().Project("P").ImportedAs("DONE", "JSON_LINES", string(text)+"\n"+apitest.Lines(0, 1))
		assert.InDelta(p.T, 1, i.At("mistakes"), 0, "%s", i.Body)
		assert.InDelta(p.T, 1, i.At("imported"), 0, "%s", i.Body)
		message := i.List("faults")[0].(map[string]any)["message"].(string)
		assert.Contains(p.T, strings.ReplaceAll(message, ",", ""), fmt.Sprint(p.most()))
	})
}

// labellers makes a team of labellers in a new project.
func (p *provoker) labellers() string {
	p.T.Helper()
	return p.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": p.Project("P").ID, "name": "Labellers", "type": "TAGGIE"}).Str("result.team.id")
}

// atWork is a project with items, on a server that works on queues.
func (p *provoker) atWork(items int) apitest.Crew {
	p.T.Helper()
	l := p.elsewhere().Project("P")
	p.Works()
	l.ImportedAs("DONE", "JSON_LINES", apitest.Lines(0, items))
	l.BecomesSo(p.Client, `queue { counts { total } }`, func(a *apitest.Answer) bool { return a.At("queue.counts.total") == float64(items) })
	return l
}

// provokedProjects are the provocations of limits of projects and their queues.
func provokedProjects() map[string]map[string]provocation {
	anImport := func(p *provoker, l apitest.Crew) *apitest.Answer {
		return p.Mutate("createProjectImport", "import { id }", apitest.Vars{"projectId": l.ID, "format": "CSV", "bytes": 10})
	}
	return map[string]map[string]provocation{
		"internal/project": {
			"Projects created, a user": asked(func(p *provoker) *apitest.Answer {
				p.counts("notes", p.profile(), "projects", p.most())
				return p.Mutate("createProject", "project { id }", apitest.Vars{"name": "P", "categories": []string{}})
			}),
			"Characters of a name, a project, a team or a category": creating(func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Size of the description, a project":                    creating(func(p *provoker) apitest.Vars { return apitest.Vars{"description": p.long()} }),
			"Size of the guidelines, a project": mutated("updateGuidelines", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "text": p.long()}
			}),
			"Open invitations, a project": asked(func(p *provoker) *apitest.Answer {
				to := apitest.Vars{"teamId": p.labellers()}
				for range p.most() {
					require.Empty(p.T, p.Mutate("createProjectInvitation", "invitation { id }", to).Errors)
				}
				return p.Mutate("createProjectInvitation", "invitation { id }", to)
			}),
			"Users who can join by it, an invitation": mutated("createProjectInvitation", func(p *provoker) apitest.Vars {
				return apitest.Vars{"teamId": p.labellers(), "uses": p.most() + 1}
			}),
			"Days until it expires, an invitation": mutated("createProjectInvitation", func(p *provoker) apitest.Vars {
				return apitest.Vars{"teamId": p.labellers(), "expiresInDays": p.most() + 1}
			}),
			"Categories, and as many subcategories, a project": asked(func(p *provoker) *apitest.Answer {
				a := p.Mutate("createProject", "project { id }", apitest.Vars{"name": "P", "categories": apitest.Numbered("c", p.most())})
				return p.Mutate("addProjectCategories", "project { id }", apitest.Vars{"projectId": a.Str("result.project.id"), "categories": []string{"one more"}})
			}),
			"Suggested keywords, a project": creating(func(p *provoker) apitest.Vars {
				return apitest.Vars{"suggestedKeywords": apitest.Numbered("k", p.most()+1)}
			}),
			"Waiting items, a queue": mutated("updateProject", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "queueSize": p.most() + 1}
			}),
			"Time that a claim can be set to last, a project": unnumbered(mutated("updateProject", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "leaseMinutes": p.most()*60 + 1}
			})),
			"Days for which a member is new, a project": mutated("updateProject", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "newcomerDays": p.most() + 1}
			}),
			"Teams, a project": asked(func(p *provoker) *apitest.Answer {
				l := p.Project("P") // with a team of managers
				return p.until(p.most()-1, func(n int) *apitest.Answer {
					return p.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": l.ID, "name": fmt.Sprint("team ", n), "type": "TAGGIE"})
				})
			}),
			"Members, a project": asked(func(p *provoker) *apitest.Answer {
				l := p.Project("P")
				team := p.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": l.ID, "name": "T", "type": "TAGGIE"}).Str("result.team.id")
				p.counts("entities_master", rowOf(l), "_meta.members", p.most())
				return p.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": team, "userId": p.User("friend" + string(l.Key()) + "@example.com").ID})
			}),
			"Characters of a value, a change in the history of a project": met(func(p *provoker) {
				id := p.Project("P").ID
				p.Mutate("updateProject", "project { version }", apitest.Vars{"projectId": id, "description": strings.Repeat("ü", p.most()+1)})
				changes := p.Must(`query($p: ID!) { project(id: $p) { history(first: 1) { nodes { fields { after } } } } }`, apitest.Vars{"p": id})
				assert.Contains(p.T, changes.Body, `"after":"`+strings.Repeat("ü", p.most())+`…"`)
			}),
			"Time for which it is kept, a change in the history of a project": testedIn("internal/storetest/projecttest", "historyInPages", "all are older than a year"),
			"Items, a project": met(func(p *provoker) {
				i := p.allowed("items", 3).Project("P").ImportedAs("DONE", "JSON_LINES", apitest.Lines(0, 200)) // of several transactions, of which most have no room at all
				assert.InDelta(p.T, 3, i.At("imported"), 0)
				assert.InDelta(p.T, 197, i.At("mistakes"), 0)
				assert.Contains(p.T, i.Body, "at most 3 items")
			}),
			"Imports in progress, and as many exports and removals, a project": asked(func(p *provoker) *apitest.Answer {
				l := p.Project("P")
				return p.until(p.most(), func(int) *apitest.Answer { return anImport(p, l) })
			}),
			"Imports in all, and as many exports and removals, a project": asked(func(p *provoker) *apitest.Answer {
				l := p.Project("P")
				require.Empty(p.T, anImport(p, l).Errors)
				p.counts("entities_master", rowOf(l), "_meta.imports_ever", p.most())
				return anImport(p, l)
			}),
			"Items named in `removeProjectItems`, a removal": mutated("removeProjectItems", func(p *provoker) apitest.Vars {
				project := p.Project("P")
				return apitest.Vars{"projectId": project.ID, "itemIds": slices.Repeat([]string{apitest.GIDOf("ProjectItem", string(project.Key()), "x")}, p.most()+1)}
			}),
			"Time to undo it, a removal": testedIn("internal/project", "TestARemovalIsUndoneInTime", "ErrNoUndo"),
			"Size of the file, an import": mutated("createProjectImport", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "format": "CSV", "bytes": p.most() + 1}
			}),
			"Lines, an import":          testedIn("internal/project", "TestAFileWithTooManyLinesIsImportedAsFarAsAllowed", "Failed"),
			"Size of a line, an import": line(func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Mistakes listed, an import": met(func(p *provoker) {
				i := p.elsewhere().Project("P").ImportedAs("DONE", "JSON_LINES", strings.Repeat("{\n", p.most()+1))
				assert.InDelta(p.T, p.most()+1, i.At("mistakes"), 0)
				assert.Len(p.T, i.List("faults"), p.most())
			}),
			"Items named in `importItems`, an import": mutated("importItems", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "itemIds": apitest.Many(apitest.GIDOf("Item", "a", "b", "c"), p.most()+1)}
			}),
			"Size of `externalId`, an item of a project":         line(func(p *provoker) apitest.Vars { return apitest.Vars{"externalId": p.long()} }),
			"Characters of the name, an item of a project":       line(func(p *provoker) apitest.Vars { return apitest.Vars{"name": p.long()} }),
			"Characters of the type, an item of a project":       line(func(p *provoker) apitest.Vars { return apitest.Vars{"type": p.long()} }),
			"Size of the URL, an item of a project":              line(func(p *provoker) apitest.Vars { return apitest.Vars{"url": "https://example.com/" + p.long()} }),
			"Size of the metadata as JSON, an item of a project": line(func(p *provoker) apitest.Vars { return apitest.Vars{"metadata": wide(p.most() + 1)} }),
			"Levels of nested metadata, an item of a project":    line(func(p *provoker) apitest.Vars { return apitest.Vars{"metadata": apitest.Nested(p.most() + 1)} }),
			"Size of a name in metadata, an item of a project":   line(func(p *provoker) apitest.Vars { return apitest.Vars{"metadata": apitest.Vars{p.long(): 1}} }),
			"Finishes, including those taken back or found incorrect, an item of a project": asked(func(p *provoker) *apitest.Answer {
				l := p.atWork(1)
				h := l.Claimed(p.Client, 1)[0]
				id := apitest.ItemKey(p.T, h.ID)
				p.counts("entities_master", map[string]string{"_id": id.ID, "_scope_type_key": keys.ShardedScopeTypeKey(string(id.Project), "ProjectItem", keys.Shard(id.ID))}, "_efforts", p.most())
				return p.Mutate("finishProjectItem", "effort { id } problem { __typename }", l.Finishing(h))
			}),
			"Keywords, a finish": asked(func(p *provoker) *apitest.Answer {
				l := p.atWork(1)
				return p.Mutate("finishProjectItem", "effort { id }", l.Finishing(l.Claimed(p.Client, 1)[0], apitest.Vars{"keywords": apitest.Numbered("k", p.most()+1)}))
			}),
			"Characters of a keyword, a finish or a project": creating(func(p *provoker) apitest.Vars { return apitest.Vars{"suggestedKeywords": []string{p.long()}} }),
		},
		"internal/labelling": {
			"Claimed items, a user and project": asked(func(p *provoker) *apitest.Answer {
				l := p.atWork(p.most() + 1)
				l.Claimed(p.Client, p.most())
				return p.Mutate("claimProjectItems", "items { id } problem { __typename }", apitest.Vars{"projectId": l.ID, "count": 1})
			}),
			"Time without `extendClaim`, a claim": asked(func(p *provoker) *apitest.Answer {
				l := p.atWork(1)
				h := l.Claimed(p.Client, 1)[0]
				l.Expires(h.ID)
				return p.Mutate("finishProjectItem", "effort { id } problem { __typename }", l.Finishing(h))
			}),
			"Time to take a finish back, a finish": testedIn("internal/apitest/queues", "TestAFinishIsTakenBack", "UndoTooLate"),
			"Finishes, `finishProjectItems`": mutated("finishProjectItems", func(p *provoker) apitest.Vars {
				id := apitest.GIDOf("ProjectItem", string(p.Project("P").Key()), "x")
				finishes := make([]apitest.Vars, p.most()+1)
				for i := range finishes {
					finishes[i] = apitest.Vars{"itemId": id, "token": "t", "categoryId": apitest.GIDOf("Category", "a", "b")}
				}
				return apitest.Vars{"finishes": finishes}
			}),
			"Efforts to review, a reviewer and project": mutated("claimReviews", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectId": p.Project("P").ID, "count": p.most() + 1}
			}),
			"Items, `returnSkippedItems`": mutated("returnSkippedItems", func(p *provoker) apitest.Vars {
				project := p.Project("P")
				return apitest.Vars{"projectId": project.ID, "itemIds": slices.Repeat([]string{apitest.GIDOf("ProjectItem", string(project.Key()), "x")}, p.most()+1)}
			}),
			"Time for which an item is put off, a skip": unnumbered(mutated("skipProjectItem", func(p *provoker) apitest.Vars {
				return apitest.Vars{"itemId": apitest.GIDOf("ProjectItem", string(p.Project("P").Key()), "x"), "token": "t", "reason": "TO_ME_LATER", "minutes": p.most()*24*60 + 1}
			})),
			"Characters of the comment, a review": mutated("reviewEffort", func(p *provoker) apitest.Vars {
				return apitest.Vars{"effortId": apitest.GIDOf("ProjectItemEffort", string(p.Project("P").Key()), "x"), "verdict": "INCORRECT", "comment": p.long()}
			}),
			"Events kept for subscribers that resume, a project": testedIn("internal/labelling", "TestListenSaysThatEventsWereMissed", "MaxEvents"),
			"Projects with a subscription, a user, on a server":  testedIn("internal/labelling", "TestAUserListensToSoManyProjects", "fault.Exhausted"),
			"Suggested keywords, `keywordCompletions`": asked(func(p *provoker) *apitest.Answer {
				return p.Do(`query($p: ID!, $n: Int!) { project(id: $p) { keywordCompletions(prefix: "", first: $n) } }`, apitest.Vars{"p": p.Project("P").ID, "n": p.most() + 1})
			}),
			"Projects, a heartbeat": mutated("heartbeat", func(p *provoker) apitest.Vars {
				return apitest.Vars{"projectIds": apitest.Many(apitest.GIDOf("Project", "none"), p.most()+1)}
			}),
			"Dead letters, `deadLetters`": asked(func(p *provoker) *apitest.Answer {
				return p.Admin("admin@example.com").Do(`query($n: Int!) { deadLetters(first: $n) { id } }`, apitest.Vars{"n": p.most() + 1})
			}),
		},
	}
}
