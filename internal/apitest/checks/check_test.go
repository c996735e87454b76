package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/score"
)

// filled is some of all that rows are about.
type filled struct {
	ada, grace, manager, root *apitest.Client
	ids                       map[string]string // by the words that stand for them in documents
}

// fill makes it.
func fill(s *apitest.Server) filled {
	s.T.Helper()
	ada, grace := s.User("ada.checks@example.com"), s.User("grace.checks@example.com")
	ids := ada.Notes(2, func(_ int, input apitest.Vars) { input["tags"] = []string{"work"} })
	ada.Share(ids, grace)
	ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "other"}) { note { id } } }`, apitest.Vars{"id": ids[0]})
	ada.Must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId } } }`, apitest.Vars{"id": ids[1]})
	space := ada.Space("checked")
	space.Member(grace, "READER")
	space.Declare("byName", "Thing", "STRING", "name")
	one := space.Set("Thing", "one", apitest.Vars{"name": "One"})
	space.Set("Thing", "two", apitest.Vars{}, apitest.Under("from", one, ada.Space("elsewhere").Set("Thing", "there", apitest.Vars{})))
	item := ada.Uploads(apitest.Staves(s.T, 1), apitest.Vars{})
	of := ada.Score("Suite", []string{"slower"}, item)
	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": of, "access": "PUBLIC"}})
	grace.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": of})
	first := ada.Snapshot(of, "first")
	ada.Tags(item, apitest.Vars{"value": "Viola"}, apitest.Vars{"value": "mine", "visibility": "PRIVATE"})
	ada.Mutate("createArchive", "archive { id }", apitest.Vars{})
	s.During(func() {
		require.Eventually(s.T, func() bool {
			return strings.Contains(ada.Must(`{ viewer { archives { nodes { state } } } }`, nil).Body, "DONE")
		}, time.Minute, 20*time.Millisecond)
	})
	gone := s.User("gone.checks@example.com")
	gone.Mutate("deleteUser", "deleted { state }", apitest.Vars{})
	crew := s.Labelled(3, 1)
	crew.Client.Must(`mutation($p: ID!) { updateGuidelines(input: {projectId: $p, text: "# How to label"}) { __typename } }`, apitest.Vars{"p": crew.ID})
	file := crew.Client.Uploads([]byte("seen in a project"), apitest.Vars{"name": "scan.txt", "type": "text/plain"})
	crew.Takes(apitest.Vars{"itemIds": []string{file}})
	crew.Client.Tags(file, apitest.Vars{"value": "scan"})
	invitation := crew.Mutate("createProjectInvitation", "invitation { id token }", apitest.Vars{"teamId": crew.Team, "uses": 5})
	return filled{ada, grace, crew.Client, s.Admin("root.checks@example.com"), map[string]string{"$gone": gone.ID, "$ada": ada.ID, "$grace": grace.ID, "$note": ids[0], "$deleted": ids[1], "$scope": space.Scope, "$entity": one,
		"$item": item, "$file": file, "$score": of, "$snapshot": first, "$project": crew.ID, "$team": crew.Team, "$labeller": crew.Labellers[0].ID, "$done": crew.Items[0], "$open": crew.Items[2], "$invitation": invitation.Str("result.invitation.id"), "$link": invitation.Str("result.invitation.token"), "$category": crew.Categories[0]}}
}

// ahead are the stores two hours from now.
func ahead(s *apitest.Server) *app.Stores {
	later := *s.DB
	later.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	return &app.Stores{DB: &later, Bucket: s.Bucket}
}

func stores(s *apitest.Server) *app.Stores { return &app.Stores{DB: s.DB, Bucket: s.Bucket} }

func checked(t *testing.T, s *app.Stores) app.DataCheck {
	t.Helper()
	c, err := s.CheckData(dynamotest.Patient(t), func(app.DataCheck) {})
	require.NoError(t, err)
	return c
}

// Whatever a row needs is missed when it is gone, kind by kind.
func TestACheckMissesWhateverARowNeeds(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	fill(s)
	c := checked(t, stores(s))
	require.Empty(t, c.Misfits)
	assert.Positive(t, c.Objects)
	c = checked(t, ahead(s))
	assert.Empty(t, c.Leftovers, "each object has a row")
	assert.Zero(t, c.Others)
	missed := map[string]bool{}
	for _, kind := range app.RowKinds() {
		for key, row := range dynamotest.RowsOf(t, s.DB, kind.Table) {
			if !kind.Is(key) {
				continue
			}
			for _, other := range app.RowKinds() {
				assert.False(t, other.Table == kind.Table && other.Name != kind.Name && other.Is(key), "%v is %s and %s", key, kind.Name, other.Name)
			}
			needs, err := kind.Needs(key, dynamo.ItemOf(row))
			require.NoError(t, err, "%v", key)
			for _, need := range needs {
				if name := kind.Name + " " + need.What; !missed[name] {
					missed[name] = true
					without(s, need, func() {
						m, err := dynamo.Checking{DB: s.DB, Kinds: app.RowKinds(), Size: stores(s).Size}.Again(t.Context(), []dynamo.Misfit{{Table: kind.Table.Name, Key: key, Kind: kind.Name}})
						require.NoError(t, err)
						require.Len(t, m, 1, name)
						assert.Contains(t, m[0].Lacks, need.What, name)
						mendable(t, m[0])
					})
				}
			}
		}
	}
	kinds := map[string]bool{}
	for _, kind := range app.RowKinds() {
		kinds[kind.Name] = slices.ContainsFunc(slices.Collect(maps.Keys(missed)), func(name string) bool { return len(name) > len(kind.Name) && name[:len(kind.Name)+1] == kind.Name+" " })
	}
	delete(kinds, "the order to remove a deleted note") // which needs nothing
	for name, seen := range kinds {
		assert.True(t, seen, "the data has no row that is %s and needs something", name)
	}
	assert.Empty(t, checked(t, stores(s)).Misfits, "all was put back")
}

