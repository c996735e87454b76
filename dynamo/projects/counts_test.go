package projects_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

// A hundred items with labels and efforts: each level at its lower bound.
func TestAHundredItemsAreOneQueryAndOneBatch(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	items := dynamotest.InShard(t, w, 0, 120)
	owl, asleep := w.Label("owl"), w.Label("asleep")
	for i := range items[:100] {
		items[i], _ = w.Finish(items[i], w.Ada, owl.ID, asleep.ID)
		if i < 30 {
			items[i], _ = w.Finish(items[i], w.Ada, owl.ID, asleep.ID)
		}
	}
	window := page.Window{Limit: 100}
	_ = dynamotest.Made(inj)
	s, err := db.ListItems(t.Context(), w.Project.ID, project.Finished, window)
	require.NoError(t, err)
	require.Len(t, s.Items, 100)
	assert.False(t, s.More)
	operations := dynamotest.Made(inj)
	assert.Equal(t, 1, operations["BatchGetItem"])
	assert.Equal(t, 16, operations["Query"], "it is not known that the other shards are empty")

	after, _ := w.Finish(items[100], w.Ada, owl.ID, "")
	_ = dynamotest.Made(inj)
	s, err = db.ListItems(t.Context(), w.Project.ID, project.Finished, window)
	require.NoError(t, err)
	require.Len(t, s.Items, 100)
	assert.True(t, s.More)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, dynamotest.Made(inj))

	labels := make([]project.LabelID, 0, 200)
	requests := make([]project.ItemEffortsRequest, 0, 100)
	for _, i := range s.Items {
		labels = append(labels, project.LabelID{Project: i.Project, Kind: project.Category, ID: i.Category}, project.LabelID{Project: i.Project, Kind: project.Subcategory, ID: i.Subcategory})
		requests = append(requests, i.History(page.Window{Limit: 20}))
	}
	_, errs := db.LabelsByID(t.Context(), labels)
	require.Nil(t, errs)
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, dynamotest.Made(inj))
	lists, errs := db.ListEffortsOfItems(t.Context(), requests)
	require.Nil(t, errs)
	efforts := 0
	for _, list := range lists {
		efforts += len(list.Items)
	}
	assert.Equal(t, 130, efforts)
	assert.Equal(t, map[string]int{"Query": 100, "BatchGetItem": 2}, dynamotest.Made(inj))
	_, _, errs = db.ItemsByID(t.Context(), w.Ada, []project.ItemID{items[0].ItemID, items[1].ItemID, after.ItemID})
	require.Nil(t, errs)
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, dynamotest.Made(inj), "items and membership")
	of, errs := db.ListItemsOf(t.Context(), []project.LabelItemsRequest{owl.Items(window)})
	require.Nil(t, errs)
	assert.Len(t, of[0].Items, 100)
	assert.True(t, of[0].More)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, dynamotest.Made(inj))
	of, errs = db.ListItemsOf(t.Context(), []project.LabelItemsRequest{owl.Items(page.Window{Limit: 40}), asleep.Items(page.Window{Limit: 40})})
	require.Nil(t, errs)
	assert.Len(t, of[1].Items, 40)
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 1}, dynamotest.Made(inj), "the items of both together")
}

func TestCallsOfProjects(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
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
		{"ProjectsByID", func() error { _, errs := db.ProjectsByID(ctx, w.Ada, ids); return dynamotest.First(errs) }, ops{"BatchGetItem": 1}},
		{"ListProjects", func() error { _, err := db.ListProjects(ctx, w.Ada, page.Window{Limit: 20}); return err }, ops{"Query": 1, "BatchGetItem": 1}},
		{"ListLabels", func() error { _, errs := db.ListLabels(ctx, ids); return dynamotest.First(errs) }, ops{"BatchGetItem": 1}},
		{"ListTeams", func() error { _, errs := db.ListTeams(ctx, ids); return dynamotest.First(errs) }, ops{"BatchGetItem": 1}},
		{"ListMembers", func() error { _, err := db.ListMembers(ctx, ids[0], "", page.Window{Limit: 20}); return err }, ops{"Query": 1}},
		{"CreateProject", func() error { return db.CreateProject(ctx, p, labels, team, p.Member, once) }, ops{"TransactWriteItems": 1}},
		{"AddLabels", func() error {
			return db.AddLabels(ctx, "", p.ID, projecttest.Labels(p.ID, project.Category, "x", "y"), nil, once)
		}, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"PutTeam", func() error { return db.PutTeam(ctx, "", renamed, false, once) }, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"PutMember", func() error { return db.PutMember(ctx, "", member, once) }, ops{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"DeleteMember of a manager", func() error { return db.DeleteMember(ctx, "", w.Project.ID, grace, once) }, ops{"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 1}},
		{"CreateProject of 400 labels", func() error { return db.CreateProject(ctx, big, many, managers, big.Member, once) }, ops{"BatchWriteItem": 16, "TransactWriteItems": 2}},
		{"ImportItems", func() error {
			_, _, err := db.ImportItems(ctx, more)
			return err
		}, ops{"TransactWriteItems": 1}},
	} {
		_ = dynamotest.Made(inj)
		require.NoError(t, step.do(), step.name)
		assert.Equal(t, step.want, dynamotest.Made(inj), step.name)
	}
}

// Where the first shards are nearly empty, the others are read side by side.
func TestShardsAreReadInWaves(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	w.Fill(40)
	_ = dynamotest.Made(inj)
	s, err := db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 100})
	require.NoError(t, err)
	assert.Len(t, s.Items, 40)
	assert.Equal(t, map[string]int{"Query": 16, "BatchGetItem": 1}, dynamotest.Made(inj))
	// Four shards of sixteen have three of forty items but once in a thousand times.
	s, err = db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 2})
	require.NoError(t, err)
	assert.Len(t, s.Items, 2)
	operations := dynamotest.Made(inj)
	assert.Contains(t, []int{1, 4}, operations["Query"], "one shard, or three more")
	assert.Equal(t, 1, operations["BatchGetItem"])
}

// No partition of an index carries more than an eighth of an import.
func TestAnImportIsSpreadOverPartitions(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	const n = 5_000
	w.Fill(n)
	for table, attribute := range map[dynamo.Table]string{dynamo.EntitiesMaster: "_scope_type_key", dynamo.IndexEntries: "_scope_index_name"} {
		rows, total := map[string]int{}, 0
		pages := dynamodb.NewScanPaginator(db.Client, &dynamodb.ScanInput{TableName: db.Table(table)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			for _, row := range out.Items {
				if dynamo.Text(row["_type"]) == "ProjectItem" {
					rows[dynamo.Text(row[attribute])]++
					total++
				}
			}
		}
		assert.Equal(t, n, total, table.Name)
		assert.Len(t, rows, keys.Shards)
		for key, many := range rows {
			assert.LessOrEqual(t, many, n/8, key)
		}
	}
}
