package labelling_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
)

// fixedWorld is a world whose project, "p", item "i1" and labels "owl" and "cat" have known ids.
func fixedWorld(t *testing.T) (*labellingtest.World, truth.Store, project.Item) {
	t.Helper()
	w, db, _ := openWorldOfLabelling(t)
	p, _, team := w.Draft("ada", nil, nil)
	p.ID = "p"
	p.CreatedAt, p.UpdatedAt, p.Paused, p.QueueSize = w.Clock.Now(), w.Clock.Now(), true, 50
	label := func(id string) project.Label {
		return project.Label{LabelID: project.LabelID{Project: "p", Kind: project.Category, ID: id}, Name: id}
	}
	team.TeamID = project.TeamID{Project: "p", ID: "managers"}
	p.Member = project.Member{Project: "p", User: w.Ada, Team: "managers", Type: project.Manager, AddedAt: w.Clock.Now()}
	require.NoError(t, db.CreateProject(t.Context(), p, []project.Label{label("owl"), label("cat")}, team, p.Member, idempotency.Key{}))
	w.Project = p
	item := w.Draw(w.Import(), 7, 1)[0]
	item.ItemID, item.ExternalID, item.Import = project.ItemID{Project: "p", ID: "i1"}, "x", "import"
	w.Clock.Advance(time.Second)
	row, err := projects.ItemRow(item)
	require.NoError(t, err)
	name, key := projects.StatusEntry(item)
	require.NoError(t, db.BatchPut(t.Context(), []dynamo.Put{
		{Table: dynamo.EntitiesMaster, Item: row}, {Table: dynamo.IndexEntries, Item: entities.IndexRow(projects.ItemID(item.ItemID), name, key, nil)},
	}))
	return w, db, item
}

// partition returns the rows of a table whose partition key is the given one.
func partition(t *testing.T, db *dynamo.DB, of dynamo.Table, pk string) []string {
	t.Helper()
	var rows []string
	for _, row := range dynamotest.Scan(t, db, of) {
		if strings.Contains(row, `"`+of.PK+`":{"S":"`+pk+`"}`) {
			rows = append(rows, row)
		}
	}
	return rows
}

