package requests

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// repeatable are mutations that take a key and need none: what they did is done when they come again. Their own tests show it.
var repeatable = []string{"claimReviews", "endShares", "heartbeat", "rebuildProjectQueue", "retryDeadLetter", "dropDeadLetter", "signUploadPart", "revokeUser"}

// inQueue prepares a mutation in a new project with two items, of which ada has claimed one. The input says who sends it.
func inQueue(input func(l apitest.Crew, h apitest.Held, bob *apitest.Client) apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return inProject(func(l apitest.Crew, bob *apitest.Client) apitest.Vars {
		filled(l, 2)
		return input(l, l.Claimed(l.Client, 1)[0], bob)
	})
}

// filled has the project import n items.
func filled(l apitest.Crew, n int) {
	l.T.Helper()
	text := ""
	for range n {
		text += fmt.Sprintf("{\"externalId\": %q, \"name\": \"n\"}\n", uuid.NewString())
	}
	l.During(func() { l.Imports(text) })
}

// queueMutations are those of the mutations that are about what is handed out.
var queueMutations = map[string]repeated{
	"claimProjectItems": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			filled(l, 2)
			return apitest.Vars{"projectId": l.ID}
		}),
		selection: "project { id } items { id status version claim { token since until } } problem { __typename }", other: apitest.Vars{"count": 2},
	},
	"extendClaim": {
		prepare:   inQueue(func(_ apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars { return h.Input() }),
		selection: "item { id status version claim { token until } } problem { __typename }", other: apitest.Vars{"token": "other"},
	},
	"finishProjectItem": {
		prepare: inQueue(func(l apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars {
			return l.Finishing(h, apitest.Vars{"keywords": []string{"k"}})
		}),
		selection: "item { version status efforts { nodes { id } } } effort { id finishedAt } problem { __typename }", other: apitest.Vars{"keywords": []string{"other"}},
	},
	"finishProjectItems": {
		prepare: inQueue(func(l apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"finishes": []apitest.Vars{l.Finishing(h), l.Finishing(l.Claimed(l.Client, 1)[0])}}
		}),
		selection: "outcomes { item { version status efforts { nodes { id } } } effort { id finishedAt } problem { __typename } }", more: true, each: true,
	},
	"skipProjectItem": {
		prepare: inQueue(func(_ apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars {
			return h.Input(apitest.Vars{"reason": "TO_OTHERS"})
		}),
		selection: "item { id status version claim { token } } problem { __typename }", other: apitest.Vars{"reason": "FOR_NOBODY"},
	},
	"returnSkippedItems": {
		prepare: inQueue(func(l apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars {
			require.Empty(l.T, l.Mutate("skipProjectItem", "item { id }", h.Input(apitest.Vars{"reason": "FOR_NOBODY"})).Errors)
			return apitest.Vars{"projectId": l.ID, "itemIds": []string{h.ID}}
		}),
		selection: "project { id } items { id status version } more", other: apitest.Vars{"itemIds": nil},
	},
	"releaseProjectItem": {
		prepare:   inQueue(func(_ apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars { return h.Input() }),
		selection: "item { id status version claim { token } } problem { __typename }", other: apitest.Vars{"token": "other"},
	},
	"reviewEffort": {
		prepare: inProject(func(l apitest.Crew, bob *apitest.Client) apitest.Vars {
			filled(l, 1)
			l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": bob.ID})
			return apitest.Vars{"effortId": l.Finished(bob, l.Claimed(bob, 1)[0]), "verdict": "INCORRECT", "comment": "no"}
		}),
		selection: "effort { id review { verdict comment at } } item { id status version } problem { __typename }", other: apitest.Vars{"comment": "yes"},
	},
	"undoFinish": {
		prepare: inQueue(func(l apitest.Crew, h apitest.Held, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"effortId": l.Finished(l.Client, h)}
		}),
		selection: "item { id status version claim { token until } } effort { id undoneAt } problem { __typename }", other: apitest.Vars{"effortId": apitest.GIDOf("ProjectItemEffort", "a", "b")},
	},
	"pauseProject": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return apitest.Vars{"projectId": l.ID} }),
		selection: "project { id paused version }", other: apitest.Vars{"projectId": apitest.GIDOf("Project", "other")},
	},
	"resumeProject": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			require.Empty(l.T, l.Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID}).Errors)
			return apitest.Vars{"projectId": l.ID}
		}),
		selection: "project { id paused version }", other: apitest.Vars{"projectId": apitest.GIDOf("Project", "other")},
	},
	"updateGuidelines": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "text": "# How to label", "expectedVersion": 0}
		}),
		selection: "project { id guidelines { version } } guidelines { text version updatedAt updatedBy { id } } problem { __typename }", other: apitest.Vars{"text": "other"},
	},
	"createProjectInvitation": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"teamId": l.Team, "uses": 2}
		}),
		selection: "invitation { id token uses used expiresAt team { id } }", other: apitest.Vars{"uses": 3},
	},
	"revokeProjectInvitation": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			a := l.Mutate("createProjectInvitation", "invitation { id }", apitest.Vars{"teamId": l.Team})
			return apitest.Vars{"invitationId": a.Str("result.invitation.id")}
		}),
		selection: "invitation { id revokedAt }", other: apitest.Vars{"invitationId": apitest.GIDOf("ProjectInvitation", "other", "1", "other")},
	},
	"acceptProjectInvitation": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			_, token := inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
				a := l.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": l.Team})
				return apitest.Vars{"token": a.Str("result.invitation.token")}
			})(bob, ada)
			return ada, token
		},
		selection: "project { id } member { user { id } team { id } addedAt } problem { __typename }", other: apitest.Vars{"token": "other"},
	},
	"removeSuggestedKeywords": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			require.Empty(l.T, l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "suggestedKeywords": []string{"pier", "pile"}}).Errors)
			return apitest.Vars{"projectId": l.ID, "keywords": []string{"pier"}}
		}),
		selection: "project { id version suggestedKeywords }", other: apitest.Vars{"keywords": []string{"pile"}},
	},
}