// mendable demands steps that mend what was found. The commands among them exist.
func mendable(t *testing.T, m dynamo.Misfit) {
	t.Helper()
	assert.NotEmpty(t, m.ToMend(), "%s", m.Kind)
	commands := kong.Must(&cli.Commands{})
	for _, step := range m.ToMend() {
		assert.NotEmpty(t, step, "%s lacks %v", m.Kind, m.Lacks)
		for _, command := range regexp.MustCompile("`taggie ([^`]+)`").FindAllStringSubmatch(string(step), -1) {
			words := strings.Fields(command[1])
			parsed, err := kong.Trace(commands, words)
			require.NoError(t, err)
			assert.NoError(t, parsed.Error, "%s", step)
			assert.Equal(t, words[0], strings.Fields(parsed.Command() + " none")[0], "%s", step)
		}
	}
}

// without calls look while what is needed is not there.
func without(s *apitest.Server, need dynamo.Need, look func()) {
	s.T.Helper()
	if need.Object != "" {
		r, err := s.Bucket.Open(s.T.Context(), need.Object, 0)
		require.NoError(s.T, err)
		content, err := io.ReadAll(r)
		require.NoError(s.T, errors.Join(err, r.Close()))
		require.NoError(s.T, s.Bucket.Delete(s.T.Context(), need.Object))
		look()
		_, err = s.Bucket.Upload(s.T.Context(), need.Object, "application/octet-stream", func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
		require.NoError(s.T, err)
		return
	}
	rows := dynamotest.RowsOf(s.T, s.DB, need.Table)
	for _, key := range []dynamo.Key{need.Key, need.Or} {
		if row, there := rows[key]; there {
			require.NoError(s.T, s.DB.BatchDelete(s.T.Context(), []dynamo.RowID{{Table: need.Table, Key: key}}))
			defer func() {
				_, err := s.DB.Client.PutItem(s.T.Context(), &dynamodb.PutItemInput{TableName: s.DB.Table(need.Table), Item: row})
				require.NoError(s.T, err)
			}()
		}
	}
	look()
}

// What is written while it is read, and shown row by row, is whole.
func TestACheckFindsNothingWhileOthersWrite(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Faults.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		fill(s)
	}()
	for rounds := 1; ; rounds++ {
		assert.Empty(t, checked(t, stores(s)).Misfits)
		select {
		case <-filled:
			assert.Greater(t, rounds, 1)
			return
		default:
		}
	}
}

// An object of which no row tells is left over, once nobody can be about to write its row.
func TestACheckFindsObjectsOfWhichNoRowTells(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	var strange []string
	ids := uuid.NewString() + "/" + uuid.NewString()
	snapshot := score.SnapshotKey(score.SnapshotID{Score: score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}, ID: uuid.NewString()})
	for _, key := range []string{"items/" + ids, "uploads/" + ids, "imports/" + ids, "exports/" + ids + ".1", snapshot, "something else", "snapshots/else", "items/nobody/nothing", "exports/2024/report.csv"} {
		_, err := s.Bucket.Upload(t.Context(), key, "text/plain", func(w io.Writer) error { return nil })
		require.NoError(t, err)
		strange = append(strange, key)
	}
	assert.Empty(t, checked(t, stores(s)).Leftovers)
	var found []string
	c := checked(t, ahead(s))
	for _, o := range c.Leftovers {
		found = append(found, o.Key)
	}
	assert.ElementsMatch(t, strange[:5], found)
	assert.Equal(t, 4, c.Others, "that somebody else put")
}

// Where all is wrong, some is told and the rest is counted.
func TestACheckCountsWhereAllIsWrong(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	var rows []dynamo.Put
	for n := range dynamo.MostMisfits + 1 {
		row := dynamo.NotesTable.Key(dynamo.Key{PK: keys.SubjectPK("i", fmt.Sprint(n)), SK: keys.SubjectSK})
		row["user_id"] = dynamo.Str("nobody")
		rows = append(rows, dynamo.Put{Table: dynamo.NotesTable, Item: row})
	}
	require.NoError(t, s.DB.BatchPut(t.Context(), rows))
	c := checked(t, stores(s))
	assert.Len(t, c.Misfits, dynamo.MostMisfits)
	assert.Equal(t, 1, c.Further)
	assert.Equal(t, len(rows), c.Rows)
}