// The rows that labelling adds to those of projects, byte for byte.
func TestRowsOfLabelling(t *testing.T) {
	t.Parallel()
	w, db, item := fixedWorld(t)
	claim := w.Claiming(item, "ada")
	claim.After.Claim.Token, claim.After.ReturnedTo = "token", "ada"
	claim.Transition = &labelling.Transition{ID: "attempt", Item: "i1", Project: "p", At: w.Clock.Now()}
	w.Do(claim)
	dynamotest.AssertRows(t, []string{`{
		"_id":{"S":"i1"},"_scope_type_key":{"S":"p:ProjectItem~15"},"_scope":{"S":"p"},"_type":{"S":"ProjectItem"},
		"_created":{"S":"2026-11-20T08:00:00.000Z"},"_updated":{"S":"2026-11-20T08:00:01.000Z"},
		"_meta":{"M":{"version":{"N":"2"}}},"_attempt":{"S":"attempt"},
		"_index_entries":{"M":{"status~15":{"L":[{"S":"CLAIMED:15:17951616000000000007"}]}}},
		"external_id":{"S":"x"},"name":{"S":"bird 7"},"type":{"S":"image/jpeg"},"status":{"S":"CLAIMED"},"seq":{"S":"17951616000000000007"},
		"import":{"S":"import"},"line":{"N":"7"},"efforts":{"N":"0"},"_efforts":{"N":"0"},
		"claim_user":{"S":"ada"},"claim_token":{"S":"token"},"claim_since":{"S":"2026-11-20T08:00:01.000Z"},
		"claim_until":{"S":"2026-11-20T08:15:01.000Z"},"returned_to":{"S":"ada"},
		"_name_letter":{"S":"p:b"},"_name_order":{"S":"bird 7\ti1"}
	}`}, partition(t, db.DB, dynamo.EntitiesMaster, "i1"))
	dynamotest.AssertRows(t, []string{`{
		"_subject_key":{"S":"p:ProjectItem:i1"},"_unique_key":{"S":"status~15:CLAIMED:15:17951616000000000007"},
		"_scope":{"S":"p"},"_type":{"S":"ProjectItem"},"_id":{"S":"i1"},"_index_name":{"S":"status~15"},
		"_index_key":{"S":"CLAIMED:15:17951616000000000007"},"_scope_index_name":{"S":"p:status~15"}
	}`}, dynamotest.Scan(t, db.DB, dynamo.IndexEntries))
	dynamotest.AssertRows(t, []string{`{
		"_subject_key":{"S":"taggie:Projects:15"},"_predicate_key":{"S":"project:0000000000000000:Project:p"},
		"_object_key":{"S":"p:Project:p"},"_subject_scope":{"S":"taggie"},"_subject_type":{"S":"Projects"},"_subject_id":{"S":"15"},
		"_object_scope":{"S":"p"},"_object_type":{"S":"Project"},"_object_id":{"S":"p"},"_predicate":{"S":"project"},"_index":{"N":"0"},
		"_created":{"S":"2026-11-20T08:00:00.000Z"}
	}`}, only(partition(t, db.DB, dynamo.RelationshipEntries, "taggie:Projects:15"), ":Project:p\""))

	finish := w.Finishing(claim.After, "ada", "owl", "")
	finish.Effort.ID, finish.Effort.Team, finish.After.LastEffort = "e1", "managers", "e1"
	finish.Transition.ID, finish.Transition.Effort, finish.Transition.Team = "t1", "e1", "managers"
	done := w.Do(finish)
	dynamotest.AssertRows(t, []string{`{
		"_subject_key":{"S":"p:User:ada"},"_unique_key":{"S":"review:0001795161601000:ProjectItemEffort:e1"},
		"_scope":{"S":"p"},"_type":{"S":"ProjectItemEffort"},"_id":{"S":"e1"},"_index_name":{"S":"review~03"},
		"_index_key":{"S":"03:owl:0001795161601000"},"_scope_index_name":{"S":"p:review~03"}
	}`}, partition(t, db.DB, dynamo.IndexEntries, "p:User:ada"))
	review := w.Reviewing(done, *finish.Effort, "grace")
	review.Effort.UndoneAt = w.Clock.Now()
	w.Do(review)
	dynamotest.AssertRows(t, []string{`{
		"_id":{"S":"e1"},"_scope_type_key":{"S":"p:ProjectItemEffort~03"},"_scope":{"S":"p"},"_type":{"S":"ProjectItemEffort"},
		"_created":{"S":"2026-11-20T08:00:01.000Z"},"_updated":{"S":"2026-11-20T08:00:01.000Z"},
		"_meta":{"M":{"version":{"N":"1"}}},"_index_entries":{"M":{}},
		"item":{"S":"i1"},"user":{"S":"ada"},"team":{"S":"managers"},"category":{"S":"owl"},"keywords":{"L":[{"S":"night"}]},
		"finished_at":{"S":"2026-11-20T08:00:01.000Z"},"review":{"S":"INCORRECT"},"review_comment":{"S":"no owl: a cat"},
		"reviewed_by":{"S":"grace"},"reviewed_at":{"S":"2026-11-20T08:00:01.000Z"},"undone_at":{"S":"2026-11-20T08:00:01.000Z"}
	}`}, partition(t, db.DB, dynamo.EntitiesMaster, "e1"))
	waiting := partition(t, db.DB, dynamo.RelationshipEntries, "taggie:Outbox:15")
	require.Len(t, waiting, 3)
	var row map[string]map[string]string
	require.NoError(t, json.Unmarshal([]byte(waiting[2]), &row))
	assert.Equal(t, map[string]string{"S": "outbox:0001795161601000:Transition:t1"}, row["_predicate_key"])
	assert.Len(t, row, 3, "keys and transition: it is in no index")
	var sent labelling.Transition
	require.NoError(t, json.Unmarshal([]byte(row["transition"]["S"]), &sent))
	assert.Equal(t, *finish.Transition, sent)
}

