package dynamo

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

// inShard imports n items that are all in one shard.
func inShard(t testing.TB, w *storetest.ProjectWorld, shard, n int) []project.Item {
	t.Helper()
	var items []project.Item
	for _, item := range w.Draw(w.Import(), 1, 32*n+300) { // which shard an item is in is chance
		if len(items) < n && keys.Shard(item.ID) == shard {
			items = append(items, item)
		}
	}
	require.Len(t, items, n)
	_, _, err := w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	return items
}

// made returns how often each operation was called since the last time, and forgets it.
func made(inj *faultinject.Injector) map[string]int {
	defer inj.Recorder().Reset()
	return inj.Recorder().Operations()
}

// A hundred items with labels and efforts: each level at its lower bound.
func TestAHundredItemsAreOneQueryAndOneBatch(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfProjects(t)
	items := inShard(t, w, 0, 120)
	owl, asleep := w.Label("owl"), w.Label("asleep")
	for i := range items[:100] {
		items[i], _ = w.Finish(items[i], w.Ada, owl.ID, asleep.ID)
		if i < 30 {
			items[i], _ = w.Finish(items[i], w.Ada, owl.ID, asleep.ID)
		}
	}
	window := page.Window{Limit: 100}
	_ = made(inj)
	s, err := db.ListItems(t.Context(), w.Project.ID, project.Finished, window)
	require.NoError(t, err)
	require.Len(t, s.Items, 100)
	assert.False(t, s.More)
	operations := made(inj)
	assert.Equal(t, 1, operations["BatchGetItem"])
	assert.Equal(t, 16, operations["Query"], "it is not known that the other shards are empty")

	after, _ := w.Finish(items[100], w.Ada, owl.ID, "")
	_ = made(inj)
	s, err = db.ListItems(t.Context(), w.Project.ID, project.Finished, window)
	require.NoError(t, err)
	require.Len(t, s.Items, 100)
	assert.True(t, s.More)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, made(inj))

	labels := make([]project.LabelID, 0, 200)
	requests := make([]project.ItemEffortsRequest, 0, 100)
	for _, i := range s.Items {
		labels = append(labels, project.LabelID{Project: i.Project, Kind: project.Category, ID: i.Category}, project.LabelID{Project: i.Project, Kind: project.Subcategory, ID: i.Subcategory})
		requests = append(requests, i.History(page.Window{Limit: 20}))
	}
	_, errs := db.LabelsByID(t.Context(), labels)
	require.Nil(t, errs)
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, made(inj))
	lists, errs := db.ListEffortsOfItems(t.Context(), requests)
	require.Nil(t, errs)
	efforts := 0
	for _, list := range lists {
		efforts += len(list.Items)
	}
	assert.Equal(t, 130, efforts)
	assert.Equal(t, map[string]int{"Query": 100, "BatchGetItem": 2}, made(inj))
	_, _, errs = db.ItemsByID(t.Context(), w.Ada, []project.ItemID{items[0].ItemID, items[1].ItemID, after.ItemID})
	require.Nil(t, errs)
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, made(inj), "items and membership")
	of, errs := db.ListItemsOf(t.Context(), []project.LabelItemsRequest{owl.Items(window)})
	require.Nil(t, errs)
	assert.Len(t, of[0].Items, 100)
	assert.True(t, of[0].More)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, made(inj))
	of, errs = db.ListItemsOf(t.Context(), []project.LabelItemsRequest{owl.Items(page.Window{Limit: 40}), asleep.Items(page.Window{Limit: 40})})
	require.Nil(t, errs)
	assert.Len(t, of[1].Items, 40)
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 1}, made(inj), "the items of both together")
}

