package main

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// repeatable are mutations that take a key and need none: what they did is done when they come again. Their own tests show it.
var repeatable = []string{"heartbeat", "rebuildProjectQueue", "retryDeadLetter", "dropDeadLetter", "signUploadPart", "revokeUser"}

// inQueue prepares a mutation in a new project with two items, of which ada has claimed one. The input says who sends it.
func inQueue(input func(l crew, h held, bob *client) vars) func(ada, bob *client, round int) (*client, vars) {
	return inProject(func(l crew, bob *client) vars {
		l.filled(2)
		return input(l, l.claimed(l.client, 1)[0], bob)
	})
}

// filled has the project import n items.
func (l crew) filled(n int) {
	l.t.Helper()
	text := ""
	for range n {
		text += fmt.Sprintf("{\"externalId\": %q, \"name\": \"n\"}\n", uuid.NewString())
	}
	l.during(func() { l.imports(text) })
}

// queueMutations are those of the mutations that are about what is handed out.
var queueMutations = map[string]repeated{
	"claimProjectItems": {
		prepare: inProject(func(l crew, _ *client) vars {
			l.filled(2)
			return vars{"projectId": l.id}
		}),
		selection: "project { id } items { id status version claim { token since until } } problem { __typename }", other: vars{"count": 2},
	},
	"extendClaim": {
		prepare:   inQueue(func(_ crew, h held, _ *client) vars { return h.input() }),
		selection: "item { id status version claim { token until } } problem { __typename }", other: vars{"token": "other"},
	},
	"finishProjectItem": {
		prepare: inQueue(func(l crew, h held, _ *client) vars {
			return l.finishing(h, vars{"keywords": []string{"k"}})
		}),
		selection: "item { version status efforts { nodes { id } } } effort { id finishedAt } problem { __typename }", other: vars{"keywords": []string{"other"}},
	},
	"finishProjectItems": {
		prepare: inQueue(func(l crew, h held, _ *client) vars {
			return vars{"finishes": []vars{l.finishing(h), l.finishing(l.claimed(l.client, 1)[0])}}
		}),
		selection: "outcomes { item { version status efforts { nodes { id } } } effort { id finishedAt } problem { __typename } }", more: true, each: true,
	},
	"skipProjectItem": {
		prepare:   inQueue(func(_ crew, h held, _ *client) vars { return h.input(vars{"reason": "TO_OTHERS"}) }),
		selection: "item { id status version claim { token } } problem { __typename }", other: vars{"reason": "FOR_NOBODY"},
	},
	"releaseProjectItem": {
		prepare:   inQueue(func(_ crew, h held, _ *client) vars { return h.input() }),
		selection: "item { id status version claim { token } } problem { __typename }", other: vars{"token": "other"},
	},
	"reviewEffort": {
		prepare: inProject(func(l crew, bob *client) vars {
			l.filled(1)
			l.mutate("putProjectMember", "member { type }", vars{"teamId": l.team, "userId": bob.id})
			return vars{"effortId": l.finished(bob, l.claimed(bob, 1)[0]), "verdict": "INCORRECT", "comment": "no"}
		}),
		selection: "effort { id review { verdict comment at } } item { id status version } problem { __typename }", other: vars{"comment": "yes"},
	},
	"undoFinish": {
		prepare:   inQueue(func(l crew, h held, _ *client) vars { return vars{"effortId": l.finished(l.client, h)} }),
		selection: "item { id status version claim { token until } } effort { id undoneAt } problem { __typename }", other: vars{"effortId": gidOf("ProjectItemEffort", "a", "b")},
	},
	"pauseProject": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"projectId": l.id} }),
		selection: "project { id paused version }", other: vars{"projectId": gidOf("Project", "other")},
	},
	"resumeProject": {
		prepare: inProject(func(l crew, _ *client) vars {
			require.Empty(l.t, l.mutate("pauseProject", "project { id }", vars{"projectId": l.id}).Errors)
			return vars{"projectId": l.id}
		}),
		selection: "project { id paused version }", other: vars{"projectId": gidOf("Project", "other")},
	},
	"setProjectQueueSize": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"projectId": l.id, "size": 5} }),
		selection: "project { id version }", other: vars{"size": 6},
	},
}