// What others keep in the rows of items and efforts stays.
func TestMovesLeaveAloneWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	w, db, item := fixedWorld(t)
	add := func(key dynamo.Key) {
		_, err := db.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: db.Table(dynamo.EntitiesMaster), Key: dynamo.EntitiesMaster.Key(key),
			UpdateExpression:          aws.String("SET #extra = :l, #index.#extra = :l, #meta.#extra = :l"),
			ExpressionAttributeNames:  map[string]string{"#extra": "extra", "#index": "_index_entries", "#meta": "_meta"},
			ExpressionAttributeValues: dynamo.Attrs{":l": dynamo.Texts([]string{"red"})},
		})
		require.NoError(t, err)
	}
	add(entities.ShardedKey(projects.ItemID(item.ItemID)))
	finish := w.Finishing(w.Do(w.Claiming(item, w.Ada)), w.Ada, "owl", "")
	w.Do(finish)
	add(entities.ShardedKey(projects.EffortID(finish.Effort.EffortID)))
	review := w.Reviewing(finish.After, *finish.Effort, w.Ada)
	w.Do(review)
	w.Do(w.Finishing(review.After, w.Ada, "cat", ""))
	out, err := db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: db.Table(dynamo.EntitiesMaster)})
	require.NoError(t, err)
	found := 0
	for _, row := range out.Items {
		if id := dynamo.Text(row["_id"]); id != item.ID && id != finish.Effort.ID {
			continue
		}
		found++
		for _, in := range []dynamo.Attrs{row, row["_index_entries"].(*types.AttributeValueMemberM).Value, row["_meta"].(*types.AttributeValueMemberM).Value} {
			assert.Contains(t, in, "extra")
		}
	}
	assert.Equal(t, 2, found)
}

// only returns the rows that hold the text: the world has other projects, of which one may be in the same shard.
func only(rows []string, text string) []string {
	return slices.DeleteFunc(rows, func(row string) bool { return !strings.Contains(row, text) })
}

// touched returns the keys of the rows that a transaction includes, with their tables, and checks that it writes each of them.
func touched(t *testing.T, db truth.Store, call faultinject.Call) []faultinject.Key {
	t.Helper()
	var sent struct {
		TransactItems []map[string]struct {
			TableName string
			Key, Item map[string]json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(call.Body, &sent))
	parts := map[string]dynamo.Table{}
	for _, of := range []dynamo.Table{dynamo.NotesTable, dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries} {
		parts[*db.Table(of)] = of
	}
	var rows []faultinject.Key
	for _, actions := range sent.TransactItems {
		for verb, a := range actions {
			of, key := parts[a.TableName], a.Key
			if assert.Contains(t, []string{"Put", "Update", "Delete"}, verb); verb == "Put" {
				key = a.Item
			}
			rows = append(rows, faultinject.Key{Table: of.Name, Attributes: string(key[of.PK]) + string(key[of.SK])})
		}
	}
	return rows
}

// Two who find different items to be the same, at the same moment, have nothing to wait for one another for: each row of a move is
// told by its item, effort, transition or request.
func TestMovesIncludeNoRowsOfOthers(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	seen := map[faultinject.Key]string{}
	for range 2 {
		for n, m := range moves(w) {
			once := idempotency.Key{Viewer: string(w.Ada), Key: uuid.NewString(), Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}
			own := []string{m.Before.ID, once.Key}
			if m.Effort != nil {
				own = append(own, m.Effort.ID, m.Transition.ID)
			}
			inj.Recorder().Reset()
			require.NoError(t, db.MoveItem(t.Context(), m, once))
			calls := inj.Recorder().Calls(faultinject.Operation("TransactWriteItems"))
			require.Len(t, calls, 1)
			rows := touched(t, db, calls[0])
			assert.Len(t, rows, []int{4, 11, 7, 12, 8}[n], "rows of move %d", n)
			for _, row := range rows {
				assert.True(t, slices.ContainsFunc(own, func(id string) bool { return strings.Contains(row.Attributes, id) }), "move %d includes %v", n, row)
				other, met := seen[row]
				assert.True(t, !met || other == m.Before.ID, "two items meet at %v", row)
				seen[row] = m.Before.ID
			}
		}
	}
}