func TestCallsOfProjects(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfProjects(t)
	var ids []project.ID
	for range 30 {
		p, _ := w.Create(w.Ada, []string{"a"}, []string{"b"})
		ids = append(ids, p.ID)
	}
	ctx, once := t.Context(), idempotency.Key{}
	grace := w.SignUp("grace")
	p, labels, team := w.Draft(w.Ada, make([]string, 40), make([]string, 40))
	big, many, managers := w.Draft(w.Ada, make([]string, 200), make([]string, 200))
	for _, of := range [][]project.Label{labels, many} {
		for i := range of {
			of[i].Name = fmt.Sprint("label ", i)
		}
	}
	member := project.Member{Project: w.Project.ID, User: grace, Team: w.Team.ID, Type: w.Team.Type, AddedAt: w.Clock.Now()}
	renamed := w.Team
	renamed.Name = "Bosses"
	more := w.Draw(w.Import(), 1_000, 45)
	type ops = map[string]int
	for _, step := range []struct {
		name string
		do   func() error
		want ops
	}{
		{"ProjectsByID", func() error { _, errs := db.ProjectsByID(ctx, w.Ada, ids); return first(errs) }, ops{"BatchGetItem": 1}},
		{"ListProjects", func() error { _, err := db.ListProjects(ctx, w.Ada, page.Window{Limit: 20}); return err }, ops{"Query": 1, "BatchGetItem": 1}},
		{"ListLabels", func() error { _, errs := db.ListLabels(ctx, ids); return first(errs) }, ops{"BatchGetItem": 1}},
		{"ListTeams", func() error { _, errs := db.ListTeams(ctx, ids); return first(errs) }, ops{"BatchGetItem": 1}},
		{"ListMembers", func() error { _, err := db.ListMembers(ctx, ids[0], "", page.Window{Limit: 20}); return err }, ops{"Query": 1}},
		{"CreateProject", func() error { return db.CreateProject(ctx, p, labels, team, p.Member, once) }, ops{"TransactWriteItems": 1}},
		{"AddLabels", func() error {
			return db.AddLabels(ctx, p.ID, storetest.Labels(p.ID, project.Category, "x", "y"), once)
		}, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"PutTeam", func() error { return db.PutTeam(ctx, renamed, false, once) }, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"PutMember", func() error { return db.PutMember(ctx, member, once) }, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"DeleteMember", func() error { return db.DeleteMember(ctx, w.Project.ID, grace, once) }, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"CreateProject of 400 labels", func() error { return db.CreateProject(ctx, big, many, managers, big.Member, once) }, ops{"BatchWriteItem": 16, "TransactWriteItems": 2}},
		{"ImportItems", func() error {
			_, _, err := db.ImportItems(ctx, more)
			return err
		}, ops{"TransactWriteItems": 1}},
	} {
		_ = made(inj)
		require.NoError(t, step.do(), step.name)
		assert.Equal(t, step.want, made(inj), step.name)
	}
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Where the first shards are nearly empty, the others are read side by side.
func TestShardsAreReadInWaves(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfProjects(t)
	w.Fill(40)
	_ = made(inj)
	s, err := db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 100})
	require.NoError(t, err)
	assert.Len(t, s.Items, 40)
	assert.Equal(t, map[string]int{"Query": 16, "BatchGetItem": 1}, made(inj))
	// Four shards of sixteen have three of forty items but once in a thousand times.
	s, err = db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 2})
	require.NoError(t, err)
	assert.Len(t, s.Items, 2)
	operations := made(inj)
	assert.Contains(t, []int{1, 4}, operations["Query"], "one shard, or three more")
	assert.Equal(t, 1, operations["BatchGetItem"])
}

// No partition of an index carries more than an eighth of an import.
func TestAnImportIsSpreadOverPartitions(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfProjects(t)
	const n = 5_000
	w.Fill(n)
	for table, attribute := range map[table]string{entitiesMaster: "_scope_type_key", indexEntries: "_scope_index_name"} {
		rows, total := map[string]int{}, 0
		pages := dynamodb.NewScanPaginator(db.client, &dynamodb.ScanInput{TableName: db.table(table)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			for _, row := range out.Items {
				if text(row["_type"]) == "ProjectItem" {
					rows[text(row[attribute])]++
					total++
				}
			}
		}
		assert.Equal(t, n, total, table.name)
		assert.Len(t, rows, keys.Shards)
		for key, many := range rows {
			assert.LessOrEqual(t, many, n/8, key)
		}
	}
}
