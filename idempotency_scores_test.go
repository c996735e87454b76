package main

// scoresState is everything that the user can see of scores and items.
func (c *client) scoresState() string {
	c.t.Helper()
	return c.must(`{ viewer { scoreCount scores { nodes { id title access hash version updatedAt snapshots { id name updatedAt } } } items(all: true) { nodes { id name setName useCount tags { nodes { value visibility } } } } itemUsage { size claimed uploadCount quota } } }`, nil).data()
}

// withScore prepares a mutation of ada about a new score of one page, and a snapshot of it.
func withScore(input func(ada *client, score, snapshot string) vars) func(ada, bob *client, round int) (*client, vars) {
	return func(ada, _ *client, _ int) (*client, vars) {
		id := ada.score("new", []string{"a", "b"}, ada.uploads([]byte("music"), vars{"type": "text/plain"}))
		snapshot := ada.snapshot(id, "first")
		return ada, input(ada, id, snapshot)
	}
}

// withItem prepares a mutation of ada about a new item.
func withItem(input vars) func(ada, bob *client, round int) (*client, vars) {
	return func(ada, _ *client, _ int) (*client, vars) {
		return ada, changed(vars{"itemId": ada.uploads([]byte("music"), vars{"type": "text/plain"})}, input)
	}
}

// withUpload prepares a mutation of ada about a file that was put and not completed.
func withUpload(ada, _ *client, _ int) (*client, vars) {
	a := ada.requests([]byte("music"), vars{"type": "text/plain"})
	ada.puts(a, []byte("music"))
	return ada, vars{"itemId": a.str("requestUpload.upload.itemId")}
}

// scoreMutations are those of the mutations that are about scores, snapshots and items.
var scoreMutations = map[string]repeated{
	"createScore": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			return ada, vars{"title": "new", "annotations": []string{"a"}}
		},
		selection: "score { id title version hash annotations { text } } problem { __typename }", other: vars{"title": "other"},
	},
	"updateScore": {
		prepare: withScore(func(_ *client, score, _ string) vars {
			return vars{"scoreId": score, "title": "second", "annotations": []vars{{"insert": vars{"at": 0, "texts": []string{"c"}}}}, "expectedVersion": 1}
		}),
		selection: "score { id title version hash annotations { text } } problem { __typename }", other: vars{"title": "other"},
	},
	"deleteScore": {
		prepare: withScore(func(_ *client, score, _ string) vars {
			return vars{"scoreId": score, "expectedVersion": 1}
		}),
		selection: "deletedScoreId problem { __typename }", other: vars{"expectedVersion": 2}, more: true,
	},
	"createSnapshot": {
		prepare: withScore(func(_ *client, score, _ string) vars {
			return vars{"scoreId": score, "name": "second"}
		}),
		selection: "snapshot { id name createdAt } problem { __typename }", other: vars{"name": "other"}, more: true,
	},
	"renameSnapshot": {
		prepare: withScore(func(_ *client, _, snapshot string) vars {
			return vars{"snapshotId": snapshot, "name": "second"}
		}),
		selection: "snapshot { id name updatedAt } problem { __typename }", other: vars{"name": "other"},
	},
	"deleteSnapshot": {
		prepare: withScore(func(_ *client, _, snapshot string) vars {
			return vars{"snapshotId": snapshot}
		}),
		selection: "deletedSnapshotId", other: vars{"snapshotId": gidOf("Snapshot", "a", "b", "c")}, more: true,
	},
	"restoreSnapshot": {
		prepare: withScore(func(ada *client, score, snapshot string) vars {
			ada.must(updateScore, vars{"input": vars{"scoreId": score, "title": "second"}})
			return vars{"snapshotId": snapshot, "expectedVersion": 2}
		}),
		selection: "score { id title version } problem { __typename }", other: vars{"expectedVersion": 3},
	},
	"requestUpload": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			return ada, vars{"name": "n", "type": "text/plain", "size": 5, "sha256": sha256Of([]byte("music"))}
		},
		selection: "upload { itemId name size partCount expiresAt } problem { __typename }", other: vars{"name": "other"},
	},
	"completeUpload": {
		prepare: withUpload, selection: "item { id name size createdAt } problem { __typename }", other: vars{"itemId": gidOf("Item", "a", "b", "c")},
	},
	"abortUpload": {
		prepare: withUpload, selection: "abortedItemId", other: vars{"itemId": gidOf("Item", "a", "b", "c")},
	},
	"setItemSetName": {
		prepare: withItem(vars{"setName": "second"}), selection: "item { id setName }", other: vars{"setName": "other"},
	},
	"deleteItem": {
		prepare: withItem(nil), selection: "deletedItemId problem { __typename }", other: vars{"itemId": gidOf("Item", "a", "b", "c")},
	},
	"setItemTags": {
		prepare: withItem(vars{"tags": []vars{{"value": "Second"}, {"value": "closed", "visibility": "PRIVATE"}}}), selection: "item { id tags { nodes { value } } } tags { value visibility }",
		other: vars{"tags": []vars{{"value": "other"}}}, more: true, // a task is recorded with the change, and removed
	},
	"removeItemTags": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			item := ada.uploads([]byte("music"), vars{"type": "text/plain"})
			ada.tags(item, vars{"value": "first"}, vars{"value": "second"})
			return ada, vars{"itemId": item, "tags": []string{"FIRST"}}
		},
		selection: "item { id } tags { value }", other: vars{"tags": []string{"second"}}, more: true,
	},
	"setItemQuota": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			root := ada.admin(ada.must("{ viewer { email } }", nil).str("viewer.email") + ".root.example.com")
			return root, vars{"userId": root.id, "quota": 1000}
		},
		selection: "usage { quota }", other: vars{"quota": 2000},
	},
}
