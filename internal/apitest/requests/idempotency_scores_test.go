package requests

import "github.com/taggie/taggie/internal/apitest"

// scoresState is everything that the user can see of scores and items.
func scoresState(c *apitest.Client) string {
	c.T.Helper()
	return c.Must(`{ viewer { scoreCount keptScores { edges { scoreId keptAt node { title } } } scores { nodes { id title access hash version updatedAt snapshots { id name updatedAt } } } items(all: true) { nodes { id name setName useCount withdrawnAt tags { nodes { value visibility } } } } itemUsage { size claimed uploadCount quota } } }`, nil).Raw()
}

// withScore prepares a mutation of ada about a new score of one page, and a snapshot of it.
func withScore(input func(ada *apitest.Client, score, snapshot string) apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
		id := ada.Score("new", []string{"a", "b"}, ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"}))
		snapshot := ada.Snapshot(id, "first")
		return ada, input(ada, id, snapshot)
	}
}

// published makes a score that everybody may read.
func published(c *apitest.Client) string {
	c.T.Helper()
	id := c.Score("for everybody", nil)
	c.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "access": "PUBLIC"}})
	return id
}

// withItem prepares a mutation of ada about a new item.
func withItem(input apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
		return ada, apitest.Changed(apitest.Vars{"itemId": ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})}, input)
	}
}

// withUpload prepares a mutation of ada about a file that was put and not completed.
func withUpload(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
	a := ada.Requests([]byte("music"), apitest.Vars{"type": "text/plain"})
	ada.Puts(a, []byte("music"))
	return ada, apitest.Vars{"itemId": a.Str("requestUpload.upload.itemId")}
}

// scoreMutations are those of the mutations that are about scores, snapshots and items.
var scoreMutations = map[string]repeated{
	"createScore": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"title": "new", "annotations": []string{"a"}}
		},
		selection: "score { id title version hash annotations { text } } problem { __typename }", other: apitest.Vars{"title": "other"},
	},
	"updateScore": {
		prepare: withScore(func(_ *apitest.Client, score, _ string) apitest.Vars {
			return apitest.Vars{"scoreId": score, "title": "second", "annotations": []apitest.Vars{{"insert": apitest.Vars{"at": 0, "texts": []string{"c"}}}}, "expectedVersion": 1}
		}),
		selection: "score { id title version hash annotations { text } } problem { __typename }", other: apitest.Vars{"title": "other"},
	},
	"deleteScore": {
		prepare: withScore(func(_ *apitest.Client, score, _ string) apitest.Vars {
			return apitest.Vars{"scoreId": score, "expectedVersion": 1}
		}),
		selection: "deletedScoreId problem { __typename }", other: apitest.Vars{"expectedVersion": 2}, more: true,
	},
	"keepScore": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			return bob, apitest.Vars{"scoreId": published(ada)}
		},
		selection: "score { id title }", other: apitest.Vars{"scoreId": apitest.GIDOf("Score", "a", "b")},
	},
	"dropScore": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			id := published(ada)
			bob.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": id})
			return bob, apitest.Vars{"scoreId": id}
		},
		selection: "droppedScoreId", other: apitest.Vars{"scoreId": apitest.GIDOf("Score", "a", "b")},
	},
	"createSnapshot": {
		prepare: withScore(func(_ *apitest.Client, score, _ string) apitest.Vars {
			return apitest.Vars{"scoreId": score, "name": "second"}
		}),
		selection: "snapshot { id name createdAt } problem { __typename }", other: apitest.Vars{"name": "other"}, more: true,
	},
	"renameSnapshot": {
		prepare: withScore(func(_ *apitest.Client, _, snapshot string) apitest.Vars {
			return apitest.Vars{"snapshotId": snapshot, "name": "second"}
		}),
		selection: "snapshot { id name updatedAt } problem { __typename }", other: apitest.Vars{"name": "other"},
	},
	"deleteSnapshot": {
		prepare: withScore(func(_ *apitest.Client, _, snapshot string) apitest.Vars {
			return apitest.Vars{"snapshotId": snapshot}
		}),
		selection: "deletedSnapshotId", other: apitest.Vars{"snapshotId": apitest.GIDOf("Snapshot", "a", "b", "c")}, more: true,
	},
	"restoreSnapshot": {
		prepare: withScore(func(ada *apitest.Client, score, snapshot string) apitest.Vars {
			ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": score, "title": "second"}})
			return apitest.Vars{"snapshotId": snapshot, "expectedVersion": 2}
		}),
		selection: "score { id title version } problem { __typename }", other: apitest.Vars{"expectedVersion": 3},
	},
	"requestUpload": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"name": "n", "type": "text/plain", "size": 5, "sha256": apitest.Sha256Of([]byte("music"))}
		},
		selection: "upload { itemId name size partCount expiresAt } problem { __typename }", other: apitest.Vars{"name": "other"},
	},
	"completeUpload": {
		prepare: withUpload, selection: "item { id name size createdAt } problem { __typename }", other: apitest.Vars{"itemId": apitest.GIDOf("Item", "a", "b", "c")},
	},
	"abortUpload": {
		prepare: withUpload, selection: "abortedItemId", other: apitest.Vars{"itemId": apitest.GIDOf("Item", "a", "b", "c")},
	},
	"renameItem": {
		prepare: withItem(apitest.Vars{"name": "second.png"}), selection: "item { id name }", other: apitest.Vars{"name": "other.png"},
	},
	"setItemSetName": {
		prepare: withItem(apitest.Vars{"setName": "second"}), selection: "item { id setName }", other: apitest.Vars{"setName": "other"},
	},
	"withdrawItem": {
		prepare: withItem(nil), selection: "item { id withdrawnAt }", other: apitest.Vars{"itemId": apitest.GIDOf("Item", "a", "b", "c")},
	},
	"deleteItem": {
		prepare: withItem(nil), selection: "deletedItemId problem { __typename }", other: apitest.Vars{"itemId": apitest.GIDOf("Item", "a", "b", "c")},
	},
	"setItemTags": {
		prepare: withItem(apitest.Vars{"tags": []apitest.Vars{{"value": "Second"}, {"value": "closed", "visibility": "PRIVATE"}}}), selection: "item { id tags { nodes { value } } } tags { value visibility }",
		other: apitest.Vars{"tags": []apitest.Vars{{"value": "other"}}}, more: true, // a task is recorded with the change, and removed
	},
	"removeItemTags": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			item := ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})
			ada.Tags(item, apitest.Vars{"value": "first"}, apitest.Vars{"value": "second"})
			return ada, apitest.Vars{"itemId": item, "tags": []string{"FIRST"}}
		},
		selection: "item { id } tags { value }", other: apitest.Vars{"tags": []string{"second"}}, more: true,
	},
	"setItemQuota": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			root := ada.Admin(ada.Must("{ viewer { email } }", nil).Str("viewer.email") + ".root.example.com")
			return root, apitest.Vars{"userId": root.ID, "quota": 1000}
		},
		selection: "usage { quota }", other: apitest.Vars{"quota": 2000},
	},
}
